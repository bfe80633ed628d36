import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * TCP proxies that cut connections. `cut` closes both sides; what was passed on before still
 * arrives.
 */

type Pair = { client: Socket; upstream: Socket; cut: () => void }

/** Returns the port, and the number of cuts so far. */
async function startProxy(connectUpstream: () => Socket, relay: (pair: Pair) => void) {
  const open = new Set<Socket>()
  const counts = { cuts: 0 }
  const server = createServer((client) => {
    const upstream = connectUpstream()
    const end = () => {
      client.destroySoon()
      upstream.destroySoon()
    }
    for (const socket of [client, upstream]) {
      open.add(socket)
      // `close` follows.
      socket.on('error', () => {})
      socket.on('close', () => open.delete(socket)).on('close', end)
    }
    const cut = () => {
      counts.cuts++
      end()
    }
    relay({ client, upstream, cut })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, counts }
}

/** Kinds of cuts, in turn. Responses here are small, so each arrives in one chunk. */
const responseCuts = ['before', 'in', 'after', 'none'] as const

/**
 * A proxy for HTTP that cuts a connection before, in or after a response; every fourth response
 * arrives undisturbed.
 */
export function cutResponses(connectUpstream: () => Socket) {
  let count = 0
  return startProxy(connectUpstream, ({ client, upstream, cut }) => {
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk: Buffer) => {
      const kind = responseCuts[count++ % responseCuts.length]
      if (kind !== 'before')
        client.write(kind === 'in' ? chunk.subarray(0, chunk.length / 2) : chunk)
      if (kind !== 'none') cut()
    })
  })
}

/** More statements than a create sends. */
const maxStatements = 30

/**
 * A proxy for PostgreSQL. From `begin` on, it cuts a connection when a statement has been passed
 * on, before its result: after one statement, then after two more, and so on, over and over.
 */
export async function cutAfterStatements(connectUpstream: () => Socket) {
  let left = Number.POSITIVE_INFINITY
  let next = 2
  const begin = () => {
    left = 1
  }
  const proxy = await startProxy(connectUpstream, ({ client, upstream, cut }) => {
    let waiting = Buffer.alloc(0)
    let isStarted = false
    let isCut = false
    upstream.on('data', (chunk) => isCut || client.write(chunk))
    client.on('data', (chunk: Buffer) => {
      waiting = Buffer.concat([waiting, chunk])
      while (!isCut) {
        // https://www.postgresql.org/docs/current/protocol-message-formats.html: only the first
        // message has no type.
        const typeLength = isStarted ? 1 : 0
        const length =
          waiting.length < typeLength + 4 ? undefined : typeLength + waiting.readInt32BE(typeLength)
        if (length === undefined || waiting.length < length) return
        const message = waiting.subarray(0, length)
        waiting = waiting.subarray(length)
        upstream.write(message)
        // A simple query, or the end of an extended one.
        const isStatement = isStarted && ['Q', 'S'].includes(String.fromCharCode(message[0] ?? 0))
        isStarted = true
        if (!isStatement || --left > 0) continue
        left = next
        next = (next % maxStatements) + 1
        isCut = true
        cut()
      }
    })
  })
  return { ...proxy, begin }
}
