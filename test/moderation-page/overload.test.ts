import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { findOrAddDeveloper, requireDeveloper } from '../../src/accounts/account-store.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import { queueLimits } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { clientBuffers } from '../../src/http/connections.ts'
import { walkQueue } from '../../src/moderation/queue.ts'
import { queueTimeout } from '../../src/moderation-page/parts/context.ts'
import { expectStatuses } from '../support/check.ts'
import { freezeClock, stopTimers } from '../support/clock.ts'
import { textOf, valuesOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  type Fields,
  type ModerationPage,
  type Moderator,
  newestEntries,
  referenceTo,
  startModerationPage,
  startWithAda,
} from '../support/moderation-page.ts'
import { concurrency, saturate } from '../support/saturate.ts'

/**
 * While the database takes no more work, which is not the fault of a moderator or a key, while forms
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

test('while searches use their whole bulkhead, the audit log is shown, and other pages wait', async () => {
  const { page, ada } = await startWithAda()
  const release = await saturate(
    (work) => page.database.snapshot(work, { isExpensive: true }),
    concurrency.expensive,
  )
  stopTimers()
  expectStatuses([await ada.get('/audit')], [200])
  const queued = () => page.database.usage().pools[0]?.queued
  const late = ada.get('/')
  await expect.poll(queued).toBe(1)
  // As long as people do, not as programs, give or take a tenth.
  vi.advanceTimersByTime(0.8 * queueTimeout)
  expect(queued()).toBe(1)
  vi.advanceTimersByTime(0.4 * queueTimeout)
  expectStatuses([await late], [503])
  await release()
  expectStatuses([await ada.get('/')], [200])
})

test('each form says that nothing could be stored, and none does a half of its work', async () => {
  const { page, ada } = await startWithAda()
  const { key } = await page.addModerator('Bo')
  const [review = ''] = valuesOf((await ada.get(`/apps/${apps.approved}`)).text, 'review')
  const pending = await referenceTo(page, apps.pending)
  const partly = 'Some of the apps may have been decided'
  const forms: { path: string; fields: Fields; problem?: string }[] = [
    { path: '/sign-in', fields: { key } },
    { path: '/sign-out', fields: {} },
    { path: '/decisions', fields: { app: pending, decision: 'approve' }, problem: partly },
    // Whose key would begin a session.
    { path: '/decisions', fields: { app: pending, decision: 'approve', key } },
    {
      path: '/decisions',
      fields: { app: pending, decision: 'approve', seen: '1' },
      problem: partly,
    },
    { path: '/restorations', fields: { app: await referenceTo(page, apps.deleted) } },
    { path: '/removed-reviews', fields: { app: String(apps.approved), review, reason: 'Spam.' } },
  ]
  const before = await newestEntries(page, 1)
  const release = await refuseWrites(page)
  for (const { path, fields, problem = '' } of forms) {
    const { status, headers, text } = await ada.post(path, fields)
    expect([path, status, headers['set-cookie']]).toEqual([path, 503, undefined])
    expect(textOf(text)).toContain(problem)
  }
  await release()
  expect(await newestEntries(page, 1)).toEqual(before)
  expect((await ada.get('/')).status).toBe(200)
})

describe('the log of a decision that fails has the cause', () => {
  const causesIn = ({ log }: ModerationPage) =>
    log.map((line) => JSON.parse(line)).flatMap(({ err }) => err?.cause ?? [])

  test('if another program holds the lock', async () => {
    const { page, ada } = await startWithAda({ lockTimeout: 50 })
    const app = await referenceTo(page, apps.pending)
    const other = openDatabase(page.databaseUrl)
    const release = await saturate((work) => other.write(work), 1)
    for (const seen of [{}, { seen: '1' }])
      expectStatuses([await ada.post('/decisions', { app, decision: 'approve', ...seen })], [503])
    // Once a minute.
    expect(causesIn(page)).toEqual([
      expect.stringContaining(`Another program holds the write lock of ${page.database.name}`),
    ])
    await release()
    await other.close()
    expectStatuses([await ada.post('/decisions', { app, decision: 'approve' })], [303])
  })

  test('if it is not known whether the moderator had decided before', async () => {
    const { page, ada } = await startWithAda()
    const decision = { app: await referenceTo(page, apps.approved), decision: 'approve' }
    const cause = new Error('The disk is gone.')
    vi.spyOn(page.database, 'snapshot').mockRejectedValueOnce(
      new ServiceError('unavailable', 'Try again.', {}, { cause }),
    )
    expectStatuses([await ada.post('/decisions', decision)], [503])
    expect(causesIn(page)).toEqual(['Error: The disk is gone.'])
  })

  test('unless too many decide at once, which is no error', async () => {
    const { page, ada } = await startWithAda()
    const decision = { app: await referenceTo(page, apps.pending), decision: 'approve' }
    const release = await refuseWrites(page)
    expectStatuses([await ada.post('/decisions', decision)], [503])
    await release()
    expect(page.log.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
  })
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

describe('a form that arrives slowly', () => {
  /** Sends the head of a request, and waits until the page expects the body. */
  async function slowForm({ port, ownHeaders }: ModerationPage, line: string, headers = {}) {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    onTestFinished(() => void socket.destroy())
    const sent = {
      Host: 'moderation.test',
      ...ownHeaders,
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': 1000,
      Expect: '100-continue',
      ...headers,
    }
    const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
    await once(socket, 'data')
    return socket
  }

  const statusesOf = ({ log }: ModerationPage) => log.map((line) => JSON.parse(line).res.statusCode)

  test('counts in the budget until it is complete, also without a session', async () => {
    const page = await startModerationPage()
    const socket = await slowForm(page, 'POST /decisions')
    await expect.poll(() => clientBuffers.calculatedSize).toBe(1000)
    expect(statusesOf(page)).toEqual([])
    socket.write('x'.repeat(1000))
    await expect.poll(() => statusesOf(page)).toEqual([401])
    expect(clientBuffers.calculatedSize).toBe(0)
  })

  test.for([
    { line: 'POST /sign-out', status: 303 },
    { line: 'POST /nowhere', status: 404 },
    { line: 'GET /', status: 303 },
  ])('leaves the budget with the answer of $line, which does not wait', async (row) => {
    const page = await startModerationPage()
    const socket = await slowForm(page, row.line)
    await expect.poll(() => statusesOf(page)).toEqual([row.status])
    expect(clientBuffers.calculatedSize).toBe(0)
    // The connection goes on after the body.
    socket.write(`${'x'.repeat(1000)}GET /style.css HTTP/1.1\r\nHost: moderation.test\r\n\r\n`)
    await expect.poll(() => statusesOf(page)).toEqual([row.status, 200])
  })

  test('from another site is refused before it has arrived', async () => {
    const page = await startModerationPage()
    await slowForm(page, 'POST /decisions', { Origin: 'https://evil.example' })
    await expect.poll(() => statusesOf(page)).toEqual([403])
  })
})

