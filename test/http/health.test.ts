import { expect, test, vi } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { notMigrated } from '../../src/db/engine.ts'
import { stopTimers } from '../support/clock.ts'
import { startService } from '../support/service.ts'

const read = 'GET, HEAD, OPTIONS'

test.for<{ path: string; allow: string }>([
  { path: '/apps', allow: 'GET, HEAD, POST, OPTIONS' },
  { path: '/apps/1', allow: 'GET, HEAD, PUT, DELETE, OPTIONS' },
  { path: '/', allow: read },
  { path: '/openapi.json', allow: read },
  { path: '/openapi.yaml', allow: read },
  { path: '/life-cycle.arazzo.yaml', allow: read },
  { path: '/docs', allow: read },
  { path: '/healthz', allow: read },
  { path: '/readyz', allow: read },
])('OPTIONS and 405 list the methods of $path, uncached', async ({ path, allow }) => {
  const service = await startService({ docsPage: '<html></html>' })
  const asked = await service.request('OPTIONS', path)
  expect([asked.status, asked.text]).toEqual([204, ''])
  const refused = await service.request('PATCH', path)
  expect([refused.status, refused.body]).toEqual([
    405,
    {
      success: false,
      message: `This path does not support that method; use one of ${allow}.`,
      data: { code: 'method_not_allowed' },
    },
  ])
  for (const { headers } of [asked, refused])
    expect(headers).toMatchObject({ allow, 'cache-control': 'no-store' })
})

test.for(['/healthz', '/readyz'])('responses of %s are never cached', async (path) => {
  let draining = false
  const service = await startService({ isDraining: () => draining })
  const { status, headers, body } = await service.get(path)
  expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
  const message = path === '/healthz' ? 'The process is alive.' : 'The service is ready.'
  expect(body).toEqual({ success: true, message, data: {} })
  draining = true
  expect((await service.get(path)).headers['cache-control']).toBe('no-store')
})

test.for(['/healthz/', '/Healthz', '/readyz/', '/v1/apps/', '/V1/apps', '/v1/Apps'])(
  '%s is another path',
  async (path) => {
    const service = await startService({ prefix: '/v1' })
    expect((await fetch(`http://127.0.0.1:${service.port}${path}`)).status).toBe(404)
  },
)

test.for<{ name: string; database: Partial<Database>; message: string }>([
  {
    name: 'is damaged',
    database: { checkHealth: async () => 'is damaged' },
    message: 'The database is damaged.',
  },
  {
    name: 'is not migrated, without the command that only operators need',
    database: { checkHealth: async () => notMigrated },
    message: 'The database is not migrated to this version.',
  },
  {
    name: 'is older',
    database: { schemaAge: async () => 'older' },
    message: 'The database does not answer or is not migrated.',
  },
  {
    name: 'is missing',
    database: { schemaAge: () => Promise.reject(new Error('gone')) },
    message: 'The database does not answer or is not migrated.',
  },
])('/readyz if the database $name', async ({ database: failing, message }) => {
  const service = await startService({ database: (database) => ({ ...database, ...failing }) })
  const { status, body } = await service.get('/readyz')
  expect([status, body]).toEqual([503, { success: false, message, data: { code: 'unavailable' } }])
})

test('/readyz follows the database: each check is a new one, after a good one and after a bad one', async () => {
  let failing: Partial<Database> = {}
  const { get } = await startService({
    database: (database) => ({
      ...database,
      checkHealth: () => (failing.checkHealth ?? database.checkHealth)(),
      schemaAge: () => (failing.schemaAge ?? database.schemaAge)(),
    }),
  })
  const states: [Partial<Database>, number][] = [
    [{}, 200],
    [{ checkHealth: async () => 'is damaged' }, 503],
    [{}, 200],
    [{ schemaAge: async () => 'older' }, 503],
    [{ schemaAge: async () => 'newer' }, 503],
    [{}, 200],
    [{ schemaAge: () => Promise.reject(new Error('gone')) }, 503],
    [{}, 200],
  ]
  const found = []
  for (const [state] of states) {
    failing = state
    found.push((await get('/readyz')).status)
    // Whatever the database does, the process is alive.
    expect((await get('/healthz')).status).toBe(200)
  }
  expect(found).toEqual(states.map(([, status]) => status))
})

test('/readyz is 503 after five seconds if the database hangs; concurrent checks share one query', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const checkHealth = vi.fn(() => promise)
  const { get, arrived } = await startService({
    database: (database) => ({ ...database, checkHealth }),
  })
  stopTimers()
  const asked = [1, 2, 3].map(() => get('/readyz'))
  await expect.poll(arrived).toBe(asked.length)
  await expect.poll(() => checkHealth.mock.calls.length).toBe(1)
  vi.advanceTimersByTime(5000)
  for (const { status, body } of [...(await Promise.all(asked)), await get('/readyz')])
    expect([status, body.message]).toEqual([503, 'The database does not answer.'])
  expect(checkHealth).toHaveBeenCalledOnce()
  resolve(undefined)
  await expect.poll(async () => (await get('/readyz')).status).toBe(200)
})

test('answers a closed database with 503, on a read with a bad key too', async () => {
  const service = await startService()
  await service.database.close()
  expect((await service.get('/apps')).status).toBe(503)
  expect((await service.get('/apps', { key: service.world.keys.revoked })).status).toBe(503)
  expect((await service.get('/readyz')).status).toBe(503)
  expect((await service.get('/healthz')).status).toBe(200)
})
