import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { gunzipSync } from 'node:zlib'
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
import { stopTimers } from '../support/clock.ts'

test('an ETag depends on the content and the content coding only', () => {
  const tag = etagOf('a')
  // 162 bits of its SHA-256.
  expect(tag).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g"')
  expect(etagOf(Buffer.from('a'))).toBe(tag)
  expect(encodedEtag(tag, 'identity')).toBe(tag)
  expect(encodedEtag(tag, 'br')).toBe('"ypeBEsobvcr6wjGzmiPcTaeG7_g-br"')
})

test.for<[header: string, coding: Coding | undefined]>([
  ['"a"', 'identity'],
  ['W/"a"', 'identity'],
  ['*', 'br'],
  ['"b", "a"', 'identity'],
  ['"b",W/"a" ,"c"', 'identity'],
  ['"a-gzip"', 'gzip'],
  ['W/"a-br"', 'br'],
  ['"a", "a-gzip", "a-br"', 'br'],
  ['"b"', undefined],
  ['"b", "c"', undefined],
  ['"b", *', undefined],
  ['', undefined],
  ['a', undefined],
  ['"W/a"', undefined],
  ['"a-deflate"', undefined],
])('If-None-Match: %s names "a" in %s, where br is preferred', ([header, coding]) => {
  expect(findUnchangedCoding(header, '"a"', 'br')).toBe(coding)
})

test.for<Coding>(['br', 'gzip', 'identity'])(
  'If-None-Match with all tags names "a" in the preferred coding, %s',
  (coding) => {
    expect(findUnchangedCoding('"a", "a-br", "a-gzip"', '"a"', coding)).toBe(coding)
  },
)

test.for<[header: string, isHeld: boolean]>([
  ['"a"', true],
  ['"a-br"', true],
  ['"a-gzip"', true],
  ['*', true],
  ['"b", "a"', true],
  ['"b","a-br" ,"c"', true],
  ['"b"', false],
  ['"b", "c"', false],
  ['"b", *', false],
  ['', false],
  ['a', false],
  ['"a-zstd"', true],
  ['"a--gzip"', true],
  ['"b", "a-zstd"', true],
  ['W/"a"', false],
  ['W/"a-gzip"', false],
  ['"a-"', false],
  ['"a-zstd', false],
  ['a-zstd"', false],
  ['"azstd"', false],
  ['"ab-zstd"', false],
  ['-br"a"', false],
])('If-Match: %s holds for "a": %s', ([header, isHeld]) => {
  expect(satisfiesIfMatch(header, '"a"')).toBe(isHeld)
})

test('matches an ETag whose content hash ends like the suffix of a coding', () => {
  expect(satisfiesIfMatch('"a-br"', '"a-br"')).toBe(true)
  expect(findUnchangedCoding('"a-br"', '"a-br"', 'gzip')).toBe('identity')
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

test.for<[milliseconds: number, refused: number]>([
  [449, 0],
  [551, 20],
])(
  'a body waits for half a second to be encoded: after %d ms, %d are refused',
  async ([milliseconds, refused]) => {
    stopTimers()
    const many = representations(availableParallelism() + 20)
    const encoded = Promise.allSettled(many.map((one) => one.encode('gzip')))
    // No encoder has finished in this turn of the event loop.
    vi.advanceTimersByTime(milliseconds)
    expect((await encoded).filter(({ status }) => status === 'rejected')).toHaveLength(refused)
  },
)

test.for<[method: string, length: number]>([
  ['GET', longBody(1).length],
  ['HEAD', 0],
])(
  '%s gets a body that cannot be encoded now as it is, with its own ETag',
  async ([method, length]) => {
    const [one = expect.fail()] = representations(1)
    one.encode = () => Promise.reject(new Error('overloaded'))
    const server = createServer(
      express().use((request, response) => sendRepresentation(request, response, one)),
    ).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const headers = { 'Accept-Encoding': 'gzip', Connection: 'close' }
    const response = await fetch(`http://127.0.0.1:${port}`, { method, headers })
    expect([
      response.status,
      response.headers.get('content-encoding'),
      response.headers.get('etag'),
      response.headers.get('content-length'),
      (await response.arrayBuffer()).byteLength,
    ]).toEqual([200, null, one.etag, String(one.body.length), length])
  },
)
