import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'vitest'
import { check } from './check.ts'
import type { Service } from './service.ts'

/** Sends bytes and reads what comes back until the server closes. */
export async function sendBytes(service: Service, bytes: string) {
  const socket = connect(service.port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => {
    // A server that refuses may cut a request that is still being sent.
  })
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

/** The same, held against the document as the answer to an operation. */
export async function checkedResponse(service: Service, method: string, path: string, bytes: string) {
  const [head = '', text = ''] = (await sendBytes(service, bytes)).split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return check({ method, path, status: Number(statusLine.split(' ')[1]), headers: Object.fromEntries(headers), text })
}

/** A GET that is answered, and half of another on the same connection; `second` sends the rest of it and tells its answer. */
export async function readTwice(port: number, path: string) {
  const half = `GET ${path} HTTP/1.1\r\nHost: x\r\n`
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => {
    // Cut: then there is no second answer.
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
