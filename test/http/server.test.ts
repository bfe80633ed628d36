import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { ServiceError } from '../../src/contract/errors.ts'
import type { Database } from '../../src/db/database.ts'
import { defaultTimeouts } from '../../src/http/server.ts'
import { validRequests } from '../contract/valid-requests.ts'
import { share } from '../support/lifetime.ts'
import { checkedResponse, halfARequest, sendBytes } from '../support/raw-http.ts'
import { failing, type Service, startService } from '../support/service.ts'

/** What the server does with bytes, and the statuses that no scenario can cause. */

const getHead = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')

/** The statuses of responses on one connection. */
const statusesOf = (answers: string) =>
  [...answers.matchAll(/(?<=HTTP\/1\.1 )\d+/g)].map(([status]) => Number(status))

/** A service that its tests leave as it was. */
let service: Service
share(async () => {
  service = await startService()
})

describe.for(Object.entries(validRequests(inject('world'))))('%s', ([, call]) => {
  const [method, path, options] = call
  let impatient: Service
  let broken: Service
  let unavailable: Service
  share(async () => {
    impatient = await startService({ timeouts: { headers: 100, request: 100 } })
    broken = await startService({ database: failing(new Error('secret detail')) })
    unavailable = await startService({
      database: failing(new ServiceError('unavailable', 'Wait.')),
    })
  })

  test.for<{ name: string; rest: string; status: number }>([
    {
      name: 'headers over 16 KiB',
      rest: ` HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`,
      status: 431,
    },
    { name: 'bad HTTP', rest: ' HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', status: 400 },
    {
      name: 'another transfer coding than chunked',
      rest: ' HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      status: 501,
    },
    { name: 'HTTP/2.0 on the request line', rest: ' HTTP/2.0\r\nHost: x\r\n\r\n', status: 505 },
  ])('answers $name with a bare $status', async ({ rest, status }) => {
    const reply = await checkedResponse(service, method, path, `${method} ${path}${rest}`)
    expect([reply.status, reply.text]).toEqual([status, ''])
    expect(reply.headers.connection).toBe('close')
  })

  test('answers a request without Host in the envelope', async () => {
    const bytes = `${method} ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`
    const reply = await checkedResponse(service, method, path, bytes)
    expect([reply.status, reply.body.data.code]).toEqual([400, 'invalid_request'])
  })

  test('answers headers that do not arrive in time with a bare 408', async () => {
    const bytes = `${method} ${path} HTTP/1.1\r\nHost: x\r\n`
    const reply = await checkedResponse(impatient, method, path, bytes)
    expect([reply.status, reply.text]).toEqual([408, ''])
  })

  const readsBody = options?.json !== undefined
  const lateAnswer = readsBody ? 'with 408 in the envelope' : 'as if it had no body'
  test(`answers a request whose body does not arrive in time ${lateAnswer}`, async () => {
    const bytes = halfARequest(method, path, options)
    const reply = await checkedResponse(impatient, method, path, bytes)
    if (readsBody) expect([reply.status, reply.body.data.code]).toEqual([408, 'request_timeout'])
    else expect(reply.status).toBe(200)
    await expect.poll(() => impatient.connections()).toBe(0)
  })

  const others = [
    { name: 'OPTIONS', method: 'OPTIONS', header: 'Accept: */*', status: 204 },
    { name: 'HEAD', method: 'HEAD', header: 'Accept: */*', status: 200 },
    { name: 'an unchanged resource', method: 'GET', header: 'If-None-Match: *', status: 304 },
  ]
  // Node's client would hide an unexpected body.
  test.for(method === 'GET' ? others : others.slice(0, 1))(
    'answers $name without a body',
    async ({ method, header, status }) => {
      const authorization = options?.key ? `Authorization: Bearer ${options.key}\r\n` : ''
      const bytes = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n${authorization}Connection: close\r\n\r\n`
      const reply = await checkedResponse(service, method, path, bytes)
      expect([reply.status, reply.text]).toEqual([status, ''])
    },
  )

  test('answers an internal error with a 500 without details, and logs them', async () => {
    const reply = await broken.request(...call)
    expect([reply.status, reply.body.data.code]).toEqual([500, 'internal_error'])
    expect(reply.text).not.toMatch(/secret/)
    expect(JSON.parse(broken.log.at(-1) ?? '')).toMatchObject({
      level: 50,
      err: { message: 'secret detail' },
    })
  })

  test('answers 503 while the database is unavailable', async () => {
    const { status, headers } = await unavailable.request(...call)
    expect([status, headers['retry-after']]).toEqual([503, '5'])
  })
})

test('by default, headers have 10 s to arrive, and a request 30; a late one is answered before its connection is cut', () => {
  const { headers, request, idle } = defaultTimeouts
  expect([headers, request]).toEqual([10_000, 30_000])
  // Node looks for late requests once a second.
  expect(idle).toBeGreaterThan(request + 1000)
})

test.for<{ name: string; bytes: string; status: number }>([
  { name: 'HTTP/3.0', bytes: 'GET /apps HTTP/3.0\r\nHost: x\r\n\r\n', status: 505 },
  { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 505 },
  {
    name: 'a body in gzip chunks',
    bytes: 'POST /apps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n',
    status: 501,
  },
  {
    name: 'chunks in capitals',
    bytes: `${getHead('/apps', 'Transfer-Encoding: CHUNKED', 'Connection: close')}0\r\n\r\n`,
    status: 200,
  },
  { name: 'HTTP/1.0', bytes: 'GET /apps HTTP/1.0\r\n\r\n', status: 200 },
  {
    name: 'HTTP/1.0 and two hosts',
    bytes: 'GET /apps HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n',
    status: 400,
  },
  {
    name: 'an unknown expectation',
    bytes: getHead('/apps', 'Expect: magic', 'Connection: close'),
    status: 200,
  },
  {
    name: 'an absolute URL',
    bytes: getHead('http://apps.test/apps?limit=1', 'Connection: close'),
    status: 200,
  },
])('$name gets one response, $status', async ({ bytes, status }) => {
  expect(statusesOf(await sendBytes(service, bytes))).toEqual([status])
})

const upgrade = ['Connection: Upgrade', 'Upgrade: websocket']
const upgradingPost = [
  'POST /apps HTTP/1.1',
  'Host: x',
  ...upgrade,
  'Content-Type: application/json',
  'Content-Length: 2',
  '',
  '{}',
].join('\r\n')

test.for<{ name: string; bytes: string; status: number }>([
  { name: 'a read', bytes: getHead('/apps', ...upgrade), status: 200 },
  { name: 'a refused read', bytes: getHead('/apps?limit=0', ...upgrade), status: 400 },
  { name: 'a write', bytes: upgradingPost, status: 401 },
])('$name that asks for an upgrade is answered, then the connection closes', async (row) => {
  const answers = await sendBytes(service, getHead('/apps/999') + row.bytes + getHead('/apps'))
  expect(statusesOf(answers), answers).toEqual([404, row.status])
  expect(answers).toMatch(/^Connection: close/m)
})

// An error event without a listener would end this process.
test.for<{ name: string; pipelined: string }>([
  { name: 'an upgrade', pipelined: getHead('/', ...upgrade) },
  { name: 'two upgrades', pipelined: getHead('/', ...upgrade).repeat(2) },
  { name: 'an upgrade with half a body', pipelined: upgradingPost.slice(0, -1) },
  { name: 'CONNECT', pipelined: getHead('x:1').replace('GET', 'CONNECT') },
  { name: 'HTTP/2', pipelined: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'bad HTTP', pipelined: 'bad\r\n\r\n' },
  { name: 'half a request', pipelined: 'GET / HTTP/1.1\r\n' },
])('a client that pipelines $name and resets the connection ends nothing else', async (row) => {
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
  socket.write(getHead('/apps') + row.pipelined)
  await expect.poll(() => begun).toBe(1)
  socket.resetAndDestroy()
  await expect.poll(() => service.connections()).toBe(0)
  release()
  expect((await service.get('/apps')).status).toBe(200)
})

test.for<{ trustProxy: number | string[]; seconds: number }>([
  { trustProxy: 0, seconds: 5 },
  { trustProxy: 1, seconds: 130 },
  { trustProxy: ['10.0.0.0/8'], seconds: 130 },
])('with TRUST_PROXY=$trustProxy, an idle connection is kept for $seconds s', async (row) => {
  const { port } = await startService({ limits: { trustProxy: row.trustProxy } })
  const { headers } = await fetch(`http://127.0.0.1:${port}/apps`)
  expect(headers.get('keep-alive')).toBe(`timeout=${row.seconds}`)
})

test('answers a client that has ended its side of the connection', async () => {
  const service = await startService({ cacheSize: 0 })
  // A busy machine may need longer than the limit for clients that may have gone.
  const limit = vi.spyOn(Socket.prototype, 'setTimeout').mockReturnThis()
  onTestFinished(() => limit.mockRestore())
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(getHead('/apps') + getHead('/apps/999'))
  expect(statusesOf(await text(socket))).toEqual([200, 404])
})

test('logs what the parser refuses', async () => {
  const service = await startService()
  await sendBytes(service, 'GET /apps HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n')
  expect(JSON.parse(service.log[0] ?? '')).toMatchObject({
    level: 30,
    res: { statusCode: 400 },
    code: 'HPE_INVALID_HEADER_TOKEN',
  })
})

test.for<{ name: string; bytes: string; statuses: number[] }>([
  { name: 'bad HTTP', bytes: 'bad\r\n\r\n', statuses: [404, 404, 400] },
  { name: 'HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', statuses: [404, 404, 505] },
  { name: 'half a request', bytes: 'GET / HTTP/1.1\r\n', statuses: [404, 404, 408] },
  {
    name: 'half a write without a key',
    bytes: halfARequest('POST', '/apps'),
    statuses: [404, 404, 401],
  },
])('answers complete requests before $name, then closes the connection', async (row) => {
  const service = await startService({ timeouts: { headers: 300, request: 300 } })
  const answers = await sendBytes(service, getHead('/apps/999').repeat(2) + row.bytes)
  expect(statusesOf(answers), answers).toEqual(row.statuses)
  await expect.poll(() => service.connections()).toBe(0)
})

test('logs requests whose clients disconnect', async () => {
  const service = await startService()
  const socket = connect(service.port, '127.0.0.1')
  const headers = [
    `Authorization: Bearer ${service.world.keys.ada}`,
    'Content-Type: application/json',
    'Content-Length: 9',
    'Expect: 100-continue',
  ]
  socket.write(getHead('/apps', ...headers).replace('GET', 'POST'))
  // The service reads the body.
  await once(socket, 'data')
  socket.destroy()
  await expect.poll(() => service.log.at(-1)).toMatch(/POST aborted/)
})

test('during shutdown, is not ready and closes connections after their response', async () => {
  let isDraining = false
  const service = await startService({ isDraining: () => isDraining })
  expect((await service.get('/readyz')).status).toBe(200)
  await service.get('/apps')
  isDraining = true
  expect((await service.get('/readyz')).status).toBe(503)
  for (const path of ['/apps', '/apps/999']) {
    const reply = await checkedResponse(service, 'GET', path, getHead(path))
    expect(reply.headers.connection, path).toBe('close')
  }
})
