import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { clientBuffers } from '../../src/http/connections.ts'
import { newApp } from '../contract/valid-requests.ts'
import { share } from '../support/lifetime.ts'
import { checkedResponse, sendBytes } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'

/** How the bodies of requests are received and read. */

/** A service that its tests leave as it was, except for new apps. */
let service: Service
share(async () => {
  service = await startService()
})

/** The head of a create by Ada, without the headers about the body. */
const createHead = (...headers: string[]) =>
  [
    'POST /apps HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${service.world.keys.ada}`,
    'Content-Type: application/json',
    ...headers,
    '',
    '',
  ].join('\r\n')

const checkedCreate = (service: Service, bytes: string) =>
  checkedResponse(service, 'POST', '/apps', bytes)

const statusesOf = (answers: string) =>
  [...answers.matchAll(/(?<=HTTP\/1\.1 )\d+/g)].map(([status]) => Number(status))

const create = (body: string, headers: Record<string, string> = {}) =>
  service.request('POST', '/apps', {
    key: service.world.keys.ada,
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  })

test('answers a body that does not arrive in time with 408', async () => {
  const impatient = await startService({ timeouts: { headers: 100, request: 200 } })
  const reply = await checkedCreate(impatient, `${createHead('Content-Length: 100')}{`)
  expect(reply.status).toBe(408)
})

test('sends 100 Continue before it reads a body', async () => {
  const head = createHead('Content-Length: 2', 'Expect: 100-Continue', 'Connection: close')
  expect(await sendBytes(service, `${head}{}`)).toMatch(
    /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 400 /,
  )
})

const limit = 256 * 1024

test.for<{ name: string; bytes: number; status: number }>([
  { name: '256 KiB is read', bytes: limit, status: 400 },
  { name: 'one byte more is refused', bytes: limit + 1, status: 413 },
  { name: '4 MiB is refused', bytes: 16 * limit, status: 413 },
])('a body of $name, and its connection stays open', async ({ bytes, status }) => {
  const body = `"${'x'.repeat(bytes - 2)}"`
  const half = body.length >> 1
  const chunks = [body.slice(0, half), body.slice(half)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  )
  const next = 'GET /apps?limit=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  for (const sent of [
    `${createHead(`Content-Length: ${bytes}`)}${body}`,
    `${createHead('Transfer-Encoding: chunked')}${chunks.join('')}0\r\n\r\n`,
  ])
    expect(statusesOf(await sendBytes(service, sent + next))).toEqual([status, 200])
})

test('a body of more than 4 MiB is not read', async () => {
  const announced = createHead(`Content-Length: ${16 * limit + 1}`)
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  const growing = createHead('Transfer-Encoding: chunked') + chunk.repeat(80)
  for (const bytes of [announced, growing]) {
    const { status, headers } = await checkedCreate(service, bytes)
    expect([status, headers.connection]).toEqual([413, 'close'])
  }
})

test('bodies that arrive slowly share a budget; the oldest makes room with a 503', async () => {
  const service = await startService()
  const slow = async (...headers: string[]) => {
    const socket = connect(service.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(createHead(...headers, 'Expect: 100-continue'))
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

test.for<{ name: string; headers: string[]; body: string }>([
  { name: 'it was answered', headers: ['Content-Length: 2'], body: '{}' },
  {
    name: 'its client has left',
    headers: [`Content-Length: ${limit}`, 'Expect: 100-continue'],
    body: '',
  },
  {
    name: 'it was refused before it arrived',
    headers: [`Content-Length: ${limit}`, 'Accept: text/plain'],
    body: '{',
  },
  {
    name: 'one in chunks was refused',
    headers: ['Transfer-Encoding: chunked', 'Accept: text/plain'],
    body: '',
  },
])('the memory of a body is free again after $name, each time', async ({ headers, body }) => {
  const before = clientBuffers.calculatedSize
  for (let time = 0; time < 2; time++) {
    const socket = connect(service.port, '127.0.0.1')
    socket.write(createHead(...headers) + body)
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(() => clientBuffers.calculatedSize).toBe(before)
  }
})

const list = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => item(index)).join()

test.for<{ name: string; body: string }>([
  {
    name: '26,000 unknown fields',
    body: `{${list(26_000, (index) => `"${index.toString(36)}":1`)}}`,
  },
  { name: '100,000 numbers for a name', body: `{"name":[${list(100_000, () => '1')}]}` },
  { name: '200,000 brackets', body: '['.repeat(200_000) },
  {
    name: 'a long name above many invalid texts',
    body: `{"${'n'.repeat(120_000)}":[${list(13_000, () => '"\\ud800"')}]}`,
  },
])('a body with $name is refused only for that', async ({ body }) => {
  const { status, body: refusal } = await create(body)
  const message = 'must have at most 1000 JSON tokens'
  expect([status, refusal.data.errors]).toEqual([400, [{ in: 'body', field: '', message }]])
})

test('an unterminated string full of quotes is malformed', async () => {
  const { status, body } = await create(`"${'\\"'.repeat(120_000)}`)
  expect([status, body.data.code]).toEqual([400, 'malformed_json'])
})

test.for([null, 'text', 7, [1]])('the body %j is refused as a whole', async (json) => {
  const { status, body } = await create(JSON.stringify(json))
  const error = { in: 'body', field: '', message: 'must be an object' }
  expect([status, body.data.errors]).toEqual([400, [error]])
})

test.for<{ type: string; status: number }>([
  { type: 'application/json', status: 201 },
  { type: 'APPLICATION/JSON; CHARSET="UTF-8"', status: 201 },
  { type: 'application/json; charset=utf8', status: 201 },
  { type: 'application/json;charset="UTF8"', status: 201 },
  { type: 'application/json; charset=unicode-1-1-utf-8', status: 201 },
  { type: 'application/json; charset=utf8; charset=utf-8', status: 201 },
  { type: 'application/json; charset=utf8; charset=utf-16', status: 415 },
  { type: 'application/json; charset=ascii', status: 415 },
  { type: 'application/json; charset=', status: 415 },
  { type: 'application/json; charset=utf-8x', status: 415 },
  { type: 'application/json; charset=x-utf-8', status: 415 },
  { type: 'application/json; charset=utf-8; charset=latin1', status: 415 },
  { type: 'text/json', status: 415 },
])('a body of the type $type gets $status', async ({ type, status }) => {
  const reply = await create(JSON.stringify(newApp), { 'Content-Type': type })
  expect([reply.status, reply.headers['accept-encoding']]).toEqual([status, undefined])
})

test.for<{ coding: string; type?: string; status: number; accepted?: string }>([
  { coding: 'identity', status: 201 },
  { coding: '', status: 201 },
  { coding: 'Identity, identity', status: 201 },
  { coding: 'gzip', status: 415, accepted: 'identity' },
  { coding: 'br', status: 415, accepted: 'identity' },
  { coding: 'identity, gzip', status: 415, accepted: 'identity' },
  { coding: '*', status: 415, accepted: 'identity' },
  // The type is the cause.
  { coding: 'gzip', type: 'text/plain', status: 415 },
  { coding: 'gzip', type: 'application/json; charset=utf-16', status: 415 },
])('a body with the Content-Encoding "$coding" gets $status', async (row) => {
  const { coding, type = 'application/json', status, accepted } = row
  const headers = { 'Content-Type': type, 'Content-Encoding': coding }
  const reply = await create(JSON.stringify(newApp), headers)
  expect([reply.status, reply.headers['accept-encoding']]).toEqual([status, accepted])
})
