import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { newApp } from '../contract/valid-requests.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { concurrency, saturate } from '../support/saturate.ts'
import { type Service, startService } from '../support/service.ts'
import type { World } from '../support/world.ts'

/**
 * What happens when a bulkhead of db/database.ts is full: its own work queues or gets a 503, other
 * work goes on.
 */

const expensive = { isExpensive: true }
const search = (database: Database) => (work: () => Promise<void>) =>
  database.snapshot(work, expensive)
const read = (database: Database) => (work: () => Promise<void>) => database.read(work)
const write = (database: Database) => (work: () => Promise<void>) => database.write(work)

/** The number of queued writes. */
const countQueuedWrites = ({ database }: Service) =>
  database.usage().pools.find(({ name }) => name === 'writer')?.waiting

const status = async (service: Service, path: string) => (await service.get(path)).status

describe('while searches use their whole bulkhead', () => {
  test('other requests get responses at once, and a queued search when a slot is free', async () => {
    const service = await startService()
    const release = await saturate(search(service.database), concurrency.expensive)
    const { apps, keys } = service.world
    expect(await status(service, `/apps/${apps.approved}`)).toBe(200)
    expect((await service.get(`/apps/${apps.pending}`, { key: keys.ada })).status).toBe(200)
    expect(await status(service, '/apps?sort=popular')).toBe(200)
    expect(await status(service, '/readyz')).toBe(200)
    expect(
      (await service.request('DELETE', `/apps/${apps.pending}`, { key: keys.ada })).status,
    ).toBe(200)
    const searched = service.get('/apps?search=tide')
    await release()
    expect((await searched).body.data.apps).toHaveLength(1)
  })

  test('a search over the queue limit gets a 503 with Retry-After at once', async () => {
    const service = await startService()
    const release = await saturate(search(service.database), concurrency.expensive)
    const waiting = Array.from({ length: 500 }, () =>
      service.database.snapshot(async () => {}, expensive),
    )
    const finished = waiting.map((search) => search.catch(() => undefined))
    const reply = await service.get('/apps?search=tide')
    expect([reply.status, reply.body.data.code, reply.headers['retry-after']]).toEqual([
      503,
      'unavailable',
      '5',
    ])
    expect(await status(service, '/apps?sort=popular')).toBe(200)
    await release()
    await Promise.all(finished)
    expect(await status(service, '/apps?search=tide')).toBe(200)
  })

  test('a search that waits too long gets a 503', async () => {
    const service = await startService()
    const releaseFirst = await saturate(search(service.database), concurrency.expensive)
    const served = service.database.snapshot(async () => 'served', expensive)
    await releaseFirst()
    expect(await served).toBe('served')
    const release = await saturate(search(service.database), concurrency.expensive)
    const searches = ['/apps?search=bird', '/apps?search=no']
    expectStatuses(await Promise.all(searches.map((path) => service.get(path))), [503, 503])
    expect(await status(service, '/apps?page=12&limit=100')).toBe(503)
    // Not the one that was queued and then served, although its time is over, too.
    expect(service.database.usage().shed.expensive).toBe(3)
    await release()
    expect(await status(service, '/apps?search=tide')).toBe(200)
  })

  test.for([
    ['a search', '/apps?search=tide'],
    ['a list of own apps', '/developer/apps'],
  ])('%s whose client disconnects is never run, and leaves the queue', async ([, path]) => {
    const service = await startService()
    const statements: string[] = []
    await service.database.read(async ({ sql }) =>
      sql.on('query', (query: { sql: string }) => statements.push(query.sql)),
    )
    const release = await saturate(search(service.database), concurrency.expensive)
    statements.length = 0
    const { port } = service
    const caller = new AbortController()
    const gone = fetch(`http://127.0.0.1:${port}${path}`, {
      headers:
        path === '/developer/apps' ? { Authorization: `Bearer ${service.world.keys.ada}` } : {},
      signal: caller.signal,
    })
    const waiting = () =>
      service.database.usage().pools.reduce((sum, pool) => sum + pool.waiting, 0)
    await expect.poll(waiting).toBe(1)
    const before = statements.length
    caller.abort()
    await expect(gone).rejects.toThrow()
    await expect.poll(() => service.log.at(-1)).toMatch(/GET aborted/)
    await release()
    expect(await status(service, '/apps?sort=rating')).toBe(200)
    expect(statements.slice(before).filter((sql) => /app_search|BEGIN|count\(/i.test(sql))).toEqual(
      [],
    )
  })

  test('a cached search is answered', async () => {
    const service = await startService()
    for (let time = 0; time < 3; time++)
      expect(await status(service, '/apps?search=tide')).toBe(200)
    const release = await saturate(search(service.database), concurrency.expensive)
    expect(await status(service, '/apps?search=tide')).toBe(200)
    await release()
  })
})

test('while reads use their whole bulkhead, searches, writes and cached responses work', async () => {
  const service = await startService()
  for (let time = 0; time < 3; time++) expect(await status(service, '/apps')).toBe(200)
  const release = await saturate(read(service.database), concurrency.cheap)
  expect(await status(service, '/apps')).toBe(200)
  expect(await status(service, '/apps?search=tide')).toBe(200)
  const written = await service.database.write(({ sql }) =>
    sql('apps').where({ id: 1 }).update({ version: '2' }),
  )
  expect(written).toBe(1)
  await release()
})

test('work of all kinds at once has a connection for each of its slots', async () => {
  const { database } = await startService()
  const begin =
    (isExpensive: boolean): typeof database.snapshot =>
    (work) =>
      database.snapshot(
        async (runner) => {
          // The transaction takes its connection with the first statement.
          await runner.sql('apps').first('id')
          return work(runner)
        },
        { isExpensive },
      )
  const releases = [
    await saturate(begin(false), concurrency.cheap),
    await saturate(begin(true), concurrency.expensive),
    await saturate(write(database), concurrency.write),
  ]
  const used = database.usage().pools.map((pool) => [pool.name, pool.used, pool.waiting])
  expect(used).toEqual([
    ['reader', concurrency.cheap + concurrency.expensive, 0],
    ['writer', concurrency.write, 0],
  ])
  for (const release of releases) await release()
})

test('/readyz waits for the next free slot, not behind other reads', async () => {
  const service = await startService()
  stopTimers()
  const release = await saturate(read(service.database), concurrency.cheap)
  const { promise: held, resolve: finish } = Promise.withResolvers<void>()
  const reads = Array.from({ length: 2000 }, () => service.database.read(() => held))
  const ready = status(service, '/readyz')
  await expect.poll(() => service.database.usage().pools[0]?.waiting).toBe(2001)
  await release()
  expect(await ready).toBe(200)
  finish()
  await Promise.all(reads)
})

test.for<
  [
    kind: string,
    runIn: typeof search,
    slots: number,
    queueLimit: number,
    runOne: (database: Database) => Promise<unknown>,
  ]
>([
  ['reads', read, concurrency.cheap, 2000, (database) => database.read(async () => {})],
  ['writes', write, concurrency.write, 500, (database) => database.write(async () => {})],
])('%s over the queue limit are refused', async ([, runIn, slots, queueLimit, runOne]) => {
  const { database } = await startService()
  stopTimers()
  const release = await saturate(runIn(database), slots)
  const waiting = Array.from({ length: queueLimit }, () => runOne(database))
  await expect(runOne(database)).rejects.toThrow('The service is overloaded')
  await release()
  await Promise.all(waiting)
  await runOne(database)
})

test.for<
  [what: string, path: (world: World) => string, body?: object, headers?: Record<string, string>]
>([
  ['POST', () => '/apps', newApp],
  ['POST with an Idempotency-Key', () => '/apps', newApp, { 'Idempotency-Key': 'k' }],
  ['PUT', ({ apps }) => `/apps/${apps.bobs}`, { name: 'Ghost' }],
  ['DELETE', ({ apps }) => `/apps/${apps.bobs}`],
])('a queued %s whose client disconnects is not made', async ([what, path, body, headers]) => {
  const [method] = what.split(' ', 1)
  const service = await startService()
  const rows = () => service.database.read(({ sql }: QueryRunner) => sql('apps').orderBy('id'))
  const before = await rows()
  const release = await saturate(write(service.database), concurrency.write)
  const caller = new AbortController()
  const gone = fetch(`http://127.0.0.1:${service.port}${path(service.world)}`, {
    ...(method && { method }),
    headers: {
      Authorization: `Bearer ${service.world.keys.bob}`,
      'Content-Type': 'application/json',
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: caller.signal,
  })
  // And the write that records the key's use.
  await expect.poll(() => countQueuedWrites(service)).toBe(2)
  caller.abort()
  await expect(gone).rejects.toThrow()
  await expect.poll(() => service.log.at(-1)).toContain(`${method} aborted`)
  await release()
  await service.database.write(async () => {})
  expect(await rows()).toEqual(before)
})

test.for<[path: string, isOwn: boolean]>([
  ['/apps?sort=popular', false],
  ['/apps?slug=tide-clock', false],
  ['/categories', false],
  ['/apps/1', true],
])('a queued GET %s whose client disconnects is not made', async ([path, isOwn]) => {
  const service = await startService({ cacheSize: 0 })
  const { ada } = service.world.keys
  const statements: string[] = []
  // A key is found even if its client has gone.
  service.database.onStatement((sql) => {
    if (/^select/i.test(sql) && !sql.includes('api_keys')) statements.push(sql)
  })
  const askAgain = async () => {
    await service.get(path, isOwn ? { key: ada } : {})
    return statements.splice(0)
  }
  const ofOne = await askAgain()
  const release = await saturate(read(service.database), concurrency.cheap)
  const caller = new AbortController()
  const gone = fetch(`http://127.0.0.1:${service.port}${path}`, {
    headers: isOwn ? { Authorization: `Bearer ${ada}` } : {},
    signal: caller.signal,
  })
  await expect.poll(() => service.database.usage().pools[0]?.waiting).toBe(1)
  caller.abort()
  await expect(gone).rejects.toThrow()
  await expect.poll(() => service.log.at(-1)).toMatch(/GET aborted/)
  await release()
  expect(await askAgain()).toEqual(ofOne)
})
