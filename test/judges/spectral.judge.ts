import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const judges = import.meta.dirname
const document = `${judges}/../../generated/openapi.json`

test('Spectral finds nothing with its rules for OpenAPI and OWASP', async () => {
  const findings: string = await promisify(execFile)(`${judges}/node_modules/.bin/spectral`, [
    'lint',
    document,
    '--ruleset',
    `${judges}/spectral.yaml`,
    '--fail-severity',
    'hint',
    '--format',
    'text',
    '--quiet',
  ]).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => stdout + stderr,
  )
  expect(findings.split('\n').filter((line) => line !== '')).toEqual([])
})
