import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Opens a connection. The server may close it at any time. */
export async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {
    // `closed` resolves after an error, too.
  })
  await once(socket, 'connect')
  return socket
}

/** Resolves when the connection is closed, for whatever reason. */
export const closed = (socket: Socket) =>
  new Promise<void>((resolve) => socket.on('close', () => resolve()))

/** The bytes of a GET. */
export const getBytes = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')

/**
 * Sends bytes and returns the response, until the server closes the connection or waits for more.
 */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await connected(port)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(bytes)
  socket.setTimeout(2000, () => socket.destroy())
  await closed(socket)
  return Buffer.concat(chunks).toString('latin1')
}
