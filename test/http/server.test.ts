import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import express from 'express'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { generateKey, parseKeyId } from '../../src/accounts/keys.ts'
import { readConfig } from '../../src/config.ts'
import { ServiceError } from '../../src/contract/errors.ts'
import type { Database } from '../../src/db/database.ts'
import { clientBuffers } from '../../src/http/connections.ts'
import { createLogger, redact } from '../../src/http/log.ts'
import { defaultTimeouts, listen } from '../../src/http/server.ts'
import { validRequests } from '../contract/valid-requests.ts'
import { checkedResponse, sendBytes } from '../support/raw-http.ts'
import { failing, type Service, startService } from '../support/service.ts'

/** The head of a create by Ada, without the headers about the body. */
const createHead = ({ world }: Service, ...headers: string[]) =>
  [
    'POST /apps HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${world.keys.ada}`,
    'Content-Type: application/json',
    ...headers,
    '',
  ].join('\r\n')

const getHead = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')

describe.for(Object.entries(validRequests(inject('world'))))(
  '%s',
  ([, [method, path, options]]) => {
    test('answers headers over 16 KiB with 431', async () => {
      const service = await startService()
      const bytes = `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`
      const reply = await checkedResponse(service, method, path, bytes)
      expect([reply.status, reply.body.data.code]).toEqual([431, 'headers_too_large'])
    })

    test('answers bad HTTP with 400', async () => {
      const service = await startService()
      const reply = await checkedResponse(
        service,
        method,
        path,
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n`,
      )
      expect([reply.status, reply.body.data.code]).toEqual([400, 'invalid_request'])
    })

    test('answers a request without Host with 400', async () => {
      const service = await startService()
      const reply = await checkedResponse(
        service,
        method,
        path,
        `${method} ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`,
      )
      expect([reply.status, reply.body.data.errors[0].field]).toEqual([400, 'Host'])
    })

    test('answers headers that do not arrive in time with 408', async () => {
      const service = await startService({ timeouts: { headers: 100, request: 100 } })
      const reply = await checkedResponse(
        service,
        method,
        path,
        `${method} ${path} HTTP/1.1\r\nHost: x\r\n`,
      )
      expect([reply.status, reply.body.data.code]).toEqual([408, 'request_timeout'])
    })

    test('answers another transfer coding than chunked with 501', async () => {
      const service = await startService()
      const bytes = `${method} ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`
      const reply = await checkedResponse(service, method, path, bytes)
      expect([reply.status, reply.body.data.code, reply.headers.connection]).toEqual([
        501,
        'not_implemented',
        'close',
      ])
    })

    test('answers HTTP/2.0 on the request line with 505', async () => {
      const service = await startService()
      const reply = await checkedResponse(
        service,
        method,
        path,
        `${method} ${path} HTTP/2.0\r\nHost: x\r\n\r\n`,
      )
      expect([reply.status, reply.body.data.code]).toEqual([505, 'http_version_not_supported'])
    })

    const others: [what: string, method: string, header: string, status: number][] = [
      ['OPTIONS', 'OPTIONS', 'Accept: */*', 204],
      ['HEAD', 'HEAD', 'Accept: */*', 200],
      ['an unchanged resource', 'GET', 'If-None-Match: *', 304],
    ]
    // Node's client would hide an unexpected body.
    test.for(method === 'GET' ? others : others.slice(0, 1))(
      'answers %s without a body',
      async (other) => {
        const [, method, header, status] = other
        const service = await startService()
        const authorization = options?.key ? `Authorization: Bearer ${options.key}\r\n` : ''
        const bytes = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n${authorization}Connection: close\r\n\r\n`
        const reply = await checkedResponse(service, method, path, bytes)
        expect([reply.status, reply.text]).toEqual([status, ''])
      },
    )

    test('answers an internal error with a 500 without details, and logs them', async () => {
      const service = await startService({ database: failing(new Error('secret detail')) })
      const reply = await service.request(method, path, options)
      expect([reply.status, reply.body.data.code]).toEqual([500, 'internal_error'])
      expect(reply.text).not.toMatch(/secret/)
      expect(service.log.join('')).toMatch(/secret detail/)
      // Pino's level for errors. Errors of callers are not logged as errors.
      expect(JSON.parse(service.log.at(-1) ?? '').level).toBe(50)
      await service.get('/nowhere')
      expect(JSON.parse(service.log.at(-1) ?? '').level).toBe(30)
    })

    test('answers 503 while the database is unavailable', async () => {
      const service = await startService({
        database: failing(new ServiceError('unavailable', 'Try again.')),
      })
      const reply = await service.request(method, path, options)
      expect([reply.status, reply.body.data.code, reply.headers['retry-after']]).toEqual([
        503,
        'unavailable',
        '5',
      ])
    })
  },
)

test('answers a body that does not arrive in time with 408', async () => {
  const service = await startService({ timeouts: { headers: 100, request: 200 } })
  const reply = await checkedResponse(
    service,
    'POST',
    '/apps',
    `${createHead(service, 'Content-Length: 100')}\r\n{`,
  )
  expect(reply.status).toBe(408)
})

test('by default, a request that stops arriving is answered before its connection is cut', () => {
  const second = 1000
  expect(defaultTimeouts.idle).toBeGreaterThan(defaultTimeouts.request + second)
})

test('stops reading a body that is far too large', async () => {
  const service = await startService()
  const head = createHead(service)
  const announced = await checkedResponse(
    service,
    'POST',
    '/apps',
    `${head}Content-Length: 10000000000\r\n\r\n`,
  )
  expect([announced.status, announced.headers.connection]).toEqual([413, 'close'])
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  const growing = await checkedResponse(
    service,
    'POST',
    '/apps',
    `${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(80)}`,
  )
  expect(growing.status).toBe(413)
})

test('gives a request 30 s to arrive by default, and its headers 10 s', async () => {
  const logger = createLogger('info', { write: () => {} })
  const { server } = await listen(express(), readConfig({ PORT: '0' }), logger)
  onTestFinished(() => void server.close())
  expect([server.requestTimeout, server.headersTimeout]).toEqual([30_000, 10_000])
})

const limit = 256 * 1024

test.for<[what: string, bytes: number, status: number]>([
  ['a body of 256 KiB is read', limit, 400],
  ['a body of one byte more is refused', limit + 1, 413],
  ['a body of 300 KB is refused', 300_000, 413],
  ['a body of 4 MiB is refused', 16 * limit, 413],
])('%s, and its connection stays open', async ([, bytes, status]) => {
  const service = await startService()
  const body = `"${'x'.repeat(bytes - 2)}"`
  const half = body.length >> 1
  const chunks = [body.slice(0, half), body.slice(half)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  )
  const next = 'GET /apps?limit=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  for (const sent of [
    `Content-Length: ${bytes}\r\n\r\n${body}`,
    `Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`,
  ]) {
    const answers = await sendBytes(service, createHead(service) + sent + next)
    expect(answers.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual([String(status), '200'])
  }
})

