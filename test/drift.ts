import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

/** Fails if `make generate` would change a file. Leaves the files as they were. */

const root = `${import.meta.dirname}/..`
const files = [
  ...['openapi.json', 'openapi.d.ts', 'server.d.ts'].map((file) => `generated/${file}`),
  ...['package.json', 'package-lock.json'].map((file) => `clients/typescript/${file}`),
]
const read = () => files.map((file) => readFileSync(`${root}/${file}`, 'utf8'))

const committed = read()
const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'generate'], {
  cwd: root,
  encoding: 'utf8',
})
const made = read()

const drifted = files.filter((_, index) => committed[index] !== made[index])
// make reinstalls what a newer package.json needs, so an unchanged file is left alone.
for (const file of drifted) writeFileSync(`${root}/${file}`, committed[files.indexOf(file)] ?? '')

if (status !== 0) {
  console.error(`make generate fails:\n${stdout}${stderr}`)
  process.exitCode = 1
} else if (drifted.length > 0) {
  console.error(`Out of date: ${drifted.join(', ')}. Run make generate and commit what it writes.`)
  process.exitCode = 1
}
