import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'

export type ConnectionLimits = {
  /** Open connections; further ones are closed at once. */
  connections: number
  /** Pipelined requests that wait, over all connections. Node holds some 3 KB of each. */
  waiting: number
}

/**
 * Memory that slow clients occupy: arriving bodies by request, unread responses by response. The
 * values are functions that free it; over the limit, the oldest are called.
 */
export const clientBuffers = new LRUCache<object, () => void>({
  maxSize: 48 * 2 ** 20,
  disposeAfter: (free, _key, reason) => {
    if (reason === 'evict') free()
  },
})

/** The event of a request whose body has not arrived in time. */
export const bodyIsLate = 'late'

/**
 * Milliseconds without a byte. The client of a half-open connection may have gone; then its search
 * must leave the queue.
 */
const halfOpenTimeout = 250

type Connection = {
  /** The response to the request in flight. */
  current?: ServerResponse | undefined
  /** The request before, if its body had not arrived when it was answered. */
  answered?: IncomingMessage | undefined
  /** The responses of pipelined requests. */
  waiting: ServerResponse[]
  /** Called after the last response. */
  finish?: () => void
}

export type Connections = {
  open: (socket: Socket) => void
  handle: RequestListener
  /**
   * Ends a connection whose incomplete request has failed: calls `finish` when the complete ones are
   * answered, or closes the connection if the incomplete one is answered already. A handler that
   * waits for a late body answers itself.
   */
  end: (socket: Socket, isLate: boolean, finish: () => void) => void
  /**
   * From now on each connection closes after its current response, which says so if its headers are
   * not sent yet.
   */
  drain: () => void
}

/**
 * Handles one request of a connection at a time. Node emits all requests that it finds in a chunk
 * at once, and buffers their responses without limit; here a request begins when the response
 * before it was sent.
 */
export function createConnections(
  listener: RequestListener,
  limits: ConnectionLimits,
): Connections {
  /**
   * Changes only with the sockets: if it changed with each request, V8 would keep its old tables,
   * and the requests in them.
   */
  const connections = new Map<Socket, Connection>()
  let waiting = 0
  let isDraining = false

  function open(socket: Socket) {
    connections.set(socket, { waiting: [] })
    socket.once('end', () => socket.setTimeout(halfOpenTimeout))
    socket.once('close', () => connections.delete(socket))
  }

  const handle: RequestListener = ({ socket, headers }, response) => {
    const connection = connections.get(socket)
    // Node parses the rest of a chunk even if the socket was destroyed.
    if (socket.destroyed || !connection) return
    // A server may ignore this header (RFC 9110, section 7.8), but Node drops what follows the
    // request in its packet.
    if (headers.upgrade !== undefined) response.shouldKeepAlive = false
    if (!connection.current) return begin(socket, connection, response)
    connection.waiting.push(response)
    waiting++
    if (waiting > limits.waiting) socket.destroy()
  }

  function begin(socket: Socket, connection: Connection, response: ServerResponse) {
    const { waiting: queue } = connection
    connection.current = response
    response.once('prefinish', () => {
      // The client has not read it yet.
      const size = socket.writableLength
      if (size > 0) clientBuffers.set(response, () => socket.destroy(), { size })
    })
    response.once('close', () => {
      clientBuffers.delete(response)
      connection.current = undefined
      connection.answered = response.req.complete ? undefined : response.req
      if (!socket.writable || isDraining) {
        waiting -= queue.length
        queue.length = 0
        return socket.destroySoon()
      }
      const next = queue.shift()
      if (!next) return connection.finish?.()
      waiting--
      begin(socket, connection, next)
    })
    listener(response.req, response)
  }

  function end(socket: Socket, isLate: boolean, finish: () => void) {
    const connection = connections.get(socket)
    const current = connection?.current
    if (!current) return connection?.answered?.complete === false ? socket.destroySoon() : finish()
    // An incomplete request is the one that failed.
    if (connection.waiting.at(-1)?.req.complete === false) {
      connection.waiting.pop()
      waiting--
    }
    if (current.req.complete) connection.finish = finish
    else if (current.headersSent) socket.destroySoon()
    else if (!isLate || !current.req.emit(bodyIsLate)) finish()
  }

  function drain() {
    isDraining = true
    for (const { current } of connections.values()) if (current) current.shouldKeepAlive = false
  }

  return { open, handle, end, drain }
}
