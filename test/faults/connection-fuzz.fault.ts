import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { required } from '../../src/util/helpers.ts'
import { copyWorldFile } from '../support/database.ts'
import { residentBytes } from '../support/memory.ts'
import { serve } from '../support/process.ts'
import { randomFrom, seed } from '../support/random.ts'
import { isShortRun } from '../support/short-run.ts'
import { closed, connected, getBytes } from './sockets.ts'

const connections = isShortRun ? 5000 : 50_000
const atOnce = 50

/** Mebibytes that may stay in use afterwards. */
const maxGrowth = 50

const upgrade = ['Connection: Upgrade', 'Upgrade: websocket']

const post = (body: string, ...headers: string[]) =>
  [
    'POST /apps HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${inject('world').keys.ada}`,
    'Content-Type: application/json',
    `Content-Length: ${Math.max(2, body.length)}`,
    ...headers,
    '',
    body,
  ].join('\r\n')

/** What connections send, one part after the other. */
const parts: ((number: number) => string)[] = [
  () => getBytes('/apps'),
  (number) => getBytes(`/apps?search=t${number}`),
  (number) => getBytes(`/apps/${number % 200}`, 'Accept-Encoding: br'),
  () => getBytes('/apps?limit=0'),
  () => getBytes('/apps', 'Connection: close'),
  () => getBytes('/apps', ...upgrade),
  () =>
    getBytes(
      '/',
      'Upgrade: h2c',
      'Connection: Upgrade, HTTP2-Settings',
      'HTTP2-Settings: AAMAAABkAAQAAP__',
    ),
  () => getBytes('x:1').replace('GET', 'CONNECT'),
  () => getBytes('/apps').replace('GET', 'OPTIONS'),
  () => getBytes('/apps', 'Expect: 100-continue'),
  () => post('{}'),
  () => post('{}', ...upgrade),
  () => post('{', ...upgrade),
  () => post(''),
  () => 'GET /apps HTTP/1.1\r\nHost: x\r\n',
  () => 'GET /apps HTTP/9.9\r\n\r\n',
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  () => 'bad\r\n\r\n',
  () => '\u0000\u0001\r\n',
  () => 'POST /apps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
]

/** How connections end. A server that keeps one open is waited for briefly. */
const endings: ((socket: Socket) => unknown)[] = [
  (socket) => socket.resetAndDestroy(),
  (socket) => setImmediate(() => socket.resetAndDestroy()),
  (socket) => socket.once('data', () => socket.resetAndDestroy()),
  (socket) => socket.destroy(),
  (socket) => socket.end(),
  (socket) => socket.pause(),
]

test(`${connections} connections with valid, invalid, upgrading, half-sent and reset pipelines leave the server as it was`, async () => {
  console.log(`FUZZ_SEED=${seed}`)
  const random = randomFrom(seed)
  const server = await serve(`sqlite:${copyWorldFile()}`, { WRITE_LIMIT: '0', CACHE_SIZE: '1' })
  const megabytes = () =>
    Math.round(required(residentBytes(server.process.pid), 'memory of the server') / 2 ** 20)

  async function connectOnce(number: number) {
    const length = 1 + Math.floor(random.next() * 6)
    const pipeline = Array.from({ length }, () => random.pick(parts)(number)).join('')
    const end = random.pick(endings)
    const socket = await connected(server.port)
    const isClosed = closed(socket)
    socket.resume()
    socket.write(pipeline, () => end(socket))
    await Promise.race([isClosed, delay(100)])
    socket.destroy()
  }
  async function connectAll(count: number) {
    let number = 0
    const client = async () => {
      while (number < count) await connectOnce(number++)
    }
    await Promise.all(Array.from({ length: atOnce }, client))
  }

  // The heap grows with the first ones.
  await connectAll(2500)
  const before = megabytes()
  await connectAll(connections)
  expect(server.process.exitCode).toBeNull()
  for (const path of ['/readyz', '/apps', '/apps?search=tide']) {
    expect((await server.request('GET', path)).status, path).toBe(200)
  }
  expect(server.log.filter((line) => /"level":[56]0/.test(line))).toEqual([])
  await expect.poll(megabytes, { timeout: 30_000, interval: 500 }).toBeLessThan(before + maxGrowth)
  console.log(`${connections} connections: ${before} MiB before, ${megabytes()} after`)
})