describe('a page that takes long', () => {
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

  const pending = { queue: 'pending', filter: {}, openElsewhere: new Map() } as const

  test.for<{ what: string; work: (runner: QueryRunner) => Promise<unknown> }>([
    { what: 'a step of the queue', work: (runner) => walkQueue(runner, pending, undefined, 100) },
    {
      what: 'a developer who does not exist',
      work: (runner) => requireDeveloper(runner, 'Nobody').catch(() => {}),
    },
  ])('lets other requests run between a hundred rows: $what', async ({ work }) => {
    const page = await startModerationPage()
    await addApps(page, Array<object>(100).fill({}))
    await page.database.write(async (runner) => {
      for (let index = 0; index < 100; index++)
        await findOrAddDeveloper(runner, `Developer ${index}`)
    })
    const turns = await page.database.read((runner) => countTurns(runner, () => work(runner)))
    expect(turns).toBeGreaterThanOrEqual(100)
  })

  let page: ModerationPage
  let ada: Moderator
  share(async () => {
    ;({ page, ada } = await startWithAda())
    await addApps(page, Array<object>(500).fill({}))
    // Their names are compared with those of popular apps, 500 at a time.
    const popular = { status: 'approved', approved_at: '2026-01-01T00:00:00.000Z' }
    await addApps(page, Array<object>(5000).fill({ ...popular, total_downloads: 10_000 }))
  })

  test.for(['/', '/apps/7?queue=pending'])('%s stops when its client disconnects', async (path) => {
    const client = connect(page.port)
    const logged = page.log.length
    let later: string[] | undefined
    page.database.onStatement((statement) => {
      later?.push(statement)
      if (!/app_names/.test(statement)) return
      later ??= []
      // A socket that was only closed may still read.
      client.resetAndDestroy()
    })
    client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${ada.cookie}\r\n\r\n`)
    await expect.poll(() => page.log.slice(logged).join()).toMatch(/GET aborted/)
    await expect.poll(() => page.database.usage().pools[0]?.used).toBe(0)
    // Those that were sent before the disconnection was seen. The page would need five or more.
    expect(later?.length).toBeLessThan(5)
    expect(later?.at(-1)).toBe('ROLLBACK')
    expect(page.log.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
  })
})
