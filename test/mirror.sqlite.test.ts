import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { claimRun } from '../src/cli/claim-run.ts'
import { openDatabase } from '../src/db/open-database.ts'
import { manyApps } from './support/catalogue-file.ts'
import { copyWorld, emptyCatalogueUrl, temporaryFolder } from './support/database.ts'
import { share, whenFinished } from './support/lifetime.ts'
import { run } from './support/process.ts'

/** deploy/mirror.ts, which follows a published export over HTTP, as a process. */

const script = join(import.meta.dirname, '../deploy/mirror.ts')

/** Answers a request for a file in another way than with its content. */
type Fault = (response: ServerResponse, content: Buffer) => void

/** A source that publishes its catalogue, and an empty mirror. `fault` breaks a file's transfer. */
async function startMirror() {
  const source = { DATABASE_URL: await copyWorld() }
  const folder = temporaryFolder()
  const publish = async () =>
    expect(await run(['export', '--public', '--into', folder], source)).toMatchObject({ code: 0 })
  await publish()

  const web: { requests: string[]; fault?: [file: RegExp, fault: Fault] | undefined } = {
    requests: [],
  }
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? ''
    web.requests.push(name.replace(/-.*/, ''))
    const content = readFileSync(join(folder, name))
    const [file, fault] = web.fault ?? []
    if (file?.test(name)) fault?.(response, content)
    else response.end(content)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const down = () => {
    server.closeAllConnections()
    server.close()
  }
  whenFinished(down)
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const state = temporaryFolder()
  const mirror = { DATABASE_URL: await emptyCatalogueUrl() }
  const env = {
    PATH: process.env.PATH,
    ...mirror,
    STATE_DIRECTORY: state,
    MIRROR_URL: `${origin}/index.json`,
  }
  const update = (changed: Record<string, string> = {}) =>
    new Promise<{ code: number; stderr: string }>((resolve) => {
      const options = { env: { ...env, ...changed }, cwd: state }
      execFile(process.execPath, [script], options, (error, stdout, stderr) => {
        expect(stdout).toBe('')
        resolve({ code: Number(error?.code ?? 0), stderr })
      })
    })
  const place = () => JSON.parse(readFileSync(join(state, 'mirrored'), 'utf8'))
  const index = () => JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
  /** The place after an update to what is published now. */
  const current = () => ({ url: env.MIRROR_URL, time: index().time })
  const catalogueOf = async (of: typeof source) => (await run(['export', '--public'], of)).stdout
  const expectSame = async () => expect(await catalogueOf(mirror)).toBe(await catalogueOf(source))
  const atSource = async (...args: string[]) =>
    expect(await run(args, source)).toMatchObject({ code: 0 })
  /** Changes of the source before it are older than those that it publishes. */
  async function passDays(days: number) {
    const then = (time: string) => new Date(Date.parse(time) - days * 86_400_000).toISOString()
    const database = openDatabase(source.DATABASE_URL)
    for (const table of ['apps', 'developers', 'categories'] as const)
      await database.write(({ sql }) => sql(table).update({ changed_at: then(index().time) }))
    await database.close()
    if (!existsSync(join(state, 'mirrored'))) return
    const { time, url } = place()
    writeFileSync(join(state, 'mirrored'), JSON.stringify({ url, time: then(time) }))
  }
  const controls = { web, publish, down, update, atSource, passDays }
  return { ...controls, source, mirror, env, folder, state, place, current, expectSame }
}

const done = { code: 0, stderr: '' }
const failed = (message: RegExp) => ({ code: 1, stderr: expect.stringMatching(message) })

