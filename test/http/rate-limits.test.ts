import { describe, expect, inject, test } from 'vitest'
import { generateKey } from '../../src/accounts/keys.ts'
import type { Config } from '../../src/config.ts'
import { createRateLimits } from '../../src/http/rate-limits.ts'
import { type Call, newApp, validRequests } from '../contract/valid-requests.ts'
import { type CheckedResponse, expectStatuses } from '../support/check.ts'
import { freezeClock, freezeMonotonicClock } from '../support/clock.ts'
import { type Service, startService } from '../support/service.ts'

const rateLimitOf = ({ status, headers }: CheckedResponse) => [
  status,
  headers['ratelimit-policy'],
  headers.ratelimit,
]

async function sendInTurn(service: Service, ...calls: Call[]) {
  const answers = []
  for (const call of calls) answers.push(await service.request(...call))
  return answers
}

const times = (count: number, call: Call) => Array.from({ length: count }, () => call)
const create = (key: string): Call => ['POST', '/apps', { key, json: newApp }]
const unknownKey = (): Call => ['GET', '/apps', { key: generateKey().key }]
/** The request as a proxy forwards it from an address. */
const from = (address: string, [method, path, options = {}]: Call): Call => [
  method,
  path,
  { ...options, headers: { ...options.headers, 'X-Forwarded-For': address } },
]

describe('each operation can answer 429', () => {
  test.for(Object.entries(validRequests(inject('world'))))('%s', async ([, call]) => {
    freezeMonotonicClock()
    const name = call[0] === 'GET' ? 'reads' : 'writes'
    const service = await startService({
      limits: name === 'reads' ? { readLimit: 1 } : { writeLimit: 1 },
    })
    expect((await service.request(...call)).status).not.toBe(429)
    const reply = await service.request(...call)
    expect(rateLimitOf(reply)).toEqual([429, `"${name}";q=1;w=60`, `"${name}";r=0;t=60`])
    expect(reply.headers['retry-after']).toBe('60')
    expect(reply.body.data).toEqual({ code: 'rate_limited' })
    expect(reply.body.message).toMatch(new RegExp(`^Too many ${name} .*; try again in 60 s\\.$`))
    expect(JSON.parse(service.log.at(-1) ?? '').level).toBe(30)
  })
})

