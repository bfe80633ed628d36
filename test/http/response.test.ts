import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import express from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  type Coding,
  encodedEtag,
  etagOf,
  findUnchangedCoding,
  Representation,
  satisfiesIfMatch,
  sendRepresentation,
} from '../../src/http/response.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { type Service, startService } from '../support/service.ts'

test('an ETag depends on the content and the content coding only', () => {
  const tag = etagOf('a')
  // 162 bits of its SHA-256.
  expect(tag).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g"')
  expect(etagOf(Buffer.from('a'))).toBe(tag)
  expect(encodedEtag(tag, 'identity')).toBe(tag)
  expect(encodedEtag(tag, 'br')).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g-br"')
})

test.for<{ accepts: string | undefined; coding: Coding }>([
  { accepts: 'gzip, deflate, br, zstd', coding: 'br' },
  { accepts: 'gzip', coding: 'gzip' },
  { accepts: 'GZIP', coding: 'gzip' },
  { accepts: 'gzip;q=0.9, br;q=0.1', coding: 'gzip' },
  { accepts: 'br;q=0, gzip;q=0.5', coding: 'gzip' },
  { accepts: '*', coding: 'br' },
  { accepts: 'identity', coding: 'identity' },
  { accepts: 'gzip;q=0.5, identity', coding: 'identity' },
  { accepts: 'deflate', coding: 'identity' },
  { accepts: 'br;q=0, *;q=0', coding: 'identity' },
  { accepts: '', coding: 'identity' },
  { accepts: undefined, coding: 'identity' },
])('Accept-Encoding: $accepts gets $coding', ({ accepts, coding }) => {
  expect(ofLength(1025).codingFor(accepts)).toBe(coding)
  expect(ofLength(1024).codingFor(accepts)).toBe('identity')
})

const ofLength = (length: number) =>
  new Representation('text/plain', Buffer.from('x'.repeat(length)), {})

/** The client prefers br now. */
test.for<{ header: string; coding: Coding | undefined }>([
  { header: '"a"', coding: 'identity' },
  { header: 'W/"a"', coding: 'identity' },
  { header: '*', coding: 'br' },
  { header: '"b", "a"', coding: 'identity' },
  { header: '"b",W/"a" ,"c"', coding: 'identity' },
  { header: '"a-gzip"', coding: 'gzip' },
  { header: 'W/"a-br"', coding: 'br' },
  { header: '"a", "a-gzip", "a-br"', coding: 'br' },
  { header: '"b"', coding: undefined },
  { header: '"b", *', coding: undefined },
  { header: '', coding: undefined },
  { header: 'a', coding: undefined },
  { header: '"W/a"', coding: undefined },
  { header: '"a-deflate"', coding: undefined },
])('If-None-Match: $header names "a" in $coding', ({ header, coding }) => {
  expect(findUnchangedCoding(header, '"a"', 'br')).toBe(coding)
})

test.for<{ header: string; holds: boolean }>([
  { header: '"a"', holds: true },
  { header: '"a-br"', holds: true },
  { header: '*', holds: true },
  { header: '"b", "a"', holds: true },
  { header: '"b","a-br" ,"c"', holds: true },
  { header: '"a-zstd"', holds: true },
  { header: '"a--gzip"', holds: true },
  { header: '"b"', holds: false },
  { header: '"b", *', holds: false },
  { header: '', holds: false },
  { header: 'a', holds: false },
  { header: 'W/"a"', holds: false },
  { header: 'W/"a-gzip"', holds: false },
  { header: '"a-"', holds: false },
  { header: '"a-zstd', holds: false },
  { header: 'a-zstd"', holds: false },
  { header: '"azstd"', holds: false },
  { header: '"ab-zstd"', holds: false },
  { header: '-br"a"', holds: false },
])('If-Match: $header holds for "a": $holds', ({ header, holds }) => {
  expect(satisfiesIfMatch(header, '"a"')).toBe(holds)
})

test('matches an ETag whose content hash ends like the suffix of a coding', () => {
  expect(satisfiesIfMatch('"a-br"', '"a-br"')).toBe(true)
  expect(findUnchangedCoding('"a-br"', '"a-br"', 'gzip')).toBe('identity')
})

/** The raw bytes, which other clients decode. */
async function fetchBytes(
  { port }: Service,
  { method = 'GET', path, headers }: { method?: string; path: string; headers: object },
) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  httpRequest({ port, path, method, headers: { ...headers } }, resolve)
    .on('error', reject)
    .end()
  const response = await promise
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

/** A service with a listed app whose description is long enough to be compressed. */
async function startWithLongApp() {
  const service = await startService()
  const { keys, apps } = service.world
  const path = `/apps/${apps.approved}`
  const update = (json: object, headers: Record<string, string> = {}) =>
    service.request('PUT', path, { key: keys.ada, json, headers })
  await update({ description: 'High and low water. '.repeat(200) })
  const get = (headers: object, method = 'GET') => fetchBytes(service, { method, path, headers })
  return { service, path, update, get }
}

const decoders = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  identity: (bytes: Buffer) => bytes,
}