test('the first run takes everything, the next ones the changes, and only if there are new ones', async () => {
  const { web, update, publish, atSource, place, current, expectSame, state } = await startMirror()
  expect(await update()).toEqual(done)
  await expectSame()
  expect(place()).toEqual(current())
  expect(await update()).toEqual(done)
  expect(web.requests).toEqual(['index.json', 'all', 'index.json'])
  await atSource('moderation', 'approve', '2')
  await atSource('moderation', 'reject', '5', '--reason', 'No.')
  await publish()
  web.requests.length = 0
  expect(await update()).toEqual(done)
  expect(web.requests).toEqual(['index.json', 'changes'])
  await expectSame()
  expect(place()).toEqual(current())
  expect(readdirSync(state).filter((name) => name.includes('ndjson'))).toEqual([])
})

test('after a missed week, an app that was rejected and one that was deleted are gone', async () => {
  const { source, web, update, publish, atSource, passDays, expectSame, place, current } =
    await startMirror()
  await atSource('moderation', 'approve', '2')
  await atSource('import', manyApps(3))
  await publish()
  expect(await update()).toEqual(done)
  await atSource('moderation', 'reject', '1', '--reason', 'No.')
  const lines = (await run(['export'], source)).stdout.trimEnd().split('\n')
  const app = lines.map((line) => JSON.parse(line)).find(({ id }) => id === 5)
  const deletion = JSON.stringify({ ...app, deleted_at: new Date().toISOString() })
  expect((await run(['import', '-'], source, deletion)).stdout).toContain('1 updated')
  await passDays(7)
  await publish()
  web.requests.length = 0
  expect(await update()).toEqual(done)
  expect(web.requests).toEqual(['index.json', 'all'])
  await expectSame()
  expect(place()).toEqual(current())
})

test('lines that are refused each time do not hold the others back', async () => {
  const { web, mirror, update, publish, atSource, place, current } = await startMirror()
  // The source's category Games, and its apps, cannot be imported.
  await run(['category', 'add', '--slug', 'own', '--name', 'Games'], mirror)
  const refused = failed(/ refused: see .*mirror\.ndjson\.gz\.rejects\.ndjson\.problems/)
  expect(await update()).toEqual(refused)
  expect(place()).toEqual(current())
  await atSource('moderation', 'approve', '2')
  await atSource('category', 'rename', 'games', '--name', 'Games', '--slug', 'play')
  await publish()
  for (const taken of ['changes', 'all', 'index.json']) {
    web.requests.length = 0
    expect(await update()).toEqual(taken === 'index.json' ? done : refused)
    expect([web.requests.at(-1), place().time]).toEqual([taken, current().time])
    expect((await run(['moderation', 'show', '2'], mirror)).code).toBe(0)
  }
})

