import { once } from 'node:events'
import { connect } from 'node:net'
import { check } from './check.ts'
import type { Service } from './service.ts'

/** Sends bytes and reads what comes back until the server closes. */
export async function exchange(service: Service, bytes: string) {
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
export async function answerTo(service: Service, method: string, path: string, bytes: string) {
  const [head = '', text = ''] = (await exchange(service, bytes)).split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return check({ method, path, status: Number(statusLine.split(' ')[1]), headers: Object.fromEntries(headers), text })
}