test('refuses a body of more than 4 MiB without reading it', async () => {
  const service = await startService()
  const head = createHead(service, `Content-Length: ${16 * limit + 1}`)
  const reply = await checkedResponse(service, 'POST', '/apps', `${head}\r\n`)
  expect([reply.status, reply.headers.connection]).toEqual([413, 'close'])
})

test.for<[name: string, body: string]>([
  ['an unterminated string full of quotes', `"${'\\"'.repeat(120_000)}`],
  [
    'a long name above many invalid texts',
    `{"${'n'.repeat(120_000)}":[${Array(13_000).fill('"\\ud800"')}]}`,
  ],
])('handles %s quickly', { timeout: 10_000 }, async ([, body]) => {
  const service = await startService()
  const headers = { 'Content-Type': 'application/json' }
  expect(
    (await service.request('POST', '/apps', { key: service.world.keys.ada, headers, body })).status,
  ).toBe(400)
})

test('sends 100 Continue before it reads a body', async () => {
  const service = await startService()
  const head = createHead(service, 'Content-Length: 2', 'Expect: 100-Continue', 'Connection: close')
  expect(await sendBytes(service, `${head}\r\n{}`)).toMatch(
    /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 400 /,
  )
})

test.for(['http://apps.test/apps?limit=1', 'HTTPS://apps.test:443/apps?limit=1'])(
  'accepts an absolute URL as a target: %s',
  async (target) => {
    const service = await startService()
    const bytes = `GET ${target} HTTP/1.1\r\nHost: apps.test\r\nConnection: close\r\n\r\n`
    const reply = await checkedResponse(service, 'GET', '/apps?limit=1', bytes)
    expect(reply.body.data.pagination.per_page).toBe(1)
  },
)