test('a long report about refused lines does not stop an import', async () => {
  const { update, folder, place, current } = await startMirror()
  const indexFile = join(folder, 'index.json')
  const index = JSON.parse(readFileSync(indexFile, 'utf8'))
  const file = join(folder, index.all.file)
  // JSON writes each of these characters as six.
  const refused = Array.from({ length: 1000 }, (_, number) =>
    JSON.stringify({ slug: `refused-${number}`, [`${number}${'\u0001'.repeat(195)}`]: 1 }),
  )
  const content = gzipSync(`${gunzipSync(readFileSync(file))}${refused.join('\n')}\n`)
  writeFileSync(file, content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const lines = index.all.lines + refused.length
  index.all = { ...index.all, bytes: content.length, lines, sha256 }
  writeFileSync(indexFile, JSON.stringify(index))
  expect(await update()).toEqual(failed(/^1,000 refused: see /))
  expect(place()).toEqual(current())
})

test('if two apps exchange their package names, the run after the refusal follows', async () => {
  const { source, update, publish, atSource, expectSame } = await startMirror()
  await atSource('import', manyApps(2))
  await publish()
  expect(await update()).toEqual(done)
  const lines = (await run(['export'], source)).stdout.trimEnd().split('\n')
  const [zero, one] = lines.slice(-2).map((line) => JSON.parse(line))
  for (const line of [
    { ...zero, package_name: null },
    { ...one, package_name: zero.package_name },
    { ...zero, package_name: one.package_name },
  ])
    expect(await run(['import', '-'], source, JSON.stringify(line))).toMatchObject({ code: 0 })
  await publish()
  expect(await update()).toMatchObject({ code: 1 })
  expect(await update()).toEqual(done)
  await expectSame()
})

test('if the whole lacks more than half of the apps, each run says so, until they are hidden', async () => {
  const { mirror, state, update, publish, atSource, place, current, expectSame } =
    await startMirror()
  expect(await update()).toEqual(done)
  for (const id of ['1', '5']) await atSource('moderation', 'reject', id, '--reason', 'No.')
  await publish()
  rmSync(join(state, 'mirrored'))
  for (let time = 0; time < 2; time++)
    expect(await update()).toEqual(failed(/--hide 2\n.* was not imported as a whole/))
  const file = join(state, 'mirror.ndjson.gz')
  expect((await run(['import', '--mirror', file, '--hide', '2'], mirror)).code).toBe(0)
  expect(await update()).toEqual(done)
  expect(place()).toEqual(current())
  await expectSame()
})

test('a catalogue for which keys were issued is no mirror', async () => {
  const { mirror, state, update } = await startMirror()
  await run(['key', 'issue', '--developer', 'Ada'], mirror)
  expect(await update()).toEqual(failed(/ keys /))
  expect(existsSync(join(state, 'mirrored'))).toBe(false)
})

describe('imports nothing,', () => {
  let started: Awaited<ReturnType<typeof startMirror>>

  share(async () => {
    started = await startMirror()
  })

  test.for<[what: string, fault: [RegExp, Fault], message: RegExp]>([
    [
      'if the transfer of a file breaks',
      [
        /^all/,
        (response, content) => {
          response.writeHead(200, { 'Content-Length': content.length })
          response.write(content.subarray(0, 100), () => response.destroy())
        },
      ],
      /^apps-service-mirror: cannot read http\S+: /,
    ],
    [
      'if a file is too short',
      [/^all/, (response, content) => response.end(content.subarray(0, -1))],
      /^apps-service-mirror: http\S+ is not the file of its index/,
    ],
    [
      'if a file has another sum',
      [/^all/, (response, content) => response.end(content.fill(0, 20, 21))],
      /^apps-service-mirror: http\S+ is not the file of its index/,
    ],
    [
      'if a file has no end',
      [/^all/, (response) => void setInterval(() => response.write('x'.repeat(9000)), 1).unref()],
      /^apps-service-mirror: cannot read http\S+: it is longer than \d+ bytes/,
    ],
    [
      'if the index has no end',
      [/^index/, (response) => void setInterval(() => response.write(' '.repeat(9000)), 1).unref()],
      /^apps-service-mirror: cannot read http\S+: it is longer than 65536 bytes/,
    ],
    [
      'if a file is missing',
      [/^all/, (response) => response.writeHead(404).end()],
      /^apps-service-mirror: cannot read http\S+: status 404/,
    ],
    ...['', '<html>', 'null', '{}', '{"time":"now","all":{},"changes":{}}'].map(
      (text): [string, [RegExp, Fault], RegExp] => [
        `if the index is ${text || 'empty'}`,
        [/^index/, (response) => response.end(text)],
        /^apps-service-mirror: http\S+ is not the index of a published export\n$/,
      ],
    ),
    [
      'if a file of the index is elsewhere',
      [
        /^index/,
        (response, content) => response.end(content.toString().replace('"all-', '"http://b/all-')),
      ],
      /^apps-service-mirror: http\S+ is not the index of a published export\n$/,
    ],
  ])('%s', async ([, fault, message]) => {
    const { web, update, mirror, state } = started
    web.fault = fault
    expect(await update()).toEqual(failed(message))
    expect((await run(['export'], mirror)).stdout).toBe('')
    expect(readdirSync(state).filter((name) => !name.startsWith('mirror.lock'))).toEqual([])
  })

  test('and all of it afterwards', async () => {
    const { web, update, expectSame } = started
    web.fault = undefined
    expect(await update()).toEqual(done)
    await expectSame()
  })
})

describe('imports nothing, and all of it later,', () => {
  test('if the source is down', async () => {
    const { update, down, place } = await startMirror()
    expect(await update()).toEqual(done)
    const before = place()
    down()
    expect(await update()).toEqual(
      failed(/^apps-service-mirror: cannot read http\S+: .*ECONNREFUSED/),
    )
    expect(place()).toEqual(before)
  })

  test('if another run has not ended, which is no failure', async () => {
    const { update, state, web, expectSame } = await startMirror()
    const other = claimRun(join(state, 'mirror.lock'))
    expect(await update()).toEqual({
      code: 0,
      stderr:
        'apps-service-mirror: another run is not finished yet; this one leaves the update to it\n',
    })
    expect(web.requests).toEqual([])
    other?.close()
    expect(await update()).toEqual(done)
    await expectSame()
  })

  test('if its database is missing', async () => {
    const { update, mirror, state, expectSame } = await startMirror()
    rmSync(mirror.DATABASE_URL.replace('sqlite:', ''))
    expect(await update()).toEqual(failed(/does not exist.*\n.*not imported as a whole/))
    expect(existsSync(join(state, 'mirrored'))).toBe(false)
    await run(['migrate'], mirror)
    expect(await update()).toEqual(done)
    await expectSame()
  })

  test.for(['it reads a file', 'it imports a file'])('if it is killed while %s', async (when) => {
    const { web, update, env, state, publish, atSource, expectSame } = await startMirror()
    await atSource('import', manyApps(2000))
    await publish()
    const child = spawn(process.execPath, [script], { env, cwd: state, detached: true })
    const kill = () => process.kill(-(child.pid ?? expect.fail()), 'SIGKILL')
    const exited = once(child, 'exit')
    web.fault = [
      /^all/,
      (response, content) => {
        if (when === 'it imports a file') response.end(content)
        else response.write(content.subarray(0, 1000), kill)
      },
    ]
    if (when === 'it imports a file') {
      const exported = () => run(['export'], { DATABASE_URL: env.DATABASE_URL })
      await expect.poll(async () => (await exported()).stdout, { timeout: 30_000 }).not.toBe('')
      kill()
    }
    expect(await exited).toEqual([null, 'SIGKILL'])
    expect(existsSync(join(state, 'mirrored'))).toBe(false)
    web.fault = undefined
    expect(await update()).toEqual(done)
    await expectSame()
  })
})

test.for(['', 'not JSON', '{}', '{"url":"https://other.example/index.json","time":"2026"}'])(
  'with the state %j, everything is imported',
  async (content) => {
    const { web, update, state, place, current } = await startMirror()
    writeFileSync(join(state, 'mirrored'), content)
    expect(await update()).toEqual(done)
    expect(web.requests).toEqual(['index.json', 'all'])
    expect(place()).toEqual(current())
  },
)

test('if the index is older than the last one, everything is imported', async () => {
  const { web, update, state, env, place, current } = await startMirror()
  const time = '2126-01-01T00:00:00.000Z'
  writeFileSync(join(state, 'mirrored'), JSON.stringify({ url: env.MIRROR_URL, time }))
  expect(await update()).toEqual(done)
  expect(web.requests).toEqual(['index.json', 'all'])
  expect(place()).toEqual(current())
})

test.for<[changed: Record<string, string>, message: RegExp]>([
  [{ MIRROR_URL: '' }, /MIRROR_URL must be the http or https address/],
  [{ MIRROR_URL: 'ftp://apps.example.org/' }, /MIRROR_URL must be/],
  [{ STATE_DIRECTORY: '' }, /set STATE_DIRECTORY/],
  [{ STATE_DIRECTORY: '/nowhere' }, /cannot use \/nowhere\/mirror\.lock .*no such file/],
])('with the settings %o, it says what to correct', async ([changed, message]) => {
  const { update } = await startMirror()
  expect(await update(changed)).toEqual(failed(message))
})
