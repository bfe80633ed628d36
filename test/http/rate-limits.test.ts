import { describe, expect, inject, test } from 'vitest'
import { generateKey } from '../../src/accounts/keys.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import { createRateLimits } from '../../src/http/rate-limits.ts'
import { type Call, newApp, validRequests } from '../contract/valid-requests.ts'
import { type CheckedResponse, expectStatuses } from '../support/check.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { type Service, startService } from '../support/service.ts'

type Client = { developerId: number } | { ip: string }

/** Counts a request of a client. Returns whether it was refused, and its headers. */
function enforce(limit: ReturnType<typeof createRateLimits>['reads'], client: Client) {
  const headers: Record<string, string> = {}
  const response = {
    req: client,
    context: { caller: client },
    appendHeader(name: string, value: string) {
      headers[name] = value
      return response
    },
  }
  let refusal: unknown
  try {
    // Limits use only these properties of a response.
    limit?.enforce(response as never)
  } catch (error) {
    refusal = error
  }
  if (refusal !== undefined && !(refusal instanceof ServiceError)) throw refusal
  return { refusal, rateLimit: headers.RateLimit, policy: headers['RateLimit-Policy'] }
}

const noLimits = { writeLimit: 0, refusedKeyLimit: 0, readLimit: 0 }

test('a window begins with the first request and lasts a minute, by a monotonic clock', () => {
  const wait = freezeMonotonicClock()
  const { writes } = createRateLimits({ ...noLimits, writeLimit: 2 })
  const count = () => {
    const { refusal, rateLimit, policy } = enforce(writes, { developerId: 1 })
    return [refusal?.code, refusal?.details.retryAfter, rateLimit, policy]
  }
  const policy = '"writes";q=2;w=60'
  expect(count()).toEqual([undefined, undefined, '"writes";r=1;t=60', policy])
  wait(20_500)
  expect(count()).toEqual([undefined, undefined, '"writes";r=0;t=40', policy])
  expect(count()).toEqual(['rate_limited', 40, '"writes";r=0;t=40', policy])
  wait(39_499)
  expect(count()).toEqual(['rate_limited', 1, '"writes";r=0;t=1', policy])
  wait(1)
  expect(count()).toEqual([undefined, undefined, '"writes";r=1;t=60', policy])
  expect(writes?.refused).toBe(2)
})

test('by default, no publisher reaches the limit of writes', () => {
  expect(createRateLimits(readConfig({})).writes).toBeDefined()
  expect(readConfig({}).writeLimit).toBe(6000)
  expect(createRateLimits(noLimits)).toEqual({
    writes: undefined,
    'refused-keys': undefined,
    reads: undefined,
  })
})

test('of more than 100,000 clients, the least recent is forgotten, so that memory is bounded', () => {
  const { writes } = createRateLimits({ ...noLimits, writeLimit: 1 })
  const isRefused = (developerId: number) => enforce(writes, { developerId }).refusal !== undefined
  for (const client of [1, 2]) expect([isRefused(client), isRefused(client)]).toEqual([false, true])
  for (let other = 0; other < 100_000; other++) {
    isRefused(10 + other)
    if (other === 50_000) expect(isRefused(1)).toBe(true)
  }
  expect([isRefused(1), isRefused(2)]).toEqual([true, false])
})

test.for<{ name: string; addresses: [string, string]; isOne: boolean }>([
  { name: 'an IPv4 address', addresses: ['192.0.2.1', '192.0.2.1'], isOne: true },
  { name: 'two IPv4 addresses', addresses: ['192.0.2.1', '192.0.2.2'], isOne: false },
  {
    name: 'an IPv6 network of 56 bits',
    addresses: ['2001:db8:0:ab01::1', '2001:db8:0:abff:1:2:3:4'],
    isOne: true,
  },
  { name: 'two of them', addresses: ['2001:db8:0:ab01::1', '2001:db8:0:ac01::1'], isOne: false },
  {
    name: 'two whose bytes have the same digits',
    addresses: ['2001:db8:117:ab01::1', '2001:db8:c03:ab01::1'],
    isOne: false,
  },
  {
    name: 'IPv4 that is mapped into IPv6',
    addresses: ['::ffff:192.0.2.1', '192.0.2.1'],
    isOne: true,
  },
  { name: 'IPv4 with a port', addresses: ['192.0.2.1:4711', '192.0.2.1:4712'], isOne: true },
  {
    name: 'IPv6 with a port',
    addresses: ['[2001:db8:0:ab01::1]:4711', '2001:db8:0:ab02::1'],
    isOne: true,
  },
  { name: 'no port', addresses: ['192.0.2.1:80x', '192.0.2.1'], isOne: false },
  { name: 'no address', addresses: ['unknown', 'unknown'], isOne: true },
  {
    name: 'long texts instead of addresses',
    addresses: ['x'.repeat(100), 'x'.repeat(200)],
    isOne: true,
  },
])('$name counts as one client: $isOne', ({ addresses: [first, second], isOne }) => {
  const { reads } = createRateLimits({ ...noLimits, readLimit: 1 })
  enforce(reads, { ip: first })
  expect(enforce(reads, { ip: second }).refusal !== undefined).toBe(isOne)
})

