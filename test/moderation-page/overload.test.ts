import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { findOrAddDeveloper, requireDeveloper } from '../../src/accounts/account-store.ts'
import { queueLimits } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { clientBuffers } from '../../src/http/connections.ts'
import { moderationStore } from '../../src/moderation/moderation-store.ts'
import { expectStatuses } from '../support/check.ts'
import { freezeClock } from '../support/clock.ts'
import { textOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  type Fields,
  type ModerationPage,
  newestEntries,
  referenceTo,
  startModerationPage,
} from '../support/moderation-page.ts'
import { concurrency, saturate } from '../support/saturate.ts'

/**
 * While the database takes no writes, which is not the fault of a moderator or a key, while forms
 * arrive slowly, and when a page takes long.
 */

const { apps } = inject('world')

/** Fills the queue of writes, so that further ones are refused at once, until released. */
async function refuseWrites({ database }: ModerationPage) {
  const release = await saturate((work) => database.write(work), concurrency.write)
  const queued = Array.from({ length: queueLimits.write.queueLimit }, () =>
    database.write(async () => {}).catch(() => {}),
  )
  return async () => {
    await release()
    await Promise.all(queued)
  }
}

test('the audit log is answered while searches and queues use their whole bulkhead, and is again', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const release = await saturate(
    (work) => page.database.snapshot(work, { isExpensive: true }),
    concurrency.expensive,
  )
  expectStatuses([await ada.get('/audit'), await ada.get('/audit')], [200, 200])
  // Other pages wait as long as people do, but not for ever.
  const begin = performance.now()
  expectStatuses([await ada.get('/')], [503])
  expect(performance.now() - begin).toBeGreaterThan(2000)
  await release()
  expectStatuses([await ada.get('/audit'), await ada.get('/')], [200, 200])
})

test('each form says that nothing could be stored, and none does a half of its work', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const { key } = await page.addModerator('Bo')
  const [review = ''] = valuesOf((await ada.get(`/apps/${apps.approved}`)).text, 'review')
  const pending = await referenceTo(page, apps.pending)
  const forms: [path: string, fields: Fields, problem: string][] = [
    ['/sign-in', { key }, ''],
    ['/sign-out', {}, ''],
    ['/decisions', { app: pending, decision: 'approve' }, 'Some of the apps may have been decided'],
    [
      '/decisions',
      { app: pending, decision: 'approve', seen: '1' },
      'Some of the apps may have been decided',
    ],
    ['/restorations', { app: await referenceTo(page, apps.deleted) }, ''],
    ['/removed-reviews', { app: String(apps.approved), review, reason: 'An advert.' }, ''],
  ]
  const before = await newestEntries(page, 1)
  const release = await refuseWrites(page)
  for (const [path, fields, problem] of forms) {
    const { status, headers, text } = await ada.post(path, fields)
    expect([path, status]).toEqual([path, 503])
    expect(textOf(text)).toContain(problem)
    expect(headers['set-cookie']).toBeUndefined()
  }
  await release()
  expect(await newestEntries(page, 1)).toEqual(before)
  expect((await ada.get('/')).status).toBe(200)
})

test('pages are shown to those who are signed in, although their use cannot be stored', async () => {
  const page = await startModerationPage()
  const start = freezeClock()
  const ada = await page.signIn('Ada')
  freezeClock(start + 60 * 60 * 1000)
  const release = await refuseWrites(page)
  for (const path of ['/', '/apps?text=tide', `/apps/${apps.pending}`, '/audit'])
    expect((await ada.get(path)).status).toBe(200)
  await release()
})

