import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ResponseCache } from '../../src/http/cache.ts'
import { Representation } from '../../src/http/response.ts'
import { namesOf, scenarioOf, tables } from '../contract/scenarios.ts'
import type { Call } from '../contract/valid-requests.ts'
import type { CheckedResponse } from '../support/check.ts'
import { share } from '../support/lifetime.ts'
import { sendBytes } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'
import type { World } from '../support/world.ts'

/**
 * The response cache: what it stores and shares, and that responses from it equal others.
 * cache-freshness.engines.test.ts tests that none is older than the last write.
 */

const kilobyte = 'x'.repeat(1024)

/** A cache of data whose version the test sets, and computations that the test ends. */
function openCache({ maxSize = 2 ** 20, isManual = false } = {}) {
  const data: { version: string | Promise<string> } = { version: '1' }
  const cache = new ResponseCache(maxSize, async () => data.version)
  const computations: (PromiseWithResolvers<string> & { signal: AbortSignal })[] = []

  /** Returns the number of the computation that made the response. */
  async function request(url = '/a', signal = new AbortController().signal): Promise<string> {
    const { body } = await cache.load({ url, signal }, { context: { id: '' } }, async (shared) => {
      const number = `${computations.length}`
      const computation = Promise.withResolvers<string>()
      computations.push({ ...computation, signal: shared })
      if (!isManual) computation.resolve(number)
      return new Representation('text/plain', Buffer.from(await computation.promise), {})
    })
    return String(body)
  }

  /** Sends requests, which then have read the version and wait for a computation. */
  async function requests(count: number, url?: string) {
    const responses = Array.from({ length: count }, () => request(url))
    await settle()
    return responses
  }
  return { cache, data, computations, request, requests }
}

/** Until the cache has read the version of the data, which takes some turns of the event loop. */
async function settle() {
  for (let turn = 0; turn < 5; turn++) await setImmediate()
}

test('a response is computed once for each URL and version of the data', async () => {
  const { cache, data, request } = openCache()
  const urls = ['/a', '/b', '/a', '/a', '/b']
  const ask = async () => {
    const found = []
    for (const url of urls) found.push(await request(url))
    return found
  }
  expect(await ask()).toEqual(['0', '1', '0', '0', '1'])
  data.version = '2'
  expect(await ask()).toEqual(['2', '3', '2', '2', '3'])
  expect(cache.counts).toEqual({ hit: 6, miss: 4, versions: 2 })
})

test('while the version cannot be read, each response is computed; afterwards the cache has its responses', async () => {
  const { data, request } = openCache()
  const ask = async () => [await request(), await request()]
  expect(await ask()).toEqual(['0', '0'])
  const unreadable = Promise.reject(new Error('no version'))
  unreadable.catch(() => {})
  data.version = unreadable
  expect(await ask()).toEqual(['1', '2'])
  data.version = '1'
  expect(await ask()).toEqual(['0', '0'])
  data.version = '2'
  expect(await ask()).toEqual(['3', '3'])
})

test('a failure is shared by those that wait for it, and not stored', async () => {
  const { computations, requests, request } = openCache({ isManual: true })
  const waiting = await requests(3)
  computations[0]?.reject(new Error('locked'))
  for (const { status } of await Promise.allSettled(waiting)) expect(status).toBe('rejected')
  const [next] = await requests(1)
  computations[1]?.resolve('found')
  expect(await next).toBe('found')
  expect(await request()).toBe('found')
})