test.for<{ name: string; trustProxy: Config['trustProxy']; forwarded: string[]; isOne: boolean }>([
  { name: 'no proxy', trustProxy: 0, forwarded: ['192.0.2.1', '192.0.2.2'], isOne: true },
  { name: 'one proxy', trustProxy: 1, forwarded: ['192.0.2.1', '192.0.2.2'], isOne: false },
  {
    name: 'one proxy, and the client adds an address',
    trustProxy: 1,
    forwarded: ['9.9.9.9, 192.0.2.1', '192.0.2.1'],
    isOne: true,
  },
  {
    name: 'two proxies, and the client adds an address',
    trustProxy: 2,
    forwarded: ['9.9.9.9, 192.0.2.1, 10.0.0.1', '192.0.2.1, 10.0.0.2'],
    isOne: true,
  },
  {
    name: 'the network of the peer',
    trustProxy: ['loopback'],
    forwarded: ['192.0.2.1', '192.0.2.2'],
    isOne: false,
  },
  {
    name: 'another network',
    trustProxy: ['10.0.0.0/8'],
    forwarded: ['192.0.2.1', '192.0.2.2'],
    isOne: true,
  },
])('if $name is trusted, two X-Forwarded-For are one client: $isOne', async (row) => {
  const service = await startService({ limits: { readLimit: 1, trustProxy: row.trustProxy } })
  const statuses = []
  for (const address of row.forwarded)
    statuses.push((await service.get('/apps', { headers: { 'X-Forwarded-For': address } })).status)
  expect(statuses).toEqual([200, row.isOne ? 429 : 200])
})

const createBy = (key: string): Call => ['POST', '/apps', { key, json: newApp }]

/** Sends requests one after the other, each with the status that it must have. */
async function expectInTurn(service: Service, requests: [status: number, call: Call][]) {
  const answers: CheckedResponse[] = []
  for (const [, call] of requests) answers.push(await service.request(...call))
  expectStatuses(
    answers,
    requests.map(([status]) => status),
  )
  return answers.map(({ headers }) => String(headers.ratelimit).replaceAll(/;t=\d+/g, ''))
}

test.for(Object.entries(validRequests(inject('world'))))('%s can answer 429', async ([, call]) => {
  freezeMonotonicClock()
  const name = call[0] === 'GET' ? 'reads' : 'writes'
  const limits = name === 'reads' ? { readLimit: 1 } : { writeLimit: 1 }
  const service = await startService({ limits })
  expect((await service.request(...call)).status).not.toBe(429)
  const { status, headers, body } = await service.request(...call)
  expect([status, headers.ratelimit, headers['retry-after']]).toEqual([
    429,
    `"${name}";r=0;t=60`,
    '60',
  ])
  expect(body.data).toEqual({ code: 'rate_limited' })
  expect(JSON.parse(service.log.at(-1) ?? '').level).toBe(30)
})

