import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import express from 'express'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Decision } from '../../src/catalogue/policy.ts'
import { findReviews } from '../../src/catalogue/reviews.ts'
import { readConfig } from '../../src/config.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { createApi } from '../../src/http/api.ts'
import { answerOperations, ResponseCache } from '../../src/http/cache.ts'
import { createHandlers } from '../../src/http/handlers.ts'
import { createLogger, trackRequests } from '../../src/http/log.ts'
import { describeOperations, findOperation } from '../../src/http/operations.ts'
import { createRateLimits } from '../../src/http/rate-limits.ts'
import { readDocument } from '../../src/http/reference-routes.ts'
import { listen } from '../../src/http/server.ts'
import { decideEach, restoreApp } from '../../src/moderation/decisions.ts'
import { namesOf, scenarioOf, tables } from '../contract/scenarios.ts'
import { type Call, newApp } from '../contract/valid-requests.ts'
import { connected } from '../faults/sockets.ts'
import { importLines, setCounters } from '../support/catalogue-file.ts'
import { type CheckedResponse, expectStatuses, type RequestOptions } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { share } from '../support/lifetime.ts'
import { commandLine } from '../support/process.ts'
import { checkedResponse, sendBytes } from '../support/raw-http.ts'
import { concurrency, saturate } from '../support/saturate.ts'
import { type Service, startService } from '../support/service.ts'
import type { World } from '../support/world.ts'

/**
 * The response cache: which responses it stores, that they equal uncached ones, and that none is
 * older than the last write. cache-freshness.test.ts tests the last with random sequences.
 */

/** Changes the version of app 1, which is listed. */
const setVersion = (database: Database, version: string) =>
  database.write(async ({ sql, markPublicChange }) => {
    markPublicChange()
    await sql('apps').where({ id: 1 }).update({ version })
  })

/** Starts a service. `reads()` is how many times its operations have read the database so far. */
async function counting(options: Parameters<typeof startService>[0] = {}) {
  let reads = 0
  const counted =
    (way: 'read' | 'snapshot', database: Database): Database['read'] =>
    (work) => {
      reads++
      return database[way](work)
    }
  const service = await startService({
    ...options,
    database: (database) => ({
      ...database,
      read: counted('read', database),
      snapshot: counted('snapshot', database),
    }),
  })
  return { service, reads: () => reads }
}

/** Sends equal requests one after the other. */
async function askTimes(
  service: Service,
  times: number,
  method: string,
  path: string,
  options?: RequestOptions,
) {
  const answers = []
  for (let time = 0; time < times; time++)
    answers.push(await service.request(method, path, options))
  return answers
}

/**
 * Returns when each request that has arrived has its own read or shares one: the cache reads the
 * version for this later request after theirs. It counts against the limit of another address.
 */
const untilShared = (service: Service) =>
  service.get('/apps?slug=none', { headers: { 'X-Forwarded-For': '192.0.2.1' } })

/** A response without the headers that differ between two responses to the same request. */
const comparable = ({ status, headers, text }: Awaited<ReturnType<Service['request']>>) => {
  const { date, 'x-request-id': id, ...others } = headers
  expect(id).toMatch(/^[\w.-]+$/)
  return { status, headers: others, text }
}

describe.for<[prefix: string]>([[''], ['/store.v1']])('under the prefix "%s"', ([prefix]) => {
  test.for<[method: string, path: string]>([
    ['GET', '/apps'],
    ['HEAD', '/apps'],
    ['GET', '/apps?limit=1&page=2'],
    ['GET', '/apps?search=tide'],
    ['HEAD', '/apps?limit=1&search=tide'],
    ['GET', '/apps?category=nowhere'],
    ['GET', '/apps/1'],
    ['HEAD', '/apps/1'],
  ])(
    '%s %s, five times: five equal responses, one of them read from the database',
    async ([method, path]) => {
      const { service, reads } = await counting({ prefix })
      const answers = await askTimes(service, 5, method, path)
      expect(reads()).toBe(1)
      expect(answers.map(comparable)).toEqual(
        answers.map(() => comparable(answers[0] ?? expect.fail())),
      )
      expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(5)
      expect(service.log.filter((line) => line.includes(`"msg":"${method} 200"`))).toHaveLength(5)
    },
  )
})

test('a cached GET also answers HEAD and conditional requests', async () => {
  const withoutCache = await startService({ cacheSize: 0 })
  const { service, reads } = await counting()
  const [first] = await askTimes(service, 2, 'GET', '/apps/1')
  const etag = String(first?.headers.etag)
  const head = await service.request('HEAD', '/apps/1')
  expect([head.status, head.text, head.headers['content-length']]).toEqual([
    200,
    '',
    first?.headers['content-length'],
  ])
  const uncached = withoutCache.request('GET', '/apps/1', { headers: { 'If-None-Match': '*' } })
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const answer = await service.request('GET', '/apps/1', { headers: { 'If-None-Match': tag } })
    expect(comparable(answer), tag).toEqual(comparable(await uncached))
  }
  const other = await service.request('GET', '/apps/1', { headers: { 'If-None-Match': '"other"' } })
  expect([other.status, other.text]).toEqual([200, first?.text])
  expect(reads()).toBe(1)
})