describe('writes', () => {
  test('report the remaining quota in every response, until the minute is over', async () => {
    const wait = freezeMonotonicClock()
    const service = await startService({ limits: { writeLimit: 4 } })
    const { keys, apps } = service.world
    const policy = '"writes";q=4;w=60'
    const ask = async (...call: Call) => rateLimitOf(await service.request(...call))
    expect(await ask(...create(keys.ada))).toEqual([201, policy, '"writes";r=3;t=60'])
    wait(20_500)
    expect(await ask('POST', '/apps', { key: keys.ada, json: {} })).toEqual([
      400,
      policy,
      '"writes";r=2;t=40',
    ])
    expect(await ask('DELETE', `/apps/${apps.bobs}`, { key: keys.ada })).toEqual([
      403,
      policy,
      '"writes";r=1;t=40',
    ])
    expect(await ask('PUT', '/apps/999', { key: keys.ada, json: { name: 'A' } })).toEqual([
      404,
      policy,
      '"writes";r=0;t=40',
    ])
    expect(await ask(...create(keys.ada))).toEqual([429, policy, '"writes";r=0;t=40'])
    wait(39_499)
    expect(await ask(...create(keys.ada))).toEqual([429, policy, '"writes";r=0;t=1'])
    wait(1)
    expect(await ask(...create(keys.ada))).toEqual([201, policy, '"writes";r=3;t=60'])
  })

  test('are refused before their body is read, and have no effect', async () => {
    const service = await startService({ limits: { writeLimit: 1 } })
    const { keys, apps } = service.world
    const remove: Call = ['DELETE', `/apps/${apps.approved}`, { key: keys.ada }]
    const broken: Call = [
      'POST',
      '/apps',
      { key: keys.ada, headers: { 'Content-Type': 'text/plain' }, body: '{' },
    ]
    expectStatuses(await sendInTurn(service, create(keys.ada), remove, broken), [201, 429, 429])
    expect((await service.get(`/apps/${apps.approved}`)).status).toBe(200)
  })

  test('count per developer, over all keys, and do not affect reads', async () => {
    const service = await startService({ limits: { writeLimit: 2 } })
    const { ada, bob } = service.world.keys
    expectStatuses(await sendInTurn(service, ...times(3, create(ada))), [201, 201, 429])
    expectStatuses(
      await sendInTurn(service, create(bob), ['GET', '/apps', { key: ada }]),
      [201, 200],
    )
    // Another key of Ada's.
    await service.database.write(({ sql }) =>
      sql('api_keys').update({ revoked_at: null, expires_at: '2100-01-01' }),
    )
    expectStatuses(await sendInTurn(service, create(service.world.keys.revoked)), [429])
  })

  test('without a valid key do not count', async () => {
    const service = await startService({ limits: { writeLimit: 1 } })
    const { ada, revoked } = service.world.keys
    const anonymous: Call = ['POST', '/apps', { json: newApp }]
    expectStatuses(
      await sendInTurn(service, ...times(3, anonymous), ...times(3, create(revoked)), create(ada)),
      [401, 401, 401, 401, 401, 401, 201],
    )
  })

  test('are unlimited if the limit is 0, and then have no limit headers', async () => {
    const service = await startService({ limits: { writeLimit: 0, refusedKeyLimit: 0 } })
    const reply = await service.request(...create(service.world.keys.ada))
    expect(rateLimitOf(reply)).toEqual([201, undefined, undefined])
    expect(rateLimitOf(await service.request(...unknownKey()))).toEqual([401, undefined, undefined])
  })

  test('are counted by a monotonic clock', async () => {
    const service = await startService({ limits: { writeLimit: 1 } })
    const { ada } = service.world.keys
    expectStatuses(await sendInTurn(service, create(ada)), [201])
    for (const time of ['2000-01-01', '2100-01-01']) {
      freezeClock(Date.parse(time))
      // In 2100 the key has expired.
      const expected = time === '2000-01-01' ? 429 : 401
      expect((await service.request(...create(ada))).status, time).toBe(expected)
    }
  })

  test('have a default limit that no publisher reaches', async () => {
    const service = await startService()
    const { ada } = service.world.keys
    // One after the other, because the queue of writes has its own limit.
    expectStatuses(await sendInTurn(service, ...times(100, create(ada))), Array(100).fill(201))
    const { headers } = await service.request(...create(ada))
    expect(headers['ratelimit-policy']).toBe('"writes";q=6000;w=60')
  })
})

describe('refused keys', () => {
  test('report the remaining quota, and get a 429 over the limit', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 2 } })
    const ask = async () => rateLimitOf(await service.request(...unknownKey()))
    const policy = '"refused-keys";q=2;w=60'
    expect(await ask()).toEqual([401, policy, expect.stringMatching(/^"refused-keys";r=1;t=\d+$/)])
    expect(await ask()).toEqual([401, policy, expect.stringMatching(/^"refused-keys";r=0;t=\d+$/)])
    const reply = await service.request(...unknownKey())
    expect(rateLimitOf(reply)).toEqual([
      429,
      policy,
      expect.stringMatching(/^"refused-keys";r=0;t=\d+$/),
    ])
    expect(reply.body.message).toMatch(
      /^Too many keys from this address were refused; try again in \d+ s\.$/,
    )
    expectStatuses(
      await sendInTurn(service, create(generateKey().key), create('nonsense')),
      [429, 429],
    )
  })

  test('affect neither requests without a key nor valid keys, also such as were never used', async () => {
    const wait = freezeMonotonicClock()
    const service = await startService({ limits: { refusedKeyLimit: 2 } })
    const { ada, bob, expired } = service.world.keys
    const anonymous: Call = ['GET', '/apps']
    expectStatuses(
      await sendInTurn(service, create(ada), ...times(3, unknownKey())),
      [201, 401, 401, 429],
    )
    expectStatuses(
      await sendInTurn(service, create(bob), create(ada), anonymous, create(expired)),
      [201, 201, 200, 429],
    )
    expectStatuses(await sendInTurn(service, ['POST', '/apps', { json: newApp }]), [401])
    wait(60_000)
    expectStatuses(await sendInTurn(service, ...times(3, unknownKey())), [401, 401, 429])
  })

  test('count for every reason, but not if the header has no key', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 4 } })
    const { expired, revoked } = service.world.keys
    const scheme = (value: string): Call => ['GET', '/apps', { headers: { Authorization: value } }]
    const others = [scheme('Basic YTpi'), scheme('Digest a'), ['DELETE', '/apps/1'] satisfies Call]
    expectStatuses(await sendInTurn(service, ...others, ...others), [401, 401, 401, 401, 401, 401])
    const refused: Call[] = [
      create(expired),
      create(revoked),
      create('apps_nope'),
      scheme('Bearer'),
    ]
    expectStatuses(await sendInTurn(service, ...refused, unknownKey()), [401, 401, 401, 401, 429])
  })

  test('a revoked key is refused at once, although it was just accepted', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 2 } })
    const { ada, revoked } = service.world.keys
    expectStatuses(await sendInTurn(service, create(ada), create(revoked)), [201, 401])
    await service.database.write(({ sql }) =>
      sql('api_keys').update({ revoked_at: new Date().toISOString() }),
    )
    expectStatuses(await sendInTurn(service, create(ada), create(ada)), [401, 429])
  })

  test('do not count while the database is unavailable', async () => {
    const service = await startService({ limits: { refusedKeyLimit: 1 } })
    await service.database.close()
    expectStatuses(await sendInTurn(service, ...times(3, unknownKey())), [503, 503, 503])
  })
})

