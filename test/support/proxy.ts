import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { addressThrough, connectTo } from './postgres.ts'

/**
 * A TCP proxy for PostgreSQL whose network can hang: nothing passes, and both connections stay
 * open. After it heals, new connections work. Those that hung stay open and silent until the next
 * hang or the end of the test.
 */
export async function startProxy(address: string) {
  const working = new Set<[client: Socket, upstream: Socket]>()
  const silent = new Set<Socket>()
  let isHanging = false

  const server = createServer((client) => {
    client.on('error', () => {})
    if (isHanging) return void silent.add(client)
    const upstream = connectTo(address)
    upstream.on('error', () => {})
    const pair: [Socket, Socket] = [client, upstream]
    working.add(pair)
    const end = () => {
      if (working.delete(pair)) for (const socket of pair) socket.destroy()
    }
    client.pipe(upstream).on('close', end)
    upstream.pipe(client).on('close', end)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function closeSilent() {
    for (const socket of silent) socket.destroy()
    silent.clear()
  }
  onTestFinished(() => {
    server.close()
    for (const socket of [...working].flat()) socket.destroy()
    closeSilent()
  })

  return {
    address: addressThrough((server.address() as AddressInfo).port, address),
    /** If only responses are lost, statements still arrive. */
    hang(lost: 'everything' | 'answers' = 'everything') {
      closeSilent()
      isHanging = true
      for (const [client, upstream] of working) {
        upstream.unpipe().pause()
        if (lost === 'everything') client.unpipe().pause()
        silent.add(client).add(upstream)
      }
      working.clear()
    },
    heal() {
      isHanging = false
    },
  }
}
