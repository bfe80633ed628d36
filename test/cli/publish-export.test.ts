import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { claimRun } from '../../src/cli/claim-run.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { manyApps } from '../support/catalogue-file.ts'
import { copyWorld, emptyCatalogueUrl, temporaryFolder } from '../support/database.ts'
import { executable, expectRefusal, run, runProgram } from '../support/process.ts'

/** `export --into`. What an export has is in import-export/export-catalogue.engines.test.ts. */

/** A catalogue whose rows have not changed since 2026 began, and a directory for its exports. */
async function startPublishing() {
  const env = { DATABASE_URL: await copyWorld(), BASE_URL: 'https://apps.example.org/api' }
  const database = openDatabase(env.DATABASE_URL)
  for (const table of ['apps', 'developers', 'categories'] as const)
    await database.write(({ sql }) => sql(table).update({ changed_at: '2026-01-01T00:00:00.000Z' }))
  await database.close()
  const folder = temporaryFolder()
  const args = ['export', '--public', '--into', folder]
  const publish = async () => {
    expect(await run(args, env)).toMatchObject({ code: 0, stdout: '' })
    return readIndex(folder)
  }
  return { env, folder, args, publish }
}

/** The index, after a check of all that it says about its files. */
function readIndex(folder: string) {
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
  const linesOf = (part: { file: string; bytes: number; lines: number; sha256: string }) => {
    const content = readFileSync(join(folder, part.file))
    const text = gunzipSync(content).toString()
    expect(part).toMatchObject({
      bytes: content.length,
      lines: text.split('\n').length - 1,
      sha256: createHash('sha256').update(content).digest('hex'),
    })
    return text
  }
  const files: string[] = [index.all.file, index.changes.file]
  return { ...index, files, all: linesOf(index.all), changes: linesOf(index.changes) }
}

/** Without the lock and its journal, which web servers hide. */
const list = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith('.'))

test('the whole, the changes of three days and their index are published', async () => {
  const { env, publish } = await startPublishing()
  await run(['moderation', 'reject', '1', '--reason', 'No.'], env)
  const { time, version, base_url, ...index } = await publish()
  expect({ version, base_url }).toEqual({
    version: document.info.version,
    base_url: 'https://apps.example.org/api',
  })
  const whole = await run(['export', '--public'], env)
  expect(index.all).toBe(whole.stdout)
  expect(index.changes).toBe((await run(['export', '--public', '--since', '3d'], env)).stdout)
  expect(JSON.parse(index.changes)).toEqual({ removed: expect.objectContaining({ id: 1 }) })
  const next = /--since (\S+)$/m.exec(whole.stderr)?.[1] ?? ''
  expect(Date.parse(next) - Date.parse(time)).toBeLessThan(60_000)
  expect(time < next).toBe(true)
})

test("the changes since an index's time follow what it publishes", async () => {
  const { env, publish } = await startPublishing()
  const first = await publish()
  await run(['moderation', 'reject', '5', '--reason', 'No.'], env)
  const second = await publish()
  const mirror = { DATABASE_URL: await emptyCatalogueUrl() }
  for (const lines of [first.all, second.changes]) await run(['import', '-'], mirror, lines)
  expect((await run(['export', '--public'], mirror)).stdout).toBe(second.all)
  expect((await run(['export', '--public', '--since', first.time], env)).stdout).toBe(
    second.changes,
  )
})

test('files of the former index stay, older ones go, and others are left alone', async () => {
  const { folder, publish } = await startPublishing()
  const others = ['all-about-it.txt', 'changes-ours.ndjson.gz', 'readme.txt']
  for (const name of others) writeFileSync(join(folder, name), 'ours')
  const runs = [await publish(), await publish(), await publish()].map(({ files }) => files)
  const [, former = [], last = []] = runs
  expect(list(folder)).toEqual([...former, ...last, ...others, 'index.json'].toSorted())
  expect(new Set(runs.flat()).size).toBe(6)
})

test('everybody can read the files, whatever the umask is', async () => {
  const { env, folder, args } = await startPublishing()
  const script = 'umask 077; exec "$@"'
  await runProgram('sh', ['-c', script, 'sh', executable, ...args], env, '')
  const modes = list(folder).map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8))
  expect(modes).toEqual(['644', '644', '644'])
})

test('while another run has not ended, a run says so and does nothing, each time', async () => {
  const { env, folder, args, publish } = await startPublishing()
  const { files } = await publish()
  const other = claimRun(join(folder, '.lock'))
  for (let time = 0; time < 2; time++)
    expect(await run(args, env)).toEqual({
      code: 0,
      stdout: '',
      stderr: `another export into ${folder} has not ended; this one leaves it to that\n`,
    })
  expect(list(folder)).toEqual([...files, 'index.json'].toSorted())
  other?.close()
  expect((await publish()).files).not.toEqual(files)
})

test.for(['.new-all.gz', '.new-changes.gz'])(
  'a run that is killed while it writes %s changes nothing for readers; the next one removes its files',
  async (name) => {
    const { env, folder, args, publish } = await startPublishing()
    await run(['import', manyApps(2000)], env)
    const before = await publish()
    const child = spawn(executable, args, { env: { PATH: process.env.PATH, ...env } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    while (!existsSync(join(folder, name)) && child.exitCode === null) await delay(1)
    child.kill('SIGKILL')
    expect(await exited).toEqual([null, 'SIGKILL'])
    expect(readdirSync(folder)).toContain(name)
    expect(readIndex(folder)).toEqual(before)
    const { files } = await publish()
    expect(list(folder)).toEqual([...before.files, ...files, 'index.json'].toSorted())
    expect(readdirSync(folder)).not.toContain(name)
  },
)

test('a run that fails leaves the former index and its files', async () => {
  const { env, folder, args, publish } = await startPublishing()
  const before = await publish()
  mkdirSync(join(folder, '.new-changes.gz/in'), { recursive: true })
  expect(await run(args, env)).toMatchObject({ code: 1 })
  expect(readIndex(folder)).toEqual(before)
})

test.for<{ name: string; directory: string; reason: RegExp }>([
  { name: 'a missing directory', directory: '/nowhere', reason: /\/nowhere\/\S+: no such file/ },
  { name: 'a file', directory: import.meta.filename, reason: /export\.test\.ts\S*: not a dir/ },
])('is refused into $name', async ({ directory, reason }) => {
  const { env } = await startPublishing()
  expectRefusal(await run(['export', '--into', directory], env), reason)
})

/** Only root can run a command as another account, and only in a clone that it may enter. */
test.runIf(process.getuid?.() === 0)("is refused into another account's directory", async () => {
  const { env, folder, args } = await startPublishing()
  chmodSync(folder, 0o755)
  const file = env.DATABASE_URL.replace('sqlite:', '')
  chownSync(file, 65_534, 65_534)
  chmodSync(join(file, '..'), 0o777)
  const setpriv = ['--reuid=65534', '--clear-groups', '--', executable, ...args]
  expectRefusal(await runProgram('setpriv', setpriv, env, ''), /\/\.lock: permission denied$/m)
  expect(readdirSync(folder)).toEqual([])
})

test.for([['--since', '2026-01-01'], ['all.ndjson.gz']])('cannot be used with %s', async (more) => {
  const { env, args } = await startPublishing()
  expect(await run([...args, ...more], env)).toMatchObject({ code: 2, stdout: '' })
})