test.for<Coding>(['br', 'gzip', 'identity'])(
  'a response in %s has its own ETag, with which all clients get a 304 until the app has changed',
  async (coding) => {
    const { service, update, get } = await startWithLongApp()
    const whole = await get({})
    const encoded = await get({ 'Accept-Encoding': coding })
    const etag = encodedEtag(String(whole.headers.etag), coding)
    const named = coding === 'identity' ? undefined : coding
    expect(encoded.headers).toMatchObject({
      etag,
      vary: 'Authorization, Accept-Encoding',
      'content-length': `${encoded.body.length}`,
    })
    expect(encoded.headers['content-encoding']).toBe(named)
    expect(decoders[coding](encoded.body)).toEqual(whole.body)
    const { headers } = await get({ 'Accept-Encoding': coding }, 'HEAD')
    expect(headers['content-length']).toBe(`${encoded.body.length}`)

    const ask = async (more: object) => {
      const { status, headers, body } = await get({ ...more, 'If-None-Match': etag })
      return [status, headers.etag, headers['content-encoding'], body.length]
    }
    const key = { Authorization: `Bearer ${service.world.keys.bob}` }
    for (const more of [{}, { 'Accept-Encoding': 'br' }, { 'Accept-Encoding': 'gzip' }, key])
      expect(await ask(more), JSON.stringify(more)).toEqual([304, etag, named, 0])
    // Computed again, because other data has changed.
    await service.decide('approve', service.world.apps.bobsPending)
    expect(await ask({ 'Accept-Encoding': 'gzip' })).toEqual([304, etag, named, 0])

    const change = () => update({ version: '2' }, { 'If-Match': etag })
    expectStatuses([await change(), await change()], [200, 412])
    expect((await ask({}))[0]).toBe(200)
  },
)

test('responses to keys, and errors, are not compressed', async () => {
  const { service, path } = await startWithLongApp()
  const accepts = { 'Accept-Encoding': 'br, gzip' }
  const withKey = { ...accepts, Authorization: `Bearer ${service.world.keys.bob}` }
  for (const request of [
    { path, headers: withKey },
    { path: `/apps/999?${'x'.repeat(900)}`, headers: accepts },
  ])
    expect((await fetchBytes(service, request)).headers['content-encoding']).toBeUndefined()
})

test('the size that the cache counts is at least that of the bodies in all codings', async () => {
  // Text that does not compress.
  const body = randomBytes(6000)
  const one = new Representation('text/plain', body, { Link: 'x'.repeat(100) })
  const encoded = await Promise.all([one.encode('br'), one.encode('gzip')])
  const sizes = [body, ...encoded].map(({ length }) => length)
  expect(one.maxSize).toBeGreaterThan(sizes.reduce((sum, size) => sum + size, 0))
})

const longBody = (index: number) => Buffer.from(`${index} `.repeat(1000))
const representations = (count: number) =>
  Array.from({ length: count }, (_, index) => new Representation('text/plain', longBody(index), {}))

test('of very many bodies at once some are not encoded, and each is when it is asked for again', async () => {
  stopTimers()
  const many = representations(600)
  const encoded = await Promise.allSettled(many.map((one) => one.encode('gzip')))
  const refused = many.filter((_, index) => encoded[index]?.status === 'rejected')
  // Some are encoded at once, and 500 wait.
  expect(refused).toHaveLength(100 - availableParallelism())
  for (const [index, one] of refused.entries()) {
    expect(gunzipSync(await one.encode('gzip')), `${index}`).toEqual(one.body)
    expect(await one.encode('gzip')).toBe(await one.encode('gzip'))
  }
})

test.for<{ milliseconds: number; refused: number }>([
  { milliseconds: 449, refused: 0 },
  { milliseconds: 551, refused: 20 },
])(
  'of 20 bodies that wait to be encoded, $refused are refused after $milliseconds ms',
  async (row) => {
    stopTimers()
    const many = representations(availableParallelism() + 20)
    const encoded = Promise.allSettled(many.map((one) => one.encode('gzip')))
    // No encoder has finished in this turn of the event loop.
    vi.advanceTimersByTime(row.milliseconds)
    expect((await encoded).filter(({ status }) => status === 'rejected')).toHaveLength(row.refused)
  },
)

test.for<{ method: string; length: number }>([
  { method: 'GET', length: longBody(1).length },
  { method: 'HEAD', length: 0 },
])('$method gets a body that cannot be encoded now as it is, with its own ETag', async (row) => {
  const [one = expect.fail()] = representations(1)
  one.encode = () => Promise.reject(new Error('overloaded'))
  const server = createServer(
    express().use((request, response) => sendRepresentation(request, response, one)),
  ).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const headers = { 'Accept-Encoding': 'gzip', Connection: 'close' }
  const { method, length } = row
  const response = await fetch(`http://127.0.0.1:${port}`, { method, headers })
  expect([
    response.status,
    response.headers.get('content-encoding'),
    response.headers.get('etag'),
    response.headers.get('content-length'),
    (await response.arrayBuffer()).byteLength,
  ]).toEqual([200, null, one.etag, String(one.body.length), length])
})