describe('a response from the cache is the response that the database gives', () => {
  type Row = [name: string, request: (world: World) => Call]
  const scenarios = [tables.listApps, tables.getApp].flatMap((table) =>
    namesOf(table).map((name): Row => [name, (world) => scenarioOf(table, name, world).request]),
  )
  const read = (name: string, headers: Record<string, string>): Row[] =>
    ['/apps', '/apps?search=tide', '/apps/1', '/apps/999'].map((path) => [
      `${name}: ${path}`,
      () => ['GET', path, { headers }],
    ])
  const withHeaders: Row[] = [
    ...read('an If-None-Match of 1,000 characters', { 'If-None-Match': '"'.padEnd(1000, 'x') }),
    ...read('an If-None-Match of 1,001 characters', { 'If-None-Match': '"'.padEnd(1001, 'x') }),
    ...read('any If-None-Match', { 'If-None-Match': '*' }),
    ...read('JSON that is not accepted', { Accept: 'application/json;q=0, */*' }),
    ...read('a type that includes JSON', { Accept: 'text/html, application/*;q=0.1' }),
  ]

  let uncached: Service
  let cached: Service
  share(async () => {
    const limits = { readLimit: 1000 }
    uncached = await startService({ limits, cacheSize: 0 })
    cached = await startService({ limits, databaseUrl: uncached.databaseUrl })
  })

  test.for([...scenarios, ...withHeaders])('%s', async ([, request]) => {
    const [method, path, options] = request(cached.world)
    const expected = withoutQuota(await uncached.request(method, path, options))
    await cached.get(path)
    for (let time = 0; time < 2; time++)
      expect(withoutQuota(await cached.request(method, path, options))).toEqual(expected)
  })

  const withoutQuota = (answer: CheckedResponse) => {
    const { ratelimit: _, ...headers } = comparable(answer).headers
    return { ...comparable(answer), headers }
  }
})