describe('requests for one URL at once', () => {
  test('read the version once, and share one computation', async () => {
    let reads = 0
    const cache = new ResponseCache(2 ** 20, async () => `${reads++}`)
    const contexts = Array.from({ length: 20 }, (): { id: string; isCacheHit?: boolean } => ({
      id: '',
    }))
    const { signal } = new AbortController()
    await Promise.all(
      contexts.map((context) =>
        cache.load({ url: '/a', signal }, { context }, async () => {
          await settle()
          return new Representation('text/plain', Buffer.from('x'), {})
        }),
      ),
    )
    expect(reads).toBe(1)
    expect(cache.counts).toMatchObject({ hit: 19, miss: 1 })
    expect(contexts.filter(({ isCacheHit }) => isCacheHit)).toHaveLength(19)
  })

  test('do not share a computation that began before a change, nor is its result stored', async () => {
    const { data, computations, requests } = openCache({ isManual: true })
    const before = await requests(2)
    data.version = '2'
    const after = await requests(2)
    computations[0]?.resolve('old')
    expect(await Promise.all(before)).toEqual(['old', 'old'])
    // The end of the older one does not keep later requests from sharing the newer one.
    const sharing = await requests(2)
    computations[1]?.resolve('new')
    expect(await Promise.all([...after, ...sharing, ...(await requests(1))])).toEqual(
      Array(5).fill('new'),
    )
    expect(computations).toHaveLength(2)
  })

  test('do not use a version whose reading began before they arrived', async () => {
    const { data, request, requests } = openCache()
    const { promise, resolve } = Promise.withResolvers<string>()
    expect(await request()).toBe('0')
    data.version = promise
    const [before] = await requests(1)
    data.version = '2'
    const after = request()
    await settle()
    resolve('1')
    expect([await before, await after]).toEqual(['0', '1'])
  })

  test('are computed until the last of their clients has disconnected, and then anew', async () => {
    const { computations, request, requests } = openCache({ isManual: true })
    const clients = [new AbortController(), new AbortController()]
    const waiting = clients.map(({ signal }) => request('/a', signal))
    await settle()
    clients[0]?.abort()
    expect(computations[0]?.signal.aborted).toBe(false)
    clients[1]?.abort()
    expect(computations[0]?.signal.aborted).toBe(true)
    const later = await requests(2)
    expect(computations).toHaveLength(2)
    computations[0]?.reject(new Error('abandoned'))
    await Promise.allSettled(waiting)
    computations[1]?.resolve('found')
    expect(await Promise.all(later)).toEqual(['found', 'found'])
  })

  test('are not abandoned for a client that disconnects before it shares the computation', async () => {
    const { computations, request, requests } = openCache({ isManual: true })
    const gone = request('/a', AbortSignal.abort())
    await settle()
    expect(computations[0]?.signal.aborted).toBe(true)
    const [first] = await requests(1)
    const other = request('/a', AbortSignal.abort())
    await settle()
    expect(computations[1]?.signal.aborted).toBe(false)
    computations[0]?.reject(new Error('abandoned'))
    computations[1]?.resolve('found')
    await expect(gone).rejects.toThrow('abandoned')
    expect(await Promise.all([first, other])).toEqual(['found', 'found'])
  })
})

test('the cache evicts the oldest responses, so that it takes no more than its size, and caches them again', async () => {
  const cache = new ResponseCache(64 * 1024, async () => '1')
  const computed: number[] = []
  const load = (number: number) =>
    cache.load(
      { url: `/${number}${'u'.repeat(1000)}`, signal: new AbortController().signal },
      { context: { id: '' } },
      async () => {
        computed.push(number)
        return new Representation('text/plain', Buffer.from(kilobyte.repeat(2)), {})
      },
    )
  const numbers = Array.from({ length: 20 }, (_, index) => index)
  for (const number of numbers) await load(number)
  // Each has two kilobytes in three codings, one of objects and two of its URL.
  const stored = numbers.slice(-7)
  computed.length = 0
  for (const number of stored) await load(number)
  expect(computed).toEqual([])
  for (const number of [0, 0]) await load(number)
  expect(computed).toEqual([0])
})

type Counting = { service: Service; reads: () => number }

/** Starts a service. `reads()` is how many times its operations have read the database so far. */
async function counting(options: Parameters<typeof startService>[0] = {}): Promise<Counting> {
  let reads = 0
  const service = await startService({
    ...options,
    database: (database) => ({
      ...database,
      read(work, options) {
        reads++
        return database.read(work, options)
      },
      snapshot(work, options) {
        reads++
        return database.snapshot(work, options)
      },
    }),
  })
  return { service, reads: () => reads }
}

/** 1,000 characters, the longest that is cached. */
const longPath = `/apps?search=${'%F0%9F%98%80'.repeat(82)}abc`