test.for<[bytes: string, status: number]>([
  ['GET /apps HTTP/3.0\r\nHost: x\r\n\r\n', 505],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
  ['POST /apps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n', 501],
  [
    'GET /apps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\nConnection: close\r\n\r\n0\r\n\r\n',
    200,
  ],
])('%j gets one response, %i', async ([bytes, status]) => {
  const service = await startService()
  const answers = await sendBytes(service, bytes)
  expect(answers.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual([String(status)])
})

test.for<[host: string, status: number]>([
  ['', 200],
  ['apps.test', 200],
  ['apps.test:8080', 200],
  ['[::1]:80', 200],
  ['a_b.test:', 200],
  ['a@b/c?d', 400],
  ['a/b', 400],
  ['a b', 400],
  ['[::1', 400],
  ['a:b', 400],
])('Host: %j is answered with %i, cached or not', async ([host, status]) => {
  const service = await startService()
  for (let time = 0; time < 3; time++) await service.get('/apps')
  for (const path of ['/apps', '/apps?limit=7']) {
    const bytes = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
    const reply = await checkedResponse(service, 'GET', path, bytes)
    expect(reply.status).toBe(status)
    if (status === 400) expect(reply.body.data.errors[0].field).toBe('Host')
  }
})

const upgrade = ['Connection: Upgrade', 'Upgrade: websocket']

test.for<[what: string, bytes: (service: Service) => string, statuses: string[]]>([
  ['a read', () => getHead('/apps', ...upgrade), ['404', '200']],
  ['a refused read', () => getHead('/apps?limit=0', ...upgrade), ['404', '400']],
  [
    'a create',
    (service) => `${createHead(service, ...upgrade, 'Content-Length: 2')}\r\n{}`,
    ['404', '400'],
  ],
])(
  'answers %s that asks for an upgrade without one, then closes the connection',
  async ([, bytes, statuses]) => {
    const service = await startService()
    const answers = await sendBytes(
      service,
      getHead('/apps/999') + bytes(service) + getHead('/apps'),
    )
    expect(answers.match(/(?<=HTTP\/1\.1 )\d+/g), answers).toEqual(statuses)
    expect(answers).toMatch(/^Connection: close/m)
  },
)

// An error event without a listener would end this process.
test.for<[what: string, pipelined: string]>([
  ['an upgrade', getHead('/', ...upgrade)],
  ['two upgrades', getHead('/', ...upgrade).repeat(2)],
  [
    'an upgrade with half a body',
    `${getHead('/', ...upgrade, 'Content-Length: 2').replace('GET', 'POST')}{`,
  ],
  ['CONNECT', getHead('x:1').replace('GET', 'CONNECT')],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['bad HTTP', 'bad\r\n\r\n'],
  ['half a request', 'GET / HTTP/1.1\r\n'],
])(
  'a client that pipelines %s and resets the connection ends nothing else',
  async ([, pipelined]) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let begun = 0
    const database = (database: Database): Database => ({
      ...database,
      read: async (work, options) => {
        begun++
        await released
        return database.read(work, options)
      },
    })
    const service = await startService({ cacheSize: 0, database })
    const socket = connect(service.port, '127.0.0.1')
    socket.on('error', () => {
      // The reset.
    })
    socket.write(getHead('/apps') + pipelined)
    await expect.poll(() => begun).toBe(1)
    socket.resetAndDestroy()
    await expect.poll(() => service.connections()).toBe(0)
    release()
    expect((await service.get('/apps')).status).toBe(200)
  },
)