/** The raw bytes, which supertest's client would decode. */
async function raw(
  service: Service,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  httpRequest({ port: service.port, path, method, headers }, resolve).on('error', reject).end()
  const response = await promise
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

describe('compression', () => {
  const plain = { headers: { 'Accept-Encoding': 'identity' } }

  async function longApp() {
    const { service, reads } = await counting()
    const { keys, apps } = service.world
    const json = { description: 'High and low water. '.repeat(200) }
    await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    const path = `/apps/${apps.approved}`
    const [identity] = await askTimes(service, 3, 'GET', path, plain)
    return { service, reads, path, identity: identity ?? expect.fail() }
  }

  test.for<[accepts: string, coding: 'br' | 'gzip' | undefined]>([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip;q=0.9, br;q=0.1', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    ['gzip;q=0.5, identity', undefined],
    ['deflate', undefined],
    ['br;q=0, *;q=0', undefined],
    ['', undefined],
  ])('Accept-Encoding: %j gets %s', async ([accepts, coding]) => {
    const { service, path, identity } = await longApp()
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await raw(service, path, { 'Accept-Encoding': accepts }, method)
      const etag = String(identity.headers.etag)
      expect(answer.headers['content-encoding']).toBe(coding)
      expect(answer.headers.etag).toBe(coding ? etag.replace(/"$/, `-${coding}"`) : etag)
      expect(answer.headers.vary).toBe('Authorization, Accept-Encoding')
      if (method === 'HEAD') continue
      expect(Number(answer.headers['content-length'])).toBe(answer.body.length)
      const decode = { br: brotliDecompressSync, gzip: gunzipSync, none: (bytes: Buffer) => bytes }[
        coding ?? 'none'
      ]
      expect(decode(answer.body).toString()).toBe(identity.text)
      if (coding) expect(answer.body.length).toBeLessThan(identity.text.length / 2)
    }
  })

  test.for(['br', 'gzip', undefined])(
    'the ETag of a %s response is a 304, whatever encoding is accepted now',
    async (had) => {
      const { service, path } = await longApp()
      const { keys } = service.world
      const { headers } = await raw(service, path, { 'Accept-Encoding': had ?? 'identity' })
      const etag = String(headers.etag)
      const ask = async (accepts: string, more: Record<string, string> = {}) => {
        const answer = await raw(service, path, {
          'Accept-Encoding': accepts,
          'If-None-Match': etag,
          ...more,
        })
        return [
          answer.status,
          answer.headers.etag,
          answer.headers['content-encoding'],
          answer.body.length,
        ]
      }
      for (const accepts of ['br', 'gzip', 'identity'])
        expect(await ask(accepts), accepts).toEqual([304, etag, had, 0])
      // Read again, because other data has changed.
      await service.decide('approve', service.world.apps.bobsPending)
      expect(await ask('gzip')).toEqual([304, etag, had, 0])
      // Not cached.
      expect(await ask('gzip', { Authorization: `Bearer ${keys.bob}` })).toEqual([
        304,
        etag,
        had,
        0,
      ])
      await service.request('PUT', path, { key: keys.ada, json: { version: '2' } })
      expect((await ask('gzip'))[0]).toBe(200)
    },
  )

  test('an update accepts the ETag of a compressed response until the app has changed', async () => {
    const { service, path } = await longApp()
    const key = service.world.keys.ada
    for (const coding of ['gzip', 'br']) {
      const { headers } = await raw(service, path, { 'Accept-Encoding': coding })
      const update = () =>
        service.request('PUT', path, {
          key,
          json: { version: coding },
          headers: { 'If-Match': String(headers.etag) },
        })
      expect((await update()).status).toBe(200)
      expect((await update()).status).toBe(412)
    }
  })

  test.for<
    [
      what: string,
      ask: (path: string, key: string) => [path: string, headers: Record<string, string>],
    ]
  >([
    ['with a key', (path, key) => [path, { Authorization: `Bearer ${key}` }]],
    ['of an error', () => [`/apps/999?${'x'.repeat(900)}`, {}]],
  ])('a response %s is not compressed', async ([, ask]) => {
    const { service, path } = await longApp()
    const [target, headers] = ask(path, service.world.keys.bob)
    for (let time = 0; time < 3; time++) {
      const answer = await raw(service, target, { ...headers, 'Accept-Encoding': 'br, gzip' })
      expect(answer.headers['content-encoding']).toBeUndefined()
    }
  })

  test.for<[bytes: number, coding: 'br' | undefined]>([
    [1023, undefined],
    [1024, undefined],
    [1025, 'br'],
  ])('a response of %d bytes gets the encoding %s', async ([bytes, coding]) => {
    const { service } = await counting()
    const { keys, apps } = service.world
    const path = `/apps/${apps.approved}`
    const describeIn = (description: string) =>
      service.request('PUT', path, { key: keys.ada, json: { description } })
    await describeIn('x')
    const { body } = await raw(service, path, {})
    await describeIn('x'.repeat(bytes - body.length + 1))
    expect((await raw(service, path, {})).body).toHaveLength(bytes)
    const answer = await raw(service, path, { 'Accept-Encoding': 'br' })
    expect(answer.headers['content-encoding']).toBe(coding)
  })
})

test('a cached response has the id of its request, which is logged', async () => {
  const { service } = await counting()
  const answers = await askTimes(service, 3, 'GET', '/apps', {
    headers: { 'X-Request-Id': 'mine' },
  })
  expect(answers.map(({ headers }) => headers['x-request-id'])).toEqual(['mine', 'mine', 'mine'])
  const logged = service.log.map((line) => JSON.parse(line)).filter(({ req }) => req?.id === 'mine')
  expect(logged).toHaveLength(3)
  expect(logged.map(({ cached }) => cached)).toEqual([undefined, true, true])
  const shape = ({ time, responseTime, cached, ...entry }: Record<string, unknown>) => [
    entry,
    typeof time,
    typeof responseTime,
  ]
  expect(shape(logged[2])).toEqual(shape(logged[0]))
})

test('a request with a key is never cached', async () => {
  const { service, reads } = await counting()
  await askTimes(service, 3, 'GET', '/apps/1')
  const before = reads()
  await askTimes(service, 3, 'GET', '/apps/1', { key: service.world.keys.bob })
  expect(reads()).toBeGreaterThanOrEqual(before + 3)
})

/** 1,000 characters, the longest that is cached. */
const longTarget = `/apps?search=${'%F0%9F%98%80'.repeat(82)}abc`

test.for<[what: string, head: string, status: number, isCached?: boolean]>([
  ['as usual', 'GET /apps/1 HTTP/1.1\r\nHost: x', 200, true],
  ['any type', 'GET /apps/1 HTTP/1.1\r\nHost: x\r\nAccept: */*', 200, true],
  ['JSON', 'GET /apps/1 HTTP/1.1\r\nHost: x\r\nAccept: application/json', 200, true],
  ['a long address', `GET ${longTarget} HTTP/1.1\r\nHost: x`, 200, true],
  ['a longer address', `GET ${longTarget}d HTTP/1.1\r\nHost: x`, 200],
  ['another method', 'DELETE /apps/1 HTTP/1.1\r\nHost: x', 401],
  ['HTTP/1.0', 'GET /apps/1 HTTP/1.0\r\nHost: x', 200, true],
  ['an expectation', 'GET /apps/1 HTTP/1.1\r\nHost: x\r\nExpect: wonders', 200, true],
  ['a body in chunks', 'GET /apps/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked', 200, true],
  ['two hosts', 'GET /apps/1 HTTP/1.1\r\nHost: x\r\nHost: y', 400],
  [
    'other types and JSON',
    'GET /apps/1 HTTP/1.1\r\nHost: x\r\nAccept: text/html, application/json',
    200,
    true,
  ],
  [
    'JSON that is not wanted',
    'GET /apps/1 HTTP/1.1\r\nHost: x\r\nAccept: application/json;q=0',
    406,
  ],
])('three requests with %s', async ([, head, status, isCached]) => {
  const service = await startService({ limits: { readLimit: 100 } })
  await askTimes(service, 3, 'GET', '/apps/1')
  const before = service.log.length
  for (let time = 0; time < 3; time++) {
    const body = head.includes('chunked') ? '0\r\n\r\n' : ''
    const answer = await sendBytes(service, `${head}\r\nConnection: close\r\n\r\n${body}`)
    const [line, ...headers] = (answer.split('\r\n\r\n', 1)[0] ?? '').split('\r\n')
    expect(line).toContain(` ${status} `)
    const names = headers.map((header) => header.replace(/:.*/, ''))
    expect(names).toEqual([...new Set(names)])
  }
  await expect.poll(() => service.log.length).toBe(before + 3)
  expect(JSON.parse(service.log.at(-1) ?? '').cached).toBe(isCached ? true : undefined)
})

test('a public read that is added to the document is cached, one that needs a key is not', async () => {
  const document = await readDocument()
  const read = (operationId: string, security: object[]) => ({
    get: { operationId, security, responses: { 200: {} } },
  })
  Object.assign(document.paths ?? expect.fail(), {
    '/shared': read('readShared', [{}]),
    '/own': read('readOwn', [{ apiKey: [] }]),
  })
  const handled: string[] = []
  const handler = (operationId: string) => async () => {
    handled.push(operationId)
    return { status: 200, headers: {}, body: { message: 'Found.', data: {} } }
  }
  const { database } = await startService()
  const added = { readShared: handler('readShared'), readOwn: handler('readOwn') }
  const config = readConfig({ PORT: '0' })
  const limits = createRateLimits(config)
  const api = await createApi(
    document,
    async () => ({ developerId: 1, keyId: 'x' }),
    { ...createHandlers(database, ''), ...added },
    limits,
  )
  const operations = describeOperations(api.getOperations(), '')
  const cache = new ResponseCache(2 ** 20, async () => '1')
  const logger = createLogger('silent', { write: () => {} })
  const app = express()
    .disable('etag')
    .use(trackRequests(logger, []))
    .use(findOperation(operations, limits))
    .use(answerOperations(api, cache))
  const { server, port } = await listen(app, config, logger)
  onTestFinished(() => void server.close())
  const headers = { Authorization: 'Bearer x', Connection: 'close' }
  for (const path of ['/shared', '/shared', '/own', '/own']) {
    const response = await fetch(
      `http://127.0.0.1:${port}${path}`,
      path === '/own' ? { headers } : {},
    )
    expect([response.status, response.headers.has('etag')]).toEqual([200, true])
    await response.text()
  }
  expect(handled).toEqual(['readShared', 'readOwn', 'readOwn'])
})

const listedLine = {
  name: 'Moon Map',
  description: 'Shows the moon.',
  category: 'tools',
  developer_name: 'Ada',
  status: 'approved',
}

const pendingLine = { ...listedLine, name: 'Late', status: 'pending' }

const refusedLine = {
  ...listedLine,
  id: 900,
  name: 'Other Clock',
  slug: 'other-clock',
  created_at: '2026-01-01T00:00:00.000Z',
  category: { slug: 'brand-new', name: 'Brand New' },
  package_name: 'org.example.tideclock',
}

const categoryLine = { category: { slug: 'newest', name: 'Newest' } }

const review = {
  reviewer_name: 'Eve',
  rating: 5,
  comment: 'Fine.',
  created_at: '2026-01-02T00:00:00.000Z',
}

test('writes that change nothing public leave the cache as it is, and others empty it', async () => {
  const { service, reads } = await counting()
  const { apps, keys } = service.world
  const json = { name: 'New' }
  const counters = { slug: 'tide-clock', total_downloads: 1234 }
  const decide = async (decision: Decision, id: number) => {
    const decisions = [{ id, decision, reason: 'x' }]
    for await (const _ of decideEach(service.database, decisions, { operator: 'test' })) {
      // Its results are tested elsewhere.
    }
  }
  const revokeModerator = async () => {
    const { run, json } = commandLine(service.databaseUrl)
    const [{ id }] = await json('moderator', 'list')
    await run('moderator', 'revoke', id)
  }
  const importLine = async (
    line: object,
    outcome: 'created' | 'updated' | 'unchanged' | 'rejected',
  ) => expect(await importLines(service.database, [line])).toMatchObject({ [outcome]: 1 })
  const operate = async (...args: string[]) =>
    expect(await commandLine(service.databaseUrl).run(...args)).toMatchObject({ code: 0 })
  const idOf = async (slug: string): Promise<number> => {
    const app = await service.database.read(({ sql }) => sql('apps').where({ slug }).first('id'))
    return app?.id ?? expect.fail(slug)
  }
  const transfer = async (slug: string) =>
    operate('app', 'transfer', String(await idOf(slug)), '--to', 'Bobby')
  const removeReviewOf = async (slug: string) => {
    const [newest] = await service.database.read(async (runner) =>
      findReviews(runner, await idOf(slug), 1, 0),
    )
    await operate('review', 'remove', String(newest?.id), '--reason', 'spam')
  }
  const useKey = async (key: string) => {
    const id = key.slice(5, 17)
    await service.database.write(({ sql }) =>
      sql('api_keys').where({ id }).update({ last_used_at: null }),
    )
    await service.get('/apps', { key })
    const used = () => service.database.read(({ sql }) => sql('api_keys').where({ id }).first())
    await expect.poll(async () => (await used())?.last_used_at).not.toBeNull()
  }
  const writes: [what: string, isPublic: boolean, write: () => Promise<unknown>][] = [
    ['a create', false, () => service.request('POST', '/apps', { key: keys.ada, json: newApp })],
    [
      'an update of a pending app',
      false,
      () => service.request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json }),
    ],
    [
      'a deletion of a pending app',
      false,
      () => service.request('DELETE', `/apps/${apps.pending}`, { key: keys.ada }),
    ],
    [
      'a rejection',
      false,
      () =>
        commandLine(service.databaseUrl).run(
          'moderation',
          'reject',
          String(apps.bobsPending),
          '--reason',
          'x',
        ),
    ],
    [
      'a key',
      false,
      () => commandLine(service.databaseUrl).run('key', 'issue', '--developer', 'New'),
    ],
    [
      'a revoked key',
      false,
      () => commandLine(service.databaseUrl).run('key', 'revoke', keys.expired),
    ],
    ['a moderator', false, () => commandLine(service.databaseUrl).run('moderator', 'add', 'Bo')],
    ['a revoked moderator', false, () => revokeModerator()],
    ['the first use of a key', false, () => useKey(keys.ada)],
    [
      'a restoration of an app that is not listed',
      false,
      () =>
        service.database.write((runner) => restoreApp(runner, apps.pending, { operator: 'test' })),
    ],
    [
      'a restoration of a listed app',
      true,
      () =>
        service.database.write((runner) => restoreApp(runner, apps.deleted, { operator: 'test' })),
    ],
    [
      'an approval',
      true,
      () => commandLine(service.databaseUrl).run('moderation', 'approve', String(apps.bobsPending)),
    ],
    ['the same approval, which is refused', false, () => decide('approve', apps.bobsPending)],
    ['a rejection of a listed app', true, () => decide('reject', apps.bobsPending)],
    ['a rejected app that is reopened', false, () => decide('reopen', apps.bobsPending)],
    ['a listed app that is reopened', true, () => decide('reopen', apps.deleted)],
    ['an import of a new app', true, () => importLine(listedLine, 'created')],
    ['an import of the same app', false, () => importLine(listedLine, 'unchanged')],
    [
      'an import of a changed app',
      true,
      () => importLine({ ...listedLine, version: '2' }, 'updated'),
    ],
    ['counters', true, () => setCounters(service.database, [counters])],
    ['the same counters', false, () => setCounters(service.database, [counters])],
    ['a refused line', false, () => importLine({}, 'rejected')],
    [
      'a line that is refused for its package name, and adds its category',
      true,
      () => importLine(refusedLine, 'rejected'),
    ],
    ['the same line', false, () => importLine(refusedLine, 'rejected')],
    ['an import of a new pending app', false, () => importLine(pendingLine, 'created')],
    [
      'counters of a pending app',
      false,
      () => setCounters(service.database, [{ ...counters, slug: 'late' }]),
    ],
    [
      'an import of reviews',
      true,
      () => importLine({ ...listedLine, reviews: [review] }, 'updated'),
    ],
    [
      'an import of reviews of a pending app',
      false,
      () => importLine({ ...pendingLine, reviews: [review] }, 'updated'),
    ],
    ['a removed review', true, () => removeReviewOf('moon-map')],
    ['a removed review of a pending app', false, () => removeReviewOf('late')],
    ['a new category', true, () => operate('category', 'add', '--slug', 'new', '--name', 'New')],
    ['a renamed category', true, () => operate('category', 'rename', 'new', '--name', 'Newer')],
    ['a removed category', true, () => operate('category', 'remove', 'new')],
    ['a category line', true, () => importLine(categoryLine, 'created')],
    ['the same category line', false, () => importLine(categoryLine, 'unchanged')],
    ['a renamed developer', true, () => operate('developer', 'rename', 'Bob', '--to', 'Bobby')],
    ['a transfer of a pending app', false, () => transfer('late')],
    ['a transfer of a listed app', true, () => transfer('moon-map')],
    [
      'an update of a listed app',
      true,
      () => service.request('PUT', `/apps/${apps.bobs}`, { key: keys.bob, json }),
    ],
    [
      'a deletion of a listed app',
      true,
      () => service.request('DELETE', `/apps/${apps.bobs}`, { key: keys.bob }),
    ],
  ]
  for (const [what, isPublic, write] of writes) {
    await service.get('/apps')
    await write()
    const before = reads()
    await service.get('/apps')
    expect(reads() > before, what).toBe(isPublic)
  }
})

test('errors are not cached', async () => {
  const { service, reads } = await counting()
  const answers = await askTimes(service, 4, 'GET', '/apps/999')
  expectStatuses(answers, [404, 404, 404, 404])
  expect(reads()).toBe(4)
})

test('while the process drains, a cached response closes its connection', async () => {
  let draining = false
  const service = await startService({ isDraining: () => draining })
  await service.get('/apps')
  draining = true
  const answer = await checkedResponse(
    service,
    'GET',
    '/apps',
    'GET /apps HTTP/1.1\r\nHost: x\r\n\r\n',
  )
  expect([answer.status, answer.headers.connection]).toEqual([200, 'close'])
  await expect.poll(() => JSON.parse(service.log.at(-1) ?? '').cached).toBe(true)
})

test('a cache of size 0 caches nothing', async () => {
  const { service, reads } = await counting({ cacheSize: 0 })
  await askTimes(service, 4, 'GET', '/apps')
  expect(reads()).toBe(4)
})

describe('concurrent equal requests', () => {
  /** A service whose reads have their rows and wait until released. */
  async function held() {
    const waiting: (() => void)[] = []
    const service = await startService({
      database: (database) => ({
        ...database,
        read: async (work) => {
          const rows = await database.read(work)
          await new Promise<void>((resolve) => waiting.push(resolve))
          return rows
        },
      }),
    })
    /** Sends requests, and returns when all wait for their own or a shared read. */
    const ask = async (reads: number, count = 1) => {
      const arrived = service.arrived() + count
      const answers = Array.from({ length: count }, () => service.get('/apps/1'))
      await expect.poll(service.arrived).toBe(arrived)
      await untilShared(service)
      await expect.poll(() => waiting.length).toBe(reads)
      return answers
    }
    return { service, waiting, ask }
  }

  test('share one response', async () => {
    const { service, waiting, ask } = await held()
    const asked = await ask(1, 20)
    waiting[0]?.()
    const answers = await Promise.all(asked)
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(waiting).toHaveLength(1)
    const lines = service.log
      .map((line) => JSON.parse(line))
      .filter(({ operation }) => operation === 'getApp')
    expect(lines.filter(({ cached }) => cached === true)).toHaveLength(19)
  })

  test('share a read whose client has disconnected', async () => {
    const { service, waiting, ask } = await held()
    const socket = await connected(service.port)
    socket.write('GET /apps/1 HTTP/1.1\r\nHost: x\r\n\r\n')
    await expect.poll(() => waiting.length).toBe(1)
    const [answer] = await ask(1)
    socket.destroy()
    await expect.poll(() => service.log.join()).toMatch(/GET aborted/)
    waiting[0]?.()
    expect((await answer)?.status).toBe(200)
    expect(waiting).toHaveLength(1)
  })

  test('share a queued search until the last of their clients disconnects', async () => {
    const service = await startService()
    stopTimers()
    const search = (work: () => Promise<void>) =>
      service.database.snapshot(work, { isExpensive: true })
    const release = await saturate(search, concurrency.expensive)
    const waiting = () =>
      service.database.usage().pools.reduce((sum, pool) => sum + pool.waiting, 0)
    const send = async (path: string) => {
      const socket = await connected(service.port)
      const arrived = service.arrived() + 1
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await expect.poll(service.arrived).toBe(arrived)
      await untilShared(service)
      await expect.poll(waiting).toBe(1)
      return socket
    }
    // The end of the shared search may be noticed before that of the last connection.
    const countGone = () => service.log.join().match(/GET (aborted|503)/g)?.length ?? 0
    const first = await send('/apps?search=tide')
    const arrived = service.arrived() + 3
    const asked = [1, 2, 3].map(() => service.get('/apps?search=tide'))
    await expect.poll(service.arrived).toBe(arrived)
    await untilShared(service)
    first.destroy()
    await expect.poll(countGone).toBe(1)
    await service.get('/healthz')
    expect(waiting()).toBe(1)
    await release()
    for (const { body } of await Promise.all(asked)) expect(body.data.apps).toHaveLength(1)

    const releaseAgain = await saturate(search, concurrency.expensive)
    const sharing = [await send('/apps?search=bird'), await send('/apps?search=bird')]
    sharing[0]?.destroy()
    await expect.poll(countGone).toBe(2)
    expect(waiting()).toBe(1)
    sharing[1]?.destroy()
    await expect.poll(countGone).toBe(3)
    expect(waiting()).toBe(0)
    // Somebody who asks after them has their own.
    const last = service.get('/apps?search=bird')
    await expect.poll(waiting).toBe(1)
    await releaseAgain()
    expect((await last).body.data.apps).toHaveLength(1)
  })

  test('share the failure of a read, and count against the limit of each', async () => {
    const waiting: ((error: Error) => void)[] = []
    const service = await startService({
      limits: { readLimit: 100, trustProxy: 1 },
      database: (database) => ({
        ...database,
        read: () => new Promise((_resolve, reject) => waiting.push(reject)),
      }),
    })
    const asked = [1, 2, 3, 4, 5].map(() => service.get('/apps/1'))
    await expect.poll(service.arrived).toBe(5)
    await untilShared(service)
    await expect.poll(() => waiting.length).toBe(1)
    waiting[0]?.(new ServiceError('unavailable', 'The database is locked.'))
    const answers = await Promise.all(asked)
    expectStatuses(answers, [503, 503, 503, 503, 503])
    expect(waiting).toHaveLength(1)
    const left = answers.map(({ headers }) => /r=(\d+)/.exec(String(headers.ratelimit))?.[1])
    expect(left.toSorted()).toEqual(['95', '96', '97', '98', '99'])
    const lines = service.log
      .map((line) => JSON.parse(line))
      .filter(({ operation }) => operation === 'getApp')
    expect(lines).toHaveLength(5)

    // The failure is not kept.
    const again = service.get('/apps/1')
    await expect.poll(() => waiting.length).toBe(2)
    waiting[1]?.(new ServiceError('unavailable', 'The database is locked.'))
    expect((await again).status).toBe(503)
  })

  test('do not share the refusal of another one', async () => {
    const { service, waiting, ask } = await held()
    const asked = await ask(1)
    const arrived = service.arrived() + 3
    const others = ['text/html', '*/*', 'application/json'].map((Accept) =>
      service.get('/apps/1', { headers: { Accept } }),
    )
    await expect.poll(service.arrived).toBe(arrived)
    await untilShared(service)
    waiting[0]?.()
    expectStatuses(await Promise.all([...asked, ...others]), [200, 406, 200, 200])
    expect(waiting).toHaveLength(1)
  })

  test('do not share the refusal of an ETag that is too long', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const service = await startService({
      database: (database) => ({
        ...database,
        dataVersion: () => released.then(database.dataVersion),
      }),
    })
    // Those that arrive while the version is read for the first one share the next version.
    const asked = [service.get('/categories')]
    await expect.poll(service.arrived).toBe(1)
    for (const headers of [{ 'If-None-Match': `"${'x'.repeat(1000)}"` }, {}, {}]) {
      asked.push(service.get('/apps/1', { headers }))
      await expect.poll(service.arrived).toBe(asked.length)
    }
    release()
    expectStatuses(await Promise.all(asked), [200, 400, 200, 200])
  })

  test('do not share a read that began before a change', async () => {
    const { service, waiting, ask } = await held()
    const [before] = await ask(1)
    await setVersion(service.database, '2')
    const after = await ask(2)
    waiting[0]?.()
    await before
    // The end of the older read does not keep later requests from sharing the newer one.
    const sharing = await ask(2)
    waiting[1]?.()
    for (const { body } of await Promise.all([...after, ...sharing]))
      expect(body.data.app.version).toBe('2')
    expect(waiting).toHaveLength(2)
  })
})

