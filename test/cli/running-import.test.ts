import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { exampleLine, exampleReview, manyApps, toLines } from '../support/catalogue-file.ts'
import { expectConsistent, expectConsistentAt, expectSound } from '../support/consistency.ts'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, executable, run, runProcess, serve } from '../support/process.ts'

/** An import that is killed, one that the database stops, and one beside a server and commands. */

test.for<[what: string, lines: number, stdout: RegExp, stderr: RegExp, lost: string]>([
  [
    'the first batch',
    3,
    /^0 lines in .*: 0 created, 0 updated, 0 unchanged\.\n$/,
    /^apps-service: cannot write line 1 and those after it: .*reviews.*; nothing was imported; run this again to finish\n$/,
    'reviews',
  ],
  [
    'a later batch',
    1500,
    /^1000 lines in .*: 1000 created, 0 updated, 0 unchanged\.\n$/,
    /^apps-service: cannot write line 1001 and those after it: .*slug_numbers.*; the lines before were imported; run this again to finish\n$/,
    'slug_numbers',
  ],
])(
  'an import that cannot write %s says what it has written, and the next run finishes it',
  async ([, count, stdout, stderr, lost]) => {
    const address = await copyWorld()
    const database = openDatabase(address)
    onTestFinished(() => database.close())
    const rename = (from: string, to: string) =>
      database.write(({ sql }) => sql.raw(`alter table ${from} rename to ${to}`))
    // The first thousand get the slugs of their names, and the others numbered ones.
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
  ['category list', 'categories'],
  ['app list', 'developers'],
  ['moderation show 1', 'developers'],
  ['moderation queue', 'developers'],
  ['moderation approve 2', 'catalogue_version'],
  ['key issue --developer Ada', 'api_keys'],
  ['export', 'categories'],
  ['import -', 'developers'],
  ['counters -', 'catalogue_version'],
  ['status', 'api_keys'],
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
  await expect.poll(count, { interval: 20 }).toBeGreaterThan(1000)
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
  const { keys } = inject('world')
  const server = await serve(address)
  // Enough for several transactions.
  const lines = 6000
  const importing = runProcess(['import', manyApps(lines), '--json'], env)
  let isOver = false
  importing.then(() => {
    isOver = true
  })

  const answers: string[] = []
  const created: number[] = []
  // One request of each kind at a time, because concurrent searches may get a 503. So may any
  // request while the machine is busy, and is then sent again.
  const repeat = async (...request: Parameters<typeof server.request>) => {
    for (; !isOver; await delay(50)) {
      const { status, body } = await server.request(...request)
      if (status !== 503) answers.push(`${request[0]} ${request[1]} ${status}`)
      if (status === 201) created.push(body.data.app_id)
    }
  }
  const paths = ['/apps', '/apps?search=star', '/apps/1', '/apps?sort=popular&page=2']
  const readers = paths.map((path) => repeat('GET', path))
  const json = { name: 'Beside', description: 'Written meanwhile.', category_id: 1 }
  const writer = repeat('POST', '/apps', { key: keys.ada, json })
  const operator = async () => {
    for (const isPublic of [true, false, true]) {
      const args = isPublic ? ['approve', '2'] : ['reject', '2', '--reason', 'Meanwhile.']
      expect(await run(['moderation', ...args], env)).toMatchObject({ code: 0 })
      expect((await server.request('GET', '/apps/2')).status).toBe(isPublic ? 200 : 404)
    }
    expect((await run(['key', 'revoke', keys.bob], env)).code).toBe(0)
    expect((await server.request('GET', '/apps', { key: keys.bob })).status).toBe(401)
  }
  await Promise.all([importing, ...readers, writer, operator()])

  expect(JSON.parse((await importing).stdout)).toMatchObject({ created: lines, rejected: 0 })
  expect(new Set(answers)).toEqual(
    new Set(['POST /apps 201', ...paths.map((path) => `GET ${path} 200`)]),
  )
  const exported = await run(['export', join(temporaryFolder(), 'all.ndjson')], env)
  const apps = (6 + lines + created.length).toLocaleString('en')
  expect(exported.stderr).toContain(`${apps} apps and 3 categories exported.`)
  // Ids follow the order of writing, so these writes came between the transactions of the import.
  const database = openDatabase(env.DATABASE_URL)
  const imported = await database.read(({ sql }) =>
    sql('apps').where('name', 'like', 'Star %').orderBy('id').pluck('id'),
  )
  await database.close()
  expect(created.some((id) => id > (imported[0] ?? 0) && id < (imported.at(-1) ?? 0))).toBe(true)
  const stored = await server.request('GET', `/apps/${created.at(-1)}`, { key: keys.ada })
  expect(stored.status).toBe(200)
  expect(new Set(created).size).toBe(created.length)
  await expectConsistentAt(address)
}, 300_000)
