import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/database.ts'

const root = join(import.meta.dirname, '..')
const written = ['openapi.json', 'openapi.d.ts', 'server.d.ts', 'error-statuses.json'].map(
  (file) => `generated/${file}`,
)
const read = [
  ...['docs/api-changes.md', 'package.json', 'redocly.yaml'],
  ...['openapi', 'scripts', 'src', 'test/contract'],
]

test('generated/ is up to date: make generate would change nothing', async () => {
  const copy = temporaryFolder()
  for (const path of [...written, ...read])
    cpSync(join(root, path), join(copy, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  await promisify(execFile)('npm', ['run', '--silent', 'generate'], { cwd: copy })
  const textIn = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8')
  expect(written.filter((file) => textIn(root, file) !== textIn(copy, file))).toEqual([])
})