test('a client that disconnects while the data version is read delays nobody else', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let isHeld = true
  const service = await startService({
    database: (database) => ({
      ...database,
      dataVersion: () => (isHeld ? released : Promise.resolve()).then(database.dataVersion),
    }),
  })
  const socket = await connected(service.port)
  socket.write('GET /apps HTTP/1.1\r\nHost: x\r\n\r\nGET /apps HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(service.arrived).toBe(2)
  socket.resetAndDestroy()
  await expect.poll(() => service.log.at(-1)).toMatch(/GET aborted/)
  isHeld = false
  release()
  expect((await service.get('/apps')).status).toBe(200)
})

test('a request does not use a data version that was read before it arrived', async () => {
  const waiting: (() => void)[] = []
  let isHeld = false
  const service = await startService({
    database: (database) => ({
      ...database,
      dataVersion: async () => {
        const version = await database.dataVersion()
        if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve))
        return version
      },
    }),
  })
  await service.get('/apps/1')
  isHeld = true
  const before = service.get('/apps/1')
  await expect.poll(() => waiting.length).toBe(1)
  isHeld = false
  await setVersion(service.database, '2')
  const after = service.get('/apps/1')
  await expect.poll(service.arrived).toBe(3)
  waiting[0]?.()
  expect((await after).body.data.app.version).toBe('2')
  await before
})