test.for<[trustProxy: number | string[], seconds: number]>([
  [0, 5],
  [1, 130],
  [['10.0.0.0/8'], 130],
])('with TRUST_PROXY=%s, an idle connection is kept for %i s', async ([trustProxy, seconds]) => {
  const service = await startService({ limits: { trustProxy } })
  const { headers } = await fetch(`http://127.0.0.1:${service.port}/apps`)
  expect(headers.get('keep-alive')).toBe(`timeout=${seconds}`)
})

test('answers a client that has ended its side of the connection', async () => {
  const service = await startService({ cacheSize: 0 })
  // Opens the connection to the database, since a slow response would end this connection.
  await service.get('/apps')
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end('GET /apps HTTP/1.1\r\nHost: x\r\n\r\nGET /apps/999 HTTP/1.1\r\nHost: x\r\n\r\n')
  expect((await text(socket)).match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['200', '404'])
})

test('bodies that arrive slowly share a budget; the oldest makes room with a 503', async () => {
  const service = await startService()
  const slow = async (...headers: string[]) => {
    const socket = connect(service.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(`${createHead(service, ...headers, 'Expect: 100-continue')}\r\n`)
    // The service is reading the body.
    await once(socket, 'data')
    return socket
  }
  const oldest = await slow(`Content-Length: ${limit}`)
  const next = await slow('Transfer-Encoding: chunked')
  const refused = text(oldest)
  // Room for 192 bodies.
  for (let number = 2; number < 192; number++) await slow(`Content-Length: ${limit}`)
  const last = await slow(`Content-Length: ${limit}`)
  oldest.on('error', () => {
    // The service has closed the connection.
  })
  oldest.write('x'.repeat(limit))
  for (const line of [/^HTTP\/1\.1 503 /, /\r\nRetry-After: 5\r\n/, /\r\nConnection: close\r\n/])
    expect(await refused).toMatch(line)
  // The others go on.
  for (const socket of [next, last]) expect(socket.readable).toBe(true)
  next.write('2\r\n{}\r\n0\r\n\r\n')
  expect(String((await once(next, 'data'))[0])).toMatch(/^HTTP\/1\.1 400 /)
  expect(service.log.map((line) => JSON.parse(line).level)).toEqual([30, 30])
})

test.for<[when: string, body: string, ...headers: string[]]>([
  ['it was answered', '{}', 'Content-Length: 2'],
  ['its client has left', '', `Content-Length: ${limit}`, 'Expect: 100-continue'],
  ['it was refused before it arrived', '{', `Content-Length: ${limit}`, 'Accept: text/plain'],
  ['one in chunks was refused', '', 'Transfer-Encoding: chunked', 'Accept: text/plain'],
])('the memory of a body is free again after %s, each time', async ([, body, ...headers]) => {
  const service = await startService()
  const before = clientBuffers.calculatedSize
  for (let time = 0; time < 2; time++) {
    const socket = connect(service.port, '127.0.0.1')
    socket.write(`${createHead(service, ...headers)}\r\n${body}`)
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(() => clientBuffers.calculatedSize).toBe(before)
  }
})

test('refuses two Host headers', async () => {
  const service = await startService()
  const reply = await checkedResponse(
    service,
    'GET',
    '/apps',
    'GET /apps HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
  )
  expect(reply.status).toBe(400)
})

test('refuses two keys, whichever of them is valid', async () => {
  const service = await startService()
  const { ada, revoked } = service.world.keys
  for (const keys of [
    [ada, revoked],
    [revoked, ada],
    [ada, ada],
  ]) {
    const lines = keys.map((key) => `Authorization: Bearer ${key}\r\n`).join('')
    const bytes = `GET /apps HTTP/1.1\r\nHost: x\r\n${lines}Connection: close\r\n\r\n`
    const reply = await checkedResponse(service, 'GET', '/apps', bytes)
    expect([reply.status, reply.body.data.errors]).toEqual([
      400,
      [{ in: 'header', field: 'Authorization', message: 'must be given once' }],
    ])
  }
})

test('logs requests that the parser refuses, and aborted ones', async () => {
  const service = await startService()
  const refused = await checkedResponse(
    service,
    'GET',
    '/apps',
    'GET /apps HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n',
  )
  expect(refused.body.data.errors).toEqual([
    { in: 'header', field: '', message: 'is not valid HTTP' },
  ])
  expect(refused.headers).toMatchObject({
    connection: 'close',
    'x-content-type-options': 'nosniff',
  })
  // Pages of other origins can read it.
  const other = (await service.get('/healthz')).headers
  for (const name of ['access-control-allow-origin', 'access-control-expose-headers'])
    expect(refused.headers[name], name).toBe(other[name])
  expect(JSON.parse(service.log[0] ?? '')).toEqual(
    expect.objectContaining({
      level: 30,
      req: { id: refused.headers['x-request-id'] },
      res: { statusCode: 400 },
      code: 'HPE_INVALID_HEADER_TOKEN',
      msg: 'refused by the parser 400',
    }),
  )
  const socket = connect(service.port, '127.0.0.1')
  socket.write(`${createHead(service, 'Content-Length: 9', 'Expect: 100-continue')}\r\n`)
  // The service is handling the request once it asks for the body.
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 100 Continue/)
  socket.destroy()
  await expect.poll(() => service.log.at(-1)).toMatch(/POST aborted/)
})

