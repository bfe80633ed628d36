import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection that can be closed at any time. */
export async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {
    // The tests check for the end, not for errors.
  })
  await once(socket, 'connect')
  return socket
}

/** Resolves at its end, for whatever reason. */
export const ended = (socket: Socket) => new Promise<void>((resolve) => socket.on('close', () => resolve()))

/** Sends bytes and returns the response, until the server closes the connection or waits for more. */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await connected(port)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(bytes)
  socket.setTimeout(2000, () => socket.destroy())
  await ended(socket)
  return Buffer.concat(chunks).toString('latin1')
}