test('the bodies in the cache, in all codings, take no more than its size', async () => {
  const cacheSize = 128 * 1024
  const { service, reads } = await counting({ cacheSize })
  const names = Array.from({ length: 20 }, (_, index) => `Star ${index}`)
  // Text that hardly compresses.
  const description = () => randomBytes(6000).toString('hex')
  await importLines(
    service.database,
    names.map((name) => ({ ...listedLine, name, description: description() })),
  )
  const ids = await service.database.read(({ sql }) =>
    sql('apps').where('name', 'like', 'Star %').pluck('id'),
  )
  const sizes = new Map<number, number>()
  for (const id of ids) {
    for (const coding of ['identity', 'gzip', 'br']) {
      const { headers } = await raw(service, `/apps/${id}`, { 'Accept-Encoding': coding })
      sizes.set(id, (sizes.get(id) ?? 0) + Number(headers['content-length']))
    }
  }
  let cached = 0
  // The newest first, so that asking evicts none of those that are asked later.
  for (const id of ids.toReversed()) {
    const before = reads()
    await service.get(`/apps/${id}`)
    if (reads() === before) cached += sizes.get(id) ?? 0
  }
  expect(cached).toBeGreaterThan(cacheSize / 2)
  expect(cached).toBeLessThanOrEqual(cacheSize)
})