describe('reads', () => {
  test('are counted if they are limited, cached ones too, and report the quota', async () => {
    const wait = freezeMonotonicClock()
    const service = await startService({ limits: { readLimit: 6 } })
    const answers = []
    for (const method of ['GET', 'GET', 'GET', 'HEAD', 'GET'])
      answers.push(await service.request(method, '/apps/1'))
    const etag = String(answers[0]?.headers.etag)
    answers.push(
      await service.get('/apps/1', { headers: { 'If-None-Match': etag } }),
      await service.get('/apps/1'),
    )
    expect(answers.map(rateLimitOf)).toEqual(
      [200, 200, 200, 200, 200, 304, 429].map((status, index) => [
        status,
        '"reads";q=6;w=60',
        `"reads";r=${Math.max(0, 5 - index)};t=60`,
      ]),
    )
    wait(60_000)
    expect(rateLimitOf(await service.get('/apps/1'))).toEqual([
      200,
      '"reads";q=6;w=60',
      '"reads";r=5;t=60',
    ])
  })

  test('count before refused keys, and a response can report both', async () => {
    const service = await startService({ limits: { readLimit: 3, refusedKeyLimit: 2 } })
    const key = generateKey().key
    const answers = []
    for (let time = 0; time < 4; time++) answers.push(await service.get('/apps', { key }))
    const seconds = /;t=\d+/g
    const limits = answers.map((reply) => [
      reply.status,
      String(reply.headers.ratelimit).replaceAll(seconds, ''),
    ])
    expect(limits).toEqual([
      [401, '"reads";r=2, "refused-keys";r=1'],
      [401, '"reads";r=1, "refused-keys";r=0'],
      [429, '"reads";r=0, "refused-keys";r=0'],
      [429, '"reads";r=0'],
    ])
    expect(answers[0]?.headers['ratelimit-policy']).toBe(
      '"reads";q=3;w=60, "refused-keys";q=2;w=60',
    )
  })

  test('do not affect writes, health checks and the document', async () => {
    const service = await startService({ limits: { readLimit: 1 } })
    const { ada } = service.world.keys
    const others = [
      create(ada),
      ...['/healthz', '/readyz', '/openapi.json'].map((path): Call => ['GET', path]),
    ]
    expectStatuses(await sendInTurn(service, ...others), [201, 200, 200, 200])
    expectStatuses(await sendInTurn(service, ...times(2, ['GET', '/apps'])), [200, 429])
    expectStatuses(await sendInTurn(service, ...others), [201, 200, 200, 200])
  })

  test('count even if they accept no JSON', async () => {
    const service = await startService({ limits: { readLimit: 2 } })
    const html: Call = ['GET', '/apps', { headers: { Accept: 'text/html' } }]
    expectStatuses(
      await sendInTurn(service, html, html, html, ['GET', '/apps']),
      [406, 406, 429, 429],
    )
  })
})

