import { expect, test } from 'vitest'
import { required } from '../../src/util/helpers.ts'
import { newApp } from '../contract/valid-requests.ts'
import { concurrency, saturate } from '../support/saturate.ts'
import { type Service, startService } from '../support/service.ts'
import type { World } from '../support/world.ts'

/** Queued work of clients that have disconnected is not done. */

type Request = {
  name: string
  method?: string
  path: (world: World) => string
  /** Whose key it has. */
  keyOf?: 'ada' | 'bob'
  json?: object
  headers?: Record<string, string>
}

/** Sends a request that has to wait, and disconnects. Returns when the service has noticed. */
async function disconnectWhileQueued(
  service: Service,
  { method = 'GET', path, keyOf, json, headers }: Request,
  queue: { pool: 'reader' | 'writer'; queued: number },
) {
  const caller = new AbortController()
  const gone = fetch(`http://127.0.0.1:${service.port}${path(service.world)}`, {
    method,
    headers: {
      ...(keyOf && { Authorization: `Bearer ${service.world.keys[keyOf]}` }),
      ...(json && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(json && { body: JSON.stringify(json) }),
    signal: caller.signal,
  })
  const countQueued = () =>
    service.database.usage().pools.find(({ name }) => name === queue.pool)?.queued
  await expect.poll(countQueued).toBe(queue.queued)
  caller.abort()
  await expect(gone).rejects.toThrow()
  await expect.poll(() => service.log.at(-1)).toMatch(/ aborted"/)
  expect(JSON.parse(required(service.log.at(-1), 'a line'))).not.toHaveProperty('res')
}

test.for<Request>([
  { name: 'create', method: 'POST', path: () => '/apps', json: newApp },
  {
    name: 'create with an Idempotency-Key',
    method: 'POST',
    path: () => '/apps',
    json: newApp,
    headers: { 'Idempotency-Key': 'k' },
  },
  {
    name: 'update',
    method: 'PUT',
    path: ({ apps }) => `/apps/${apps.bobs}`,
    json: { name: 'Ghost' },
  },
  { name: 'deletion', method: 'DELETE', path: ({ apps }) => `/apps/${apps.bobs}` },
])('a queued $name whose client disconnects is not made', async (request) => {
  const service = await startService()
  const { database } = service
  const rows = () => database.read(({ sql }) => sql('apps').orderBy('id'))
  const before = await rows()
  const release = await saturate((work) => database.write(work), concurrency.write)
  // The other write records the key's use.
  await disconnectWhileQueued(service, { ...request, keyOf: 'bob' }, { pool: 'writer', queued: 2 })
  await release()
  await database.write(async () => {})
  expect(await rows()).toEqual(before)
})

test.for<Request & { isExpensive?: boolean }>([
  { name: 'list', path: () => '/apps?sort=popular' },
  { name: 'list with a slug', path: () => '/apps?slug=tide-clock' },
  { name: 'search', path: () => '/apps?search=tide', isExpensive: true },
  { name: 'list of categories', path: () => '/categories' },
  { name: 'read of an own app', path: () => '/apps/1', keyOf: 'ada' },
  { name: 'list of own apps', path: () => '/developer/apps', keyOf: 'ada', isExpensive: true },
])('a queued $name whose client disconnects is not run', async (request) => {
  const { isExpensive = false, keyOf, path } = request
  const service = await startService({ cacheSize: 0 })
  const { database, world } = service
  const statements: string[] = []
  // A key is found even if its client has gone.
  database.onStatement((sql) => {
    if (/^select|^begin/i.test(sql) && !sql.includes('api_keys')) statements.push(sql)
  })
  const options = keyOf ? { key: world.keys[keyOf] } : {}
  const askAgain = async () => {
    expect((await service.get(path(world), options)).status).toBe(200)
    return statements.splice(0)
  }
  await askAgain()
  const ofOne = await askAgain()
  const release = await saturate(
    (work) => database.snapshot(work, { isExpensive }),
    isExpensive ? concurrency.expensive : concurrency.cheap,
  )
  statements.length = 0
  await disconnectWhileQueued(service, request, { pool: 'reader', queued: 1 })
  await release()
  expect(await askAgain()).toEqual(ofOne)
})