/** Sends the head of a request, and waits until the page expects the body. */
async function slowForm({ port, ownHeaders }: ModerationPage, request: string, headers: object) {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  const sent = {
    Host: 'moderation.test',
    ...ownHeaders,
    'Content-Type': 'application/x-www-form-urlencoded',
    Expect: '100-continue',
    ...headers,
  }
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${request} HTTP/1.1\r\n${lines.join('')}\r\n`)
  await once(socket, 'data')
  return socket
}

test('a form that arrives slowly counts in the budget until it is complete', async () => {
  const page = await startModerationPage()
  const socket = await slowForm(page, 'POST /sign-in', { 'Content-Length': 1000 })
  await expect.poll(() => clientBuffers.calculatedSize).toBe(1000)
  socket.write('x'.repeat(1000))
  await expect.poll(() => clientBuffers.calculatedSize).toBe(0)
})

test('a form that arrives slowly counts in the budget until its client disconnects', async () => {
  const page = await startModerationPage()
  const socket = await slowForm(page, 'POST /sign-in', { 'Content-Length': 1000 })
  await expect.poll(() => clientBuffers.calculatedSize).toBe(1000)
  socket.destroy()
  await expect.poll(() => clientBuffers.calculatedSize).toBe(0)
})

test.for([
  ['POST /sign-out', 303],
  ['POST /nowhere', 404],
  ['GET /sign-in', 200],
  ['GET /', 303],
  ['GET /healthz', 200],
] as const)(
  'a body of %s leaves the budget with the answer, %i, that does not wait for it',
  async ([line, status]) => {
    const page = await startModerationPage()
    const socket = await slowForm(page, line, { 'Content-Length': 1000 })
    await expect
      .poll(() => page.log.map((entry) => JSON.parse(entry).res.statusCode))
      .toEqual([status])
    expect(clientBuffers.calculatedSize).toBe(0)
    // The connection goes on after the body.
    socket.write(`${'x'.repeat(1000)}GET /style.css HTTP/1.1\r\nHost: moderation.test\r\n\r\n`)
    await expect
      .poll(() => page.log.map((entry) => JSON.parse(entry).res.statusCode))
      .toEqual([status, 200])
    expect(clientBuffers.calculatedSize).toBe(0)
  },
)

test('forms that arrive slowly share the budget; the oldest makes room with a 503', async () => {
  const page = await startModerationPage()
  const whole = { 'Content-Length': 256 * 1024 }
  const oldest = await slowForm(page, 'POST /sign-in', whole)
  const next = await slowForm(page, 'POST /sign-in', { 'Transfer-Encoding': 'chunked' })
  const refused = text(oldest)
  // Room for 192 forms.
  for (let number = 2; number < 193; number++) await slowForm(page, 'POST /sign-in', whole)
  await expect.poll(() => clientBuffers.calculatedSize).toBe(clientBuffers.maxSize)
  oldest.on('error', () => {
    // The page has closed the connection.
  })
  oldest.write('x'.repeat(256 * 1024))
  for (const line of [/^HTTP\/1\.1 503 /, /\r\nRetry-After: 5\r\n/, /\r\nConnection: close\r\n/])
    expect(await refused).toMatch(line)
  // The others go on.
  next.write('5\r\nkey=x\r\n0\r\n\r\n')
  expect(String((await once(next, 'data'))[0])).toMatch(/^HTTP\/1\.1 401 /)
  expect(page.log.map((line) => JSON.parse(line).level)).toEqual([30, 30])
})

test.for(['/sign-in', '/decisions', '/restorations', '/removed-reviews'])(
  'a form of another site for %s is refused before its body has arrived',
  async (path) => {
    const page = await startModerationPage()
    const headers = { 'Content-Length': 1000, Origin: 'https://evil.example' }
    const socket = await slowForm(page, `POST ${path}`, headers)
    socket.write('x')
    await expect.poll(() => page.log.map((line) => JSON.parse(line).res.statusCode)).toEqual([403])
  },
)

test('a form without a session counts in the budget until it is complete, and is refused then', async () => {
  const page = await startModerationPage()
  const socket = await slowForm(page, 'POST /decisions', { 'Content-Length': 1000 })
  await expect.poll(() => clientBuffers.calculatedSize).toBe(1000)
  expect(page.log).toEqual([])
  socket.write('x'.repeat(1000))
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 401 /)
  expect(clientBuffers.calculatedSize).toBe(0)
})

/** Turns of the event loop during the work in which no statement was running. */
async function countTurns({ sql }: QueryRunner, work: () => Promise<unknown>): Promise<number> {
  // The first statement opens the connection.
  await sql.raw('select 1')
  let running = 0
  let turns = 0
  let isDone = false
  const begin = () => running++
  const end = () => running--
  sql.on('query', begin).on('query-response', end)
  const counting = (async () => {
    for (; !isDone; await setImmediate()) if (running === 0) turns++
  })()
  await work()
  isDone = true
  await counting
  sql.removeListener('query', begin).removeListener('query-response', end)
  return turns
}

const pending = { queue: 'pending', filter: {}, openElsewhere: [] } as const

test.for<[what: string, work: (runner: QueryRunner) => Promise<unknown>]>([
  ['a step of the queue', (runner) => moderationStore(runner).walkQueue(pending, undefined, 100)],
  [
    'a step of look-alikes',
    (runner) =>
      moderationStore(runner).walkQueue(
        { ...pending, filter: { lookAlikes: true } },
        undefined,
        50,
      ),
  ],
  [
    'a developer who does not exist',
    (runner) => requireDeveloper(runner, 'Nobody').catch(() => {}),
  ],
])('%s lets other requests run between a hundred rows', async ([, work]) => {
  const page = await startModerationPage()
  await addApps(page, Array<object>(100).fill({}))
  await page.database.write(async (runner) => {
    for (let index = 0; index < 100; index++) await findOrAddDeveloper(runner, `Developer ${index}`)
  })
  const turns = await page.database.read((runner) => countTurns(runner, () => work(runner)))
  expect(turns).toBeGreaterThanOrEqual(100)
})

test.for([
  ['the queue', '/'],
  ['the look-alikes of the queue', '/?look-alikes=on'],
  ['an app in the middle of the look-alikes', '/apps/7?queue=pending&look-alikes=on'],
] as const)('%s stops when its client disconnects', async ([, path]) => {
  const page = await startModerationPage()
  await addApps(page, Array<object>(500).fill({}))
  // Their names are compared with those of popular apps, 500 at a time.
  const popular = { status: 'approved', approved_at: '2026-01-01T00:00:00.000Z' }
  await addApps(page, Array<object>(5000).fill({ ...popular, total_downloads: 10_000 }))
  const ada = await page.signIn('Ada')
  const client = connect(page.port)
  let later: string[] | undefined
  page.database.onStatement((statement) => {
    later?.push(statement)
    if (!/app_names/.test(statement)) return
    later ??= []
    // A socket that was only closed may still read.
    client.resetAndDestroy()
  })
  client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${ada.cookie}\r\n\r\n`)
  await expect.poll(() => page.log.at(-1)).toMatch(/GET aborted/)
  await expect.poll(() => page.database.usage().pools[0]?.used).toBe(0)
  // Those that were sent before the disconnection was seen. The page would need five or more.
  expect(later?.length).toBeLessThan(5)
  expect(later?.at(-1)).toBe('ROLLBACK')
  expect(page.log.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
  expect((await ada.get('/audit')).status).toBe(200)
})
