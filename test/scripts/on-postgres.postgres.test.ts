import { execFileSync, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { isInstalled } from '../support/postgres.ts'

/** `make run ENGINE=postgres` and `make dev ENGINE=postgres`. */

const script = `${import.meta.dirname}/../../scripts/on-postgres.ts`

test.runIf(isInstalled)('prints the line with which a second terminal uses its database', () => {
  const print = `"${process.execPath}" -p process.env.DATABASE_URL`
  const { stdout, stderr } = spawnSync(process.execPath, [script, 'sh', '-c', print], {
    encoding: 'utf8',
  })
  const [line = ''] = /^ *export .*$/m.exec(stderr) ?? []
  const inSecondTerminal = execFileSync('sh', ['-c', `${line}\n${print}`], { encoding: 'utf8' })
  expect(stdout).toMatch(/^postgres:.*&/)
  expect(inSecondTerminal).toBe(stdout)
})
