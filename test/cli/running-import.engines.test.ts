import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { chunk } from '../../src/util/helpers.ts'
import { exampleLine, exampleReview, manyApps, toLines } from '../support/catalogue-file.ts'
import { expectConsistent, expectConsistentAt, expectSound } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'
import { commandLine, executable, run, serve } from '../support/process.ts'

/** An import that is killed, one that the database stops, and one beside a server and commands. */

/** Waits for an event as long as the test may take, however busy the machine is. */
const untilTimeout = { interval: 20, timeout: 280_000 }

type Failure = {
  name: string
  lines: number
  /** The table that is missing. */
  lost: string
  stdout: RegExp
  stderr: RegExp
}
const failures: Failure[] = [
  {
    name: 'the first batch',
    lines: 3,
    lost: 'reviews',
    stdout: /^0 lines in .*: 0 created, 0 updated, 0 unchanged\.\n$/,
    stderr:
      /^apps-service: cannot write line 1 and those after it: .*reviews.*; nothing was imported; run this again to finish\n$/,
  },
  {
    name: 'a later batch',
    lines: 1500,
    // The first thousand get the slugs of their names, and the others numbered ones.
    lost: 'slug_numbers',
    stdout: /^1000 lines in .*: 1000 created, 0 updated, 0 unchanged\.\n$/,
    stderr:
      /^apps-service: cannot write line 1001 and those after it: .*slug_numbers.*; the lines before were imported; run this again to finish\n$/,
  },
]

test.for(failures)(
  'an import that cannot write $name says what it has written, and the next run finishes it',
  async ({ lines: count, lost, stdout, stderr }) => {
    const address = await copyWorld()
    const database = openDatabase(address)
    onTestFinished(() => database.close())
    const rename = (from: string, to: string) =>
      database.write(({ sql }) => sql.raw(`alter table ${from} rename to ${to}`))
    const lines = Array.from({ length: count }, (_, index) => ({
      ...exampleLine,
      name: `Star ${index % 1000}`,
      package_name: `org.example.star${index}`,
      reviews: [exampleReview],
    }))
    const { runWith } = commandLine(address)
    await rename(lost, 'lost')
    const stopped = await runWith(toLines(lines), 'import', '-')
    expect(stopped).toEqual({
      code: 1,
      stdout: expect.stringMatching(stdout),
      stderr: expect.stringMatching(stderr),
    })
    expect(stopped.stderr).not.toMatch(/\b(select|insert|values)\b/i)
    await rename('lost', lost)
    const again = await runWith(toLines(lines), 'import', '-', '--json')
    expect(JSON.parse(again.stdout)).toMatchObject({ lines: count, rejected: 0 })
    expect(JSON.parse((await runWith('', 'app', 'list', '--json')).stdout).pagination.total).toBe(
      6 + count,
    )
    await expectConsistent(database)
  },
)

test.for<[command: string, lost: string]>([
  ['category add --slug sky --name Sky', 'categories'],
  ['app list', 'developers'],
  ['export', 'categories'],
  ['import -', 'developers'],
  ['counters -', 'catalogue_version'],
])('no statement reaches the terminal if %s fails', async ([command, lost]) => {
  const address = await copyWorld()
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  await database.write(({ sql }) => sql.raw(`alter table ${lost} rename to lost`))
  const input = { import: exampleLine, counters: { slug: 'tide-clock', total_downloads: 7 } }
  const [name = ''] = command.split(' ')
  const line = Object.entries(input).flatMap(([of, value]) => (of === name ? [value] : []))
  const { code, stderr } = await commandLine(address).runWith(toLines(line), ...command.split(' '))
  expect(code).toBe(1)
  expect(stderr).toMatch(
    new RegExp(
      `^apps-service: [^\n]*(no such table: (main\\.)?${lost}|relation "${lost}" does not exist)[^\n]*\n$`,
    ),
  )
  expect(stderr).not.toMatch(/\b(select|insert|update|from|where)\b/i)
})

