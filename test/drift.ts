import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Fails if `make generate` would change a file. Runs it in a copy of what it reads and writes. */

const root = join(import.meta.dirname, '..')
const written = ['openapi.json', 'openapi.d.ts', 'server.d.ts'].map((file) => `generated/${file}`)
const read = [
  ...['docs/api-changes.md', 'package.json', 'redocly.yaml'],
  ...['openapi', 'scripts', 'src', 'test/contract'],
]

const copy = mkdtempSync(join(tmpdir(), 'apps-service-drift-'))
for (const path of [...written, ...read])
  cpSync(join(root, path), join(copy, path), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))

const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'generate'], {
  cwd: copy,
  encoding: 'utf8',
})
const textIn = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8')
const drifted = written.filter((file) => textIn(root, file) !== textIn(copy, file))
rmSync(copy, { recursive: true })

if (status !== 0) {
  console.error(`make generate fails:\n${stdout}${stderr}`)
  process.exitCode = 1
} else if (drifted.length > 0) {
  console.error(`Out of date: ${drifted.join(', ')}. Run make generate and commit what it writes.`)
  process.exitCode = 1
}