test('evicted and outdated responses are cached again when requested', async () => {
  const { service, reads } = await counting({ cacheSize: 32 * 1024 })
  for (const path of ['/apps/1', '/apps?search=tide']) {
    await askTimes(service, 3, 'GET', path)
    for (let page = 2; page < 60; page++)
      await askTimes(service, 2, 'GET', `/apps?limit=1&page=${page}`)
    const before = reads()
    await askTimes(service, 3, 'GET', path)
    expect(reads()).toBe(before + 1)
    await setVersion(service.database, path)
    await askTimes(service, 3, 'GET', path)
    expect(reads()).toBe(before + 2)
  }
})

test('reads from the database while the data version is unavailable, and from the cache before and afterwards', async () => {
  let isUnavailable = true
  let reads = 0
  const service = await startService({
    database: (database) => ({
      ...database,
      read: (work, options) => {
        reads++
        return database.read(work, options)
      },
      dataVersion: () =>
        isUnavailable ? Promise.reject(new Error('no version')) : database.dataVersion(),
    }),
  })
  const ask = async (times: number) => {
    const before = reads
    const answers = await askTimes(service, times, 'GET', '/apps/1')
    const versions = answers.map(({ body }) => body.data.app.version)
    return [[...new Set(versions)], reads - before]
  }
  const update = (version: string) => setVersion(service.database, version)
  expect(await ask(3)).toEqual([['1.0.0'], 3])
  isUnavailable = false
  expect(await ask(3)).toEqual([['1.0.0'], 1])
  isUnavailable = true
  await update('2')
  expect(await ask(3)).toEqual([['2'], 3])
  isUnavailable = false
  await update('3')
  expect(await ask(3)).toEqual([['3'], 1])
})