test('kill -9 during an import leaves nothing half written, and the next run finishes it', async () => {
  const address = await copyWorld()
  const file = manyApps(2500)
  const env = { PATH: process.env.PATH, DATABASE_URL: address }
  const child = spawn(executable, ['import', '-'], { env, stdio: ['pipe', 'ignore', 'ignore'] })
  const ended = new Promise((resolve) => child.on('exit', resolve))
  child.stdin.on('error', () => {
    // It was killed before it had read everything.
  })
  // Its input does not end, so it cannot finish before it is killed.
  child.stdin.write(readFileSync(file).subarray(0, -1))
  const database = openDatabase(address)
  const count = () =>
    database.read(async ({ sql }) => Number((await sql('apps').count({ count: '*' }))[0]?.count))
  await expect.poll(count, untilTimeout).toBeGreaterThan(1000)
  child.kill('SIGKILL')
  await ended

  const imported = (await count()) - 6
  expect(imported).toBeLessThan(2500)
  await expectConsistentAt(address)
  await expectSound(database)
  await database.read(async ({ sql }) => {
    const [reviews] = await sql('reviews').count({ count: '*' })
    expect(Number(reviews?.count)).toBe(3 + imported)
  })
  const again = await run(['import', file, '--json'], { DATABASE_URL: address })
  expect(JSON.parse(again.stdout)).toMatchObject({
    created: 2500 - imported,
    unchanged: imported,
    rejected: 0,
  })
  await expectConsistentAt(address)
  await database.close()
}, 300_000)

test('a server responds, accepts writes and shows decisions at once while an import runs', async () => {
  const address = await copyWorld()
  const env = { DATABASE_URL: address }
  const { keys, apps } = inject('world')
  const server = await serve(address)
  const lines = readFileSync(manyApps(4000), 'utf8').split(/(?<=\n)/)
  const child = spawn(executable, ['import', '-', '--json'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const printed = text(child.stdout)

  // Concurrent searches may get a 503, and so may any request while the machine is busy.
  const request = async (...args: Parameters<typeof server.request>) => {
    for (;;) {
      const response = await server.request(...args)
      if (response.status !== 503) return response
    }
  }
  const json = { name: 'Beside', description: 'Written meanwhile.', category_id: 1 }
  const created: number[] = []
  const decide = async (...args: string[]) => {
    expect(await run(['moderation', ...args], env)).toMatchObject({ code: 0 })
    return (await request('GET', `/apps/${apps.pending}`)).status
  }
  // The import cannot end before the last requests, because it has not read the last lines.
  for (const part of chunk(lines, 1000)) {
    child.stdin.write(part.join(''))
    const paths = ['/apps', '/apps?search=star', '/apps/1', '/apps?sort=popular&page=2']
    const responses = await Promise.all([
      ...paths.map((path) => request('GET', path)),
      request('POST', '/apps', { key: keys.ada, json }),
    ])
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 201])
    created.push(responses.at(-1)?.body.data.app_id)
    expect(await decide('approve', String(apps.pending))).toBe(200)
    expect(await decide('reject', String(apps.pending), '--reason', 'Meanwhile.')).toBe(404)
    // Each part is a batch, and the next one ends it.
    if (created.length > 1)
      await expect
        .poll(
          async () => (await request('GET', '/apps?limit=1')).body.data.pagination.total_pages,
          untilTimeout,
        )
        .toBeGreaterThan(1000 * (created.length - 1))
  }
  expect((await run(['key', 'revoke', keys.bob], env)).code).toBe(0)
  expect((await request('GET', '/apps', { key: keys.bob })).status).toBe(401)
  child.stdin.end()
  expect(JSON.parse(await printed)).toMatchObject({ created: lines.length, rejected: 0 })

  const stored = await request('GET', `/apps/${created.at(-1)}`, { key: keys.ada })
  expect(stored.status).toBe(200)
  expect(new Set(created).size).toBe(4)
  await expectConsistentAt(address)
}, 300_000)