describe('a request after the same GET', () => {
  let counted: Counting
  share(async () => {
    counted = await counting()
  })

  test.for<{ name: string; path?: string; line?: string; header?: string; cached: boolean }>([
    { name: 'the same GET', cached: true },
    { name: 'of a list', path: '/apps?limit=1&page=2', cached: true },
    { name: 'of a search', path: '/apps?search=tide', cached: true },
    { name: 'of categories', path: '/categories', cached: true },
    { name: 'HEAD', line: 'HEAD /apps/1 HTTP/1.1', cached: true },
    { name: 'an ETag', header: 'If-None-Match: "x"', cached: true },
    { name: 'any ETag', header: 'If-None-Match: *', cached: true },
    { name: 'another coding', header: 'Accept-Encoding: br', cached: true },
    { name: 'any type', header: 'Accept: */*', cached: true },
    { name: 'an unknown expectation', header: 'Expect: wonders', cached: true },
    { name: 'HTTP/1.0', line: 'GET /apps/1 HTTP/1.0', cached: true },
    { name: 'an absolute URL', line: 'GET http://x/apps/1 HTTP/1.1', cached: false },
    { name: 'a URL of 1,000 characters', path: longPath, cached: true },
    { name: 'a longer URL', path: `${longPath}d`, cached: false },
    { name: 'a key', header: 'Authorization: Bearer KEY', cached: false },
    { name: 'an error', path: '/apps/999', cached: false },
    { name: 'a refused query', path: '/apps?limit=0', cached: false },
    { name: 'a type that is not JSON', header: 'Accept: text/html', cached: false },
    { name: 'an ETag that is too long', header: `If-None-Match: "${kilobyte}"`, cached: false },
  ])('with $name is cached: $cached', async ({ path = '/apps/1', line, header, cached }) => {
    const { service, reads } = counted
    await service.get(path)
    const before = reads()
    const lines = service.log.length
    const head = [line ?? `GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', header]
    const bytes = `${head.filter((one) => one !== undefined).join('\r\n')}\r\n\r\n`
    await sendBytes(service, bytes.replace('KEY', service.world.keys.bob))
    await expect.poll(() => service.log.length).toBe(lines + 1)
    expect(JSON.parse(service.log.at(-1) ?? '').cached).toBe(cached ? true : undefined)
    if (cached) expect(reads()).toBe(before)
  })
})

describe('a response from the cache is the response that the database gives', () => {
  type Row = { name: string; request: (world: World) => Call }
  const scenarios = [tables.listApps, tables.getApp, tables.listCategories].flatMap((table) =>
    namesOf(table).map(
      (name): Row => ({ name, request: (world) => scenarioOf(table, name, world).request }),
    ),
  )
  const others = ['/apps', '/apps?search=tide', '/apps/1', '/apps/999'].flatMap((path) =>
    [
      { 'If-None-Match': '"'.padEnd(1000, 'x') },
      { 'If-None-Match': '"'.padEnd(1001, 'x') },
      { 'If-None-Match': '*' },
      { Accept: 'application/json;q=0, */*' },
    ].map((headers): Row => {
      const [name = '', value = ''] = Object.entries(headers).flat()
      return {
        name: `${path} with ${name} of ${value.length} characters`,
        request: () => ['GET', path, { headers }],
      }
    }),
  )

  let uncached: Service
  let cached: Service
  share(async () => {
    const limits = { readLimit: 1000 }
    uncached = await startService({ limits, cacheSize: 0 })
    cached = await startService({ limits, databaseUrl: uncached.databaseUrl })
  })

  test.for([...scenarios, ...others])('$name', async ({ request }) => {
    const [method, path, options] = request(cached.world)
    const expected = comparable(await uncached.request(method, path, options))
    await cached.get(path)
    for (let time = 0; time < 2; time++)
      expect(comparable(await cached.request(method, path, options))).toEqual(expected)
  })

  /** A response without the headers that differ between two responses to the same request. */
  function comparable({ status, headers, text }: CheckedResponse) {
    const { date, ratelimit, 'x-request-id': id, ...others } = headers
    return { status, headers: others, text }
  }
})

test.for<{ options: Parameters<typeof startService>[0]; reads: number }>([
  { options: { prefix: '/store.v1' }, reads: 1 },
  { options: { cacheSize: 0 }, reads: 4 },
])('of a service with $options, four requests read the database $reads times', async (row) => {
  const { service, reads } = await counting(row.options)
  for (let time = 0; time < 4; time++) await service.get('/apps?limit=1')
  expect(reads()).toBe(row.reads)
})
