import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

/** Fails where generated/ is not what openapi/ makes. Leaves the files as they were. */

const root = `${import.meta.dirname}/..`
const files = ['generated/openapi.json', 'generated/openapi.d.ts', 'generated/server.d.ts']
const read = () => files.map((file) => readFileSync(`${root}/${file}`, 'utf8'))

const committed = read()
const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'generate'], { cwd: root, encoding: 'utf8' })
const made = read()

const drifted = files.filter((_, index) => committed[index] !== made[index])
for (const [index, file] of files.entries()) writeFileSync(`${root}/${file}`, committed[index] ?? '')

if (status !== 0) {
  console.error(`openapi/ makes nothing:\n${stdout}${stderr}`)
  process.exitCode = 1
} else if (drifted.length > 0) {
  console.error(`not what openapi/ makes: ${drifted.join(', ')}; run make generate and commit what it writes`)
  process.exitCode = 1
}