describe('a read that begins after a write was acknowledged sees it', () => {
  test('by this server', async () => {
    const { service } = await counting()
    const { keys, apps } = service.world
    for (let round = 0; round < 20; round++) {
      const name = `Tide Clock ${round}`
      await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name } })
      for (const path of [`/apps/${apps.approved}`, '/apps']) {
        expect((await service.get(path)).text, path).toContain(`"${name}"`)
      }
    }
  })

  test('by the command line', async () => {
    const { service } = await counting()
    const { apps } = service.world
    const cli = commandLine(service.databaseUrl)
    await askTimes(service, 3, 'GET', '/apps')
    for (const [decision, status] of [
      ['reject', 404],
      ['approve', 200],
      ['reject', 404],
    ] as const) {
      await askTimes(service, 2, 'GET', `/apps/${apps.bobs}`)
      const reason = decision === 'reject' ? ['--reason', 'Spam.'] : []
      expect((await cli.run('moderation', decision, String(apps.bobs), ...reason)).code).toBe(0)
      expect((await service.get(`/apps/${apps.bobs}`)).status).toBe(status)
      expect((await service.get('/apps')).text.includes('Bird Song')).toBe(status === 200)
    }
  })

  // Set FRESHNESS_READS=10000 for a longer test.
  const readCount = Number(process.env.FRESHNESS_READS ?? 2000)
  const writeCount = readCount / 20

  test(`by another process, ${readCount} reads beside ${writeCount} writes`, {
    timeout: 90_000 + 30 * readCount,
  }, async () => {
    const { service, reads } = await counting()
    const { apps } = service.world
    const writer = `${import.meta.dirname}/repeat-write.ts`
    const child = spawn(process.execPath, [
      writer,
      service.databaseUrl,
      String(apps.approved),
      String(writeCount),
    ])
    let acknowledged = 0
    createInterface({ input: child.stdout }).on('line', (line) => {
      acknowledged = Number(line)
    })
    const ended = once(child, 'exit')

    let requested = 0
    const stale: string[] = []
    const address = `http://127.0.0.1:${service.port}/apps/${apps.approved}`
    const reader = async () => {
      while (requested < readCount || acknowledged < writeCount) {
        requested++
        const before = acknowledged
        const downloads = Number(
          /"total_downloads":(\d+)/.exec(await (await fetch(address)).text())?.[1],
        )
        if (!(downloads >= before)) stale.push(`${downloads} after ${before}`)
      }
    }
    await Promise.all(Array.from({ length: 8 }, reader))
    expect(await ended).toEqual([0, null])
    expect(stale).toEqual([])
    expect(reads()).toBeLessThan(requested)
  })
})

