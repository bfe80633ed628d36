import { expect, test, vi } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { holdWrite } from '../support/held-write.ts'
import { concurrency, saturate } from '../support/saturate.ts'
import { type Service, startService } from '../support/service.ts'

/**
 * What happens when a bulkhead of db/database.ts is full: its own work queues or gets a 503, other
 * work goes on. How long a queue is and how long it waits is tested in util/bulkhead.test.ts.
 */

type Work = () => Promise<void>

const kinds = {
  reads: (database: Database) => (work: Work) => database.read(work),
  searches: (database: Database) => (work: Work) => database.snapshot(work, { isExpensive: true }),
  writes: (database: Database) => (work: Work) => database.write(work),
}
const slots = {
  reads: concurrency.cheap,
  searches: concurrency.expensive,
  writes: concurrency.write,
}

/** Takes all slots of a kind of work. Nothing that is queued then times out. */
async function fill({ database }: Pick<Service, 'database'>, kind: keyof typeof kinds) {
  stopTimers()
  return saturate(kinds[kind](database), slots[kind])
}

/** Work in a transaction, which takes its connection with the first statement. */
const holdConnection = (database: Database, isExpensive: boolean) => (work: Work) =>
  database.snapshot(({ sql }) => sql('apps').first('id').then(work), { isExpensive })

const countQueued = ({ database }: Service) =>
  database.usage().pools.reduce((sum, pool) => sum + pool.queued, 0)

test('while searches use all their slots, other requests are answered, and a queued search when a slot is free', async () => {
  const service = await startService()
  const release = await fill(service, 'searches')
  const { apps, keys } = service.world
  const own = { key: keys.ada }
  expectStatuses(
    [
      await service.get(`/apps/${apps.approved}`),
      await service.get(`/apps/${apps.pending}`, own),
      await service.get('/apps?sort=popular'),
      await service.get('/readyz'),
      await service.request('DELETE', `/apps/${apps.pending}`, own),
    ],
    [200, 200, 200, 200, 200],
  )
  const searched = service.get('/apps?search=tide')
  await expect.poll(() => countQueued(service)).toBe(1)
  await release()
  expect((await searched).body.data.apps).toHaveLength(1)
})

test('while reads use all their slots, searches and writes work', async () => {
  const service = await startService()
  const release = await fill(service, 'reads')
  expect((await service.get('/apps?search=tide')).status).toBe(200)
  await service.database.write(({ sql }) => sql('apps').update({ version: '2' }))
  await release()
})

test('searches and late pages that wait for more than half a second get a 503', async () => {
  const service = await startService()
  const release = await fill(service, 'searches')
  const paths = ['/apps?search=bird', '/apps?search=no', '/apps?page=12&limit=100']
  const answers = paths.map((path) => service.get(path))
  const countRefused = () => {
    vi.advanceTimersByTime(551)
    return service.database.usage().shed.expensive
  }
  await expect.poll(countRefused).toBe(paths.length)
  expectStatuses(await Promise.all(answers), [503, 503, 503])
  await release()
  expect((await service.get('/apps?search=tide')).status).toBe(200)
})

test.for<{ kind: keyof typeof kinds; queueLimit: number }>([
  { kind: 'reads', queueLimit: 2000 },
  { kind: 'searches', queueLimit: 10_000 },
  { kind: 'writes', queueLimit: 500 },
])('$queueLimit $kind wait, and more are refused at once', async ({ kind, queueLimit }) => {
  const service = await startService()
  const release = await fill(service, kind)
  const runOne = () => kinds[kind](service.database)(async () => {})
  const waiting = Array.from({ length: queueLimit }, runOne)
  await expect(runOne()).rejects.toMatchObject({ code: 'unavailable' })
  await release()
  await Promise.all(waiting)
  await runOne()
})

test('a cached response waits for no slot, connection or lock', async () => {
  const service = await startService()
  await service.get('/apps')
  stopTimers()
  const releases = [
    await saturate(holdConnection(service.database, false), slots.reads),
    await saturate(holdConnection(service.database, true), slots.searches),
  ]
  // Has changed the version of the data, which it has not committed.
  const commit = await holdWrite(service.database, ({ sql }) =>
    sql('catalogue_version').update({ value: 'new' }),
  )
  const writes = await saturate(kinds.writes(service.database), slots.writes - 1)
  expect((await service.get('/apps')).status).toBe(200)
  expect(JSON.parse(service.log.at(-1) ?? '').cached).toBe(true)
  await commit()
  for (const release of [...releases, writes]) await release()
  expect((await service.get('/apps')).status).toBe(200)
  expect(JSON.parse(service.log.at(-1) ?? '').cached).toBeUndefined()
})

test('work of all kinds at once has a connection for each of its slots', async () => {
  const { database } = await startService()
  const releases = [
    await saturate(holdConnection(database, false), slots.reads),
    await saturate(holdConnection(database, true), slots.searches),
    await saturate(kinds.writes(database), slots.writes),
  ]
  const used = database
    .usage()
    .pools.map((pool) => [pool.name, pool.used, pool.pending + pool.queued])
  expect(used).toEqual([
    ['reader', slots.reads + slots.searches, 0],
    ['writer', slots.writes, 0],
  ])
  for (const release of releases) await release()
})

test('/readyz waits for the next free slot, not behind other reads', async () => {
  const service = await startService()
  const release = await fill(service, 'reads')
  const { promise: held, resolve: finish } = Promise.withResolvers<void>()
  const reads = Array.from({ length: 2000 }, () => service.database.read(() => held))
  const ready = service.get('/readyz')
  await expect.poll(() => countQueued(service)).toBe(2001)
  await release()
  expect((await ready).status).toBe(200)
  finish()
  await Promise.all(reads)
})
