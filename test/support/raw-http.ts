import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { check } from './check.ts'
import type { Service } from './service.ts'

/** Sends bytes and reads the response until the server closes the connection. */
export async function sendBytes({ port }: Pick<Service, 'port'>, bytes: string) {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => {
    // A server that refuses a request may close the connection while it is being sent.
  })
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

/** The same, with the response checked against the document. */
export async function checkedResponse(
  service: Service,
  method: string,
  path: string,
  bytes: string,
) {
  const [head = '', text = ''] = (await sendBytes(service, bytes)).split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return check({
    method,
    path,
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(headers),
    text,
  })
}

/** A request whose body does not arrive. */
export const halfARequest = (method: string, path: string, { key }: { key?: string } = {}) =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    'Content-Length: 2',
    '',
    '{',
  ].join('\r\n')

/**
 * Sends a GET, and half of another on the same connection. `second` sends the rest and returns its
 * response.
 */
export async function readTwice(port: number, path: string) {
  const half = `GET ${path} HTTP/1.1\r\nHost: x\r\n`
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => {
    // Closed without a second response.
  })
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  socket.write(`${half}\r\n`)
  await expect.poll(() => text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\}$/)
  text = ''
  socket.write(half)
  return {
    second: async () => {
      socket.write('\r\n')
      await closed
      return text
    },
  }
}