describe('by address', () => {
  const limits = (trustProxy: Config['trustProxy']) => ({ readLimit: 1, trustProxy })
  const read: Call = ['GET', '/apps']

  test.for<
    [what: string, trust: Config['trustProxy'], first: string, second: string, status: number]
  >([
    ['ignores the header if no proxy is trusted', 0, '192.0.2.1', '192.0.2.2', 429],
    ['distinguishes clients of a trusted proxy', 1, '192.0.2.1', '192.0.2.2', 200],
    [
      'ignores addresses that the client added before the proxy’s',
      1,
      '9.9.9.9, 192.0.2.1',
      '192.0.2.1',
      429,
    ],
    ['two proxies', 2, '192.0.2.1, 10.0.0.1', '192.0.2.2, 10.0.0.1', 200],
    [
      'two proxies, and a forged address',
      2,
      '9.9.9.9, 192.0.2.1, 10.0.0.1',
      '192.0.2.1, 10.0.0.2',
      429,
    ],
    ['a trusted network with the peer in it', ['loopback'], '192.0.2.1', '192.0.2.2', 200],
    ['a trusted network without the peer', ['10.0.0.0/8'], '192.0.2.1', '192.0.2.2', 429],
    [
      'networks of several proxies',
      ['127.0.0.0/8', '10.0.0.0/8'],
      '192.0.2.1, 10.1.1.1',
      '192.0.2.2, 10.2.2.2',
      200,
    ],
    ['one IPv6 network of 56 bits', 1, '2001:db8:0:ab01::1', '2001:db8:0:abff:1:2:3:4', 429],
    ['two of them', 1, '2001:db8:0:ab01::1', '2001:db8:0:ac01::1', 200],
    ['IPv4 that is mapped into IPv6', 1, '::ffff:192.0.2.1', '192.0.2.1', 429],
    ['IPv4 with a port', 1, '192.0.2.1:4711', '192.0.2.1:4712', 429],
    ['IPv6 with a port', 1, '[2001:db8:0:ab01::1]:4711', '2001:db8:0:ab02::1', 429],
    [
      'two networks whose bytes have the same digits',
      1,
      '2001:db8:117:ab01::1',
      '2001:db8:c03:ab01::1',
      200,
    ],
    ['not an address', 1, 'unknown', 'unknown', 429],
    ['not a port', 1, '192.0.2.1:80x', '192.0.2.1', 200],
    ['a long text instead of an address', 1, 'x'.repeat(100), 'x'.repeat(200), 429],
  ])('%s', async ([, trust, first, second, status]) => {
    const service = await startService({ limits: limits(trust) })
    expectStatuses(await sendInTurn(service, from(first, read), from(second, read)), [200, status])
  })

  test.for<[what: string, trustProxy: Config['trustProxy'], warnings: number]>([
    ['is logged as a warning once if no proxy is trusted', 0, 1],
    ['is not logged if one is', 1, 0],
  ])('X-Forwarded-For %s', async ([, trustProxy, warnings]) => {
    const service = await startService({ limits: { trustProxy } })
    const warned = () =>
      service.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
    await sendInTurn(service, read)
    expect(warned()).toEqual([])
    await sendInTurn(
      service,
      from('192.0.2.1', read),
      from('192.0.2.2', create(service.world.keys.ada)),
    )
    expect(warned().map(({ msg }) => msg)).toEqual(
      Array(warnings).fill(
        expect.stringMatching(/^X-Forwarded-For is ignored because TRUST_PROXY is not set/),
      ),
    )
  })

  test('many addresses evict the least recent, so that memory is bounded', () => {
    const { reads } = createRateLimits({
      writeLimit: 0,
      refusedKeyLimit: 0,
      readLimit: 1,
    })
    const isExceeded = (address: string) => {
      const response = {
        req: { ip: address },
        appendHeader: () => response,
      }
      try {
        reads?.enforce(response as never)
        return false
      } catch {
        return true
      }
    }
    for (const address of ['192.0.2.1', '192.0.2.2'])
      expect([isExceeded(address), isExceeded(address)]).toEqual([false, true])
    for (let n = 0; n < 100_000; n++) {
      isExceeded(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`)
      if (n === 50_000) expect(isExceeded('192.0.2.1')).toBe(true)
    }
    expect([isExceeded('192.0.2.1'), isExceeded('192.0.2.2')]).toEqual([true, false])
  })
})