test('accepts a key although its use cannot be recorded', async () => {
  const never = (database: Database): Database => ({
    ...database,
    write: () => new Promise(() => {}),
  })
  const service = await startService({ database: never })
  expect((await service.get('/apps', { key: service.world.keys.ada })).status).toBe(200)
})

test('checks the whole key, not only its id', async () => {
  const service = await startService()
  const { ada } = service.world.keys
  await service.database.write(({ sql }) =>
    sql('api_keys')
      .where({ id: parseKeyId(ada) ?? '' })
      .update({ sha256: generateKey().sha256 }),
  )
  expect((await service.get('/apps', { key: ada })).status).toBe(401)
})

test.for<[authorization: string, status: number, isRefusedKey?: boolean]>([
  ['Bearer KEY', 200],
  ['bearer   KEY', 200],
  ['Bearer KEY more', 401, true],
  ['Bearer', 401, true],
  ['My Bearer KEY', 401],
  ['Bearers KEY', 401],
  ['Basic KEY', 401],
])('Authorization: %s', async ([authorization, status, isRefusedKey = false]) => {
  const service = await startService()
  const { apps, keys } = service.world
  const headers = { Authorization: authorization.replace('KEY', keys.ada) }
  const answer = await service.get(`/apps/${apps.pending}`, { headers })
  expect(answer.status).toBe(status)
  // RFC 6750, section 3.1: without a key, the challenge has no error code.
  expect(String(answer.headers['www-authenticate']).includes('error="invalid_token"')).toBe(
    isRefusedKey,
  )
})

test('ignores If-None-Match in writes', async () => {
  const service = await startService()
  const [method, path, options] = validRequests(service.world).createApp
  expect(
    (await service.request(method, path, { ...options, headers: { 'If-None-Match': '*' } })).status,
  ).toBe(201)
})

