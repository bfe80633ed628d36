import type { Socket } from 'node:net'
import { expect, inject, test } from 'vitest'
import { closed, connected } from '../../faults/sockets.ts'
import { copyWorldFile } from '../../support/database.ts'
import { serve } from '../../support/process.ts'

const clientsOfEachKind = 500

const slowHead = 'GET /apps HTTP/1.1\r\nHost: x\r\nX-Slow: '
const slowBody = () =>
  [
    'POST /apps HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${inject('world').keys.ada}`,
    'Content-Type: application/json',
    'Content-Length: 1000',
    '',
    '{"name": "',
  ].join('\r\n')
const unread = 'GET /apps?limit=100 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5)

/** Opens a connection that sends the beginning and then one byte per second. */
async function slow(port: number, beginning: string, reads: boolean) {
  const socket: Socket = await connected(port)
  socket.write(beginning)
  const dribble = setInterval(() => socket.write('a'), 1000)
  if (reads) socket.resume()
  else socket.pause()
  return { socket, hasClosed: closed(socket).then(() => clearInterval(dribble)) }
}

test(`${clientsOfEachKind} slow heads, ${clientsOfEachKind} slow bodies and ${clientsOfEachKind} clients that do not read are disconnected, and others get responses`, async () => {
  const server = await serve(`sqlite:${copyWorldFile()}`)
  const beginnings = [slowHead, slowBody()].flatMap((beginning) =>
    Array.from({ length: clientsOfEachKind }, () => beginning),
  )
  const senders = await Promise.all(
    beginnings.map((beginning) => slow(server.port, beginning, true)),
  )
  const readers = await Promise.all(
    Array.from({ length: clientsOfEachKind }, () => slow(server.port, unread, false)),
  )

  let isOver = false
  let answered = 0
  const others = (async () => {
    while (!isOver) {
      for (const path of ['/apps', '/apps/1', '/readyz', `/apps?search=t${answered}`]) {
        expect((await server.request('GET', path)).status).toBe(200)
      }
      answered++
    }
  })()
  // The server allows ten seconds for a head and thirty for a body.
  await Promise.all(senders.map(({ hasClosed }) => hasClosed))
  isOver = true
  await others
  console.log(
    `${3 * clientsOfEachKind} slow connections, and responses to ${4 * answered} other requests`,
  )
  expect(answered).toBeGreaterThan(50)

  server.process.kill('SIGTERM')
  expect((await server.exited)[0]).toBe(0)
  for (const { socket } of readers) socket.destroy()
  await Promise.all(readers.map(({ hasClosed }) => hasClosed))
})