test('a cached response does not wait for busy database connections', async () => {
  const { service } = await counting()
  await askTimes(service, 3, 'GET', '/apps')
  const { database, databaseUrl } = service
  // On SQLite each busy connection uses a thread of the process; on PostgreSQL it would only slow
  // this machine down.
  const slow =
    inject('engine') === 'postgres'
      ? 'select pg_sleep(2)'
      : 'with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 3e6) select count(*) from numbers'
  let isAnswered = false
  let ended = 0
  const untilAnswered = async (work: () => PromiseLike<unknown>) => {
    for (; !isAnswered; ended++) await work()
  }
  const busy = (width: number, isExpensive: boolean) =>
    Array.from({ length: width }, () =>
      database.read(({ sql }) => untilAnswered(() => sql.raw(slow)), { isExpensive }),
    )
  const readers = [...busy(concurrency.cheap, false), ...busy(concurrency.expensive, true)]
  await database.write(({ sql }) => sql('apps').first('id'))
  const other = openDatabase(databaseUrl)
  await other.write(async ({ sql, markPublicChange }) => {
    markPublicChange()
    await sql('apps').where({ id: 1 }).update({ version: '2' })
    const write = () => setVersion(database, '3')
    // Locks time out after five seconds, so keep well below.
    const expectUnavailable = (error: unknown) =>
      expect(error).toMatchObject({ code: 'unavailable' })
    readers.push(untilAnswered(() => write().catch(expectUnavailable)))
    const answers = await askTimes(service, 40, 'GET', '/apps').finally(() => {
      isAnswered = true
    })
    expectStatuses(
      answers,
      answers.map(() => 200),
    )
    // If responses waited for a connection, a slow statement would end before each.
    expect(ended).toBeLessThan(answers.length)
  })
  await Promise.all(readers)
  await other.close()
})