describe('writes', () => {
  test('count whatever their status, and report the quota', async () => {
    const service = await startService({ limits: { writeLimit: 4 } })
    const { keys, apps } = service.world
    const key = keys.ada
    const left = await expectInTurn(service, [
      [201, createBy(key)],
      [400, ['POST', '/apps', { key, json: {} }]],
      [403, ['DELETE', `/apps/${apps.bobs}`, { key }]],
      [404, ['PUT', '/apps/999', { key, json: { name: 'A' } }]],
      [429, createBy(key)],
    ])
    expect(left).toEqual([3, 2, 1, 0, 0].map((count) => `"writes";r=${count}`))
  })

  test('are refused before their body is read, and have no effect', async () => {
    const service = await startService({ limits: { writeLimit: 1 } })
    const { keys, apps } = service.world
    const key = keys.ada
    const path = `/apps/${apps.approved}`
    await expectInTurn(service, [
      [201, createBy(key)],
      [429, ['DELETE', path, { key }]],
      [429, ['POST', '/apps', { key, headers: { 'Content-Type': 'text/plain' }, body: '{' }]],
      [200, ['GET', path]],
    ])
  })

  test('count for the developer of all keys, and not without a valid one', async () => {
    const service = await startService({ limits: { writeLimit: 1 } })
    const { ada, bob, revoked } = service.world.keys
    await expectInTurn(service, [
      [401, ['POST', '/apps', { json: newApp }]],
      [401, createBy(revoked)],
      [201, createBy(ada)],
      [429, createBy(ada)],
      [201, createBy(bob)],
      [200, ['GET', '/apps', { key: ada }]],
    ])
    await service.database.write(({ sql }) =>
      sql('api_keys').update({ revoked_at: null, expires_at: '2100-01-01' }),
    )
    await expectInTurn(service, [[429, createBy(revoked)]])
  })

  test('have no limit headers if there is no limit', async () => {
    const service = await startService({ limits: noLimits })
    const calls = [createBy(service.world.keys.ada), createBy(generateKey().key)]
    for (const call of calls)
      expect((await service.request(...call)).headers).not.toHaveProperty('ratelimit')
  })
})

describe('refused keys', () => {
  test('count for every reason, but not if there is no key', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 4 } })
    const { expired, revoked } = service.world.keys
    const authorized = (value: string): Call => [
      'GET',
      '/apps',
      { headers: { Authorization: value } },
    ]
    const left = await expectInTurn(service, [
      [401, authorized('Basic YTpi')],
      [401, ['DELETE', '/apps/1']],
      [401, createBy(expired)],
      [401, createBy(revoked)],
      [401, createBy('nonsense')],
      [401, authorized('Bearer')],
      [429, ['GET', '/apps', { key: generateKey().key }]],
      [429, createBy(expired)],
    ])
    const none = 'undefined'
    const counted = [3, 2, 1, 0, 0, 0].map((count) => `"refused-keys";r=${count}`)
    expect(left).toEqual([none, none, ...counted])
  })

  test('affect neither requests without a key nor valid keys, also such as were never used', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 1 } })
    const { ada, bob, expired } = service.world.keys
    await expectInTurn(service, [
      [201, createBy(ada)],
      [401, createBy(expired)],
      [429, createBy(expired)],
      [201, createBy(bob)],
      [201, createBy(ada)],
      [200, ['GET', '/apps']],
      [401, ['POST', '/apps', { json: newApp }]],
    ])
  })

  test('do not count while the database is unavailable', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 1 } })
    await service.database.close()
    const call: Call = ['GET', '/apps', { key: generateKey().key }]
    await expectInTurn(service, [
      [503, call],
      [503, call],
    ])
  })
})

describe('reads', () => {
  test('count, cached, unchanged and refused ones too', async () => {
    const service = await startService({ limits: { readLimit: 5 } })
    const path = '/apps/1'
    const left = await expectInTurn(service, [
      [200, ['GET', path]],
      [200, ['GET', path]],
      [200, ['HEAD', path]],
      [304, ['GET', path, { headers: { 'If-None-Match': '*' } }]],
      [406, ['GET', path, { headers: { Accept: 'text/html' } }]],
      [429, ['GET', path]],
    ])
    expect(left).toEqual([4, 3, 2, 1, 0, 0].map((count) => `"reads";r=${count}`))
  })

  test('count before refused keys, and a response can report both', async () => {
    const service = await startService({ limits: { readLimit: 3, refusedKeyLimit: 2 } })
    const call: Call = ['GET', '/apps', { key: generateKey().key }]
    const left = await expectInTurn(service, [
      [401, call],
      [401, call],
      [429, call],
      [429, call],
    ])
    expect(left).toEqual([
      '"reads";r=2, "refused-keys";r=1',
      '"reads";r=1, "refused-keys";r=0',
      '"reads";r=0, "refused-keys";r=0',
      '"reads";r=0',
    ])
  })

  test('do not affect writes, health checks and the document', async () => {
    const service = await startService({ limits: { readLimit: 1 } })
    const others: [number, Call][] = [
      [201, createBy(service.world.keys.ada)],
      [200, ['GET', '/healthz']],
      [200, ['GET', '/readyz']],
      [200, ['GET', '/openapi.json']],
    ]
    await expectInTurn(service, [
      ...others,
      [200, ['GET', '/apps']],
      [429, ['GET', '/apps']],
      ...others,
    ])
  })
})