test('ignores an unknown expectation', async () => {
  const service = await startService()
  const reply = await checkedResponse(
    service,
    'GET',
    '/apps',
    'GET /apps HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n',
  )
  expect(reply.status).toBe(200)
})

describe('request ids', () => {
  test.for<[what: string, sent: string | undefined, isUsed: boolean]>([
    ['uses a valid one', 'trace-1.a_B', true],
    ['uses one of 128 characters', 'x'.repeat(128), true],
    ['replaces one of 129', 'x'.repeat(129), false],
    ['replaces one with other characters', 'a b', false],
    ['creates one if none was sent', undefined, false],
  ])('%s', async ([, sent, isUsed]) => {
    const service = await startService()
    const reply = await service.get(
      '/apps',
      sent === undefined ? {} : { headers: { 'X-Request-Id': sent } },
    )
    const id = reply.headers['x-request-id']
    if (isUsed) expect(id).toBe(sent)
    else expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(JSON.parse(service.log.at(-1) ?? '{}').req.id).toBe(id)
  })
})

test('logs a line per request, without keys wherever they are', async () => {
  const service = await startService()
  const { ada, bob } = service.world.keys
  await service.get(`/apps?search=${ada}`, { key: ada })
  await service.get(`/${ada.replaceAll('_', '%5F')}`, { headers: { 'X-Other': ada } })
  await service.get(`/apps?search=${ada}&category=${bob.replaceAll('_', '%5f')}`)
  const log = service.log.join('')
  expect(service.log).toHaveLength(3)
  expect(JSON.parse(service.log[0] ?? '{}')).toMatchObject({
    req: { method: 'GET' },
    res: { statusCode: 200 },
  })
  for (const key of [ada, bob]) expect(log).not.toContain(key.slice(-20))
  expect(log).toMatch(/apps_[0-9a-z]{12}_\[redacted\]/)
})

test('redacts mistyped, truncated and encoded keys', () => {
  const { key } = generateKey()
  const secret = key.slice('apps_'.length + 12 + 1)
  const encode = (character: string) => `%${character.charCodeAt(0).toString(16)}`
  const mutilations: ((at: number) => string)[] = [
    (at) => key.slice(0, at) + key.slice(at + 1),
    (at) => key.slice(0, at) + key.charAt(at) + key.slice(at),
    (at) => key.slice(0, at) + key.charAt(at + 1) + key.charAt(at) + key.slice(at + 2),
    (at) => `${key.slice(0, at)}-${key.slice(at)}`,
    (at) => key.slice(0, at) + encode(key.charAt(at)) + key.slice(at + 1),
    (at) =>
      [...key]
        .map((character, index) => (index % (at + 1) === 0 ? encode(character) : character))
        .join(''),
    (at) => key.slice(0, key.length - Math.min(at, 20)),
    (at) => key.slice(0, at).toUpperCase() + key.slice(at),
    (at) => key.replaceAll('_', ['%5F', '%5f', '__'][at % 3] ?? ''),
    (at) => `${'x'.repeat(at)}${key}`,
    (at) => `${key}${'x'.repeat(at)}`,
    (at) => [...key.slice(0, at)].map(encode).join('') + key.slice(at),
    (at) => key.slice(0, at) + [...key.slice(at)].map(encode).join(''),
    (at) =>
      [...key]
        .map(encode)
        .join('')
        .replaceAll('%', `%${'25'.repeat(1 + (at % 3))}`),
  ]
  // The prefix stays as it is, since keys are recognized by it.
  const positions = Array.from({ length: key.length - 'apps_'.length }, (_, at) => at + 5)
  const sent = mutilations.flatMap((mutilate) => positions.map(mutilate))
  expect(sent.length).toBeGreaterThan(700)
  const decode = (line: string) =>
    line.replace(/%(?:25)*([0-9a-f]{2})/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  const decoded = sent.map((text) => decode(redact(`"url":"/apps?category=${text}"`)))
  // The log must not have so much of it that the rest could be guessed.
  const parts = Array.from({ length: secret.length - 20 }, (_, at) => secret.slice(at, at + 20))
  expect(decoded.filter((line) => parts.some((part) => line.includes(part)))).toEqual([])
  expect(decoded.every((line) => line.includes('[redacted]'))).toBe(true)
})

test('logs text that is not a key unchanged', async () => {
  const service = await startService()
  const paths = [
    '/apps?search=apps_store',
    `/apps?search=${'word'.repeat(10)}`,
    '/apps?category=health-fitness',
    '/apps_nothing',
  ]
  for (const path of paths)
    await service.get(path, { headers: { 'X-Request-Id': '2gCwbdyQlIPU0wTWtqDYnRjrRwV' } })
  const logged = service.log.map((line) => JSON.parse(line).req)
  expect(logged).toEqual(
    paths.map((url) => ({ id: '2gCwbdyQlIPU0wTWtqDYnRjrRwV', method: 'GET', url })),
  )
})

test('sends security headers, and none that names its framework', async () => {
  const service = await startService()
  const { headers } = await service.get('/apps')
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'cross-origin',
    'referrer-policy': 'no-referrer',
  })
  expect(headers).not.toHaveProperty('x-powered-by')
})

test.for<[origin: string, policy: string | undefined]>([
  ['https://apps.test', 'max-age=31536000; includeSubDomains'],
  ['http://apps.test', undefined],
])('Strict-Transport-Security at %s: %s', async ([origin, policy]) => {
  const service = await startService({ origin, docsPage: '<html><head></head></html>' })
  for (const path of ['/apps', '/apps/999', '/docs']) {
    expect((await service.get(path)).headers['strict-transport-security'], path).toBe(policy)
  }
})

test('is not ready and closes connections during shutdown', async () => {
  let draining = false
  const service = await startService({ isDraining: () => draining })
  expect((await service.get('/readyz')).status).toBe(200)
  draining = true
  expect((await service.get('/readyz')).status).toBe(503)
  const reply = await checkedResponse(
    service,
    'GET',
    '/apps',
    'GET /apps HTTP/1.1\r\nHost: x\r\n\r\n',
  )
  expect([reply.status, reply.headers.connection]).toEqual([200, 'close'])
})

test.for<[host: string, status: number]>([
  ['', 200],
  ['Host: a\r\n', 200],
  ['Host: a\r\nHost: b\r\n', 400],
])('HTTP/1.0 with "%s" is answered with %i', async ([host, status]) => {
  const service = await startService()
  const reply = await checkedResponse(service, 'GET', '/apps', `GET /apps HTTP/1.0\r\n${host}\r\n`)
  expect(reply.status).toBe(status)
})

test('a revocation takes effect at once, and the last use of a key is recorded', async () => {
  let writes = 0
  const counting = (database: Database): Database => ({
    ...database,
    write: (work) => {
      writes++
      return database.write(work)
    },
  })
  const service = await startService({ database: counting })
  const { keys, apps } = service.world
  const id = keys.ada.split('_')[1] ?? ''
  const row = () => service.database.read(({ sql }) => sql('api_keys').where({ id }).first())
  expect((await service.get(`/apps/${apps.pending}`, { key: keys.ada })).status).toBe(200)
  // The request does not wait for this write.
  await expect.poll(async () => (await row())?.last_used_at).toMatch(/^20\d\d-.*Z$/)
  const first = (await row())?.last_used_at
  expect(Date.now() - Date.parse(String(first))).toBeLessThan(60_000)
  await service.get('/apps', { key: keys.ada })
  expect(writes).toBe(1)
  await service.database.write(({ sql }) =>
    sql('api_keys').where({ id }).update({ revoked_at: new Date().toISOString() }),
  )
  expect((await service.get(`/apps/${apps.pending}`, { key: keys.ada })).status).toBe(401)
})
