import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { slowClientBytes } from './byte-budget.ts'

export type ConnectionLimits = {
  /** Open connections; further ones are closed at once. */
  connections: number
  /** Pipelined requests that wait, over all connections. Node holds some 3 KB of each. */
  waiting: number
  /** Milliseconds. A client that reads nothing of a response for so long is disconnected. */
  stallTimeout: number
}

/** Milliseconds. A client that has ended its side of the connection may wait for its response, or have gone: then its search leaves the queue. */
const halfOpenTimeout = 250

type Connection = {
  current?: ServerResponse | undefined
  /** The responses of pipelined requests. */
  waiting: ServerResponse[]
  /** Called after the last response. */
  finish?: (() => void) | undefined
}

/**
 * Handles one request of a connection at a time. Node emits all requests that it finds in a chunk at once, and buffers their
 * responses without limit; here a request begins when the response before it was sent.
 */
export function createConnections(listener: RequestListener, limits: ConnectionLimits) {
  const connections = new Map<Socket, Connection>()
  let waiting = 0
  let isDraining = false

  const handle: RequestListener = ({ socket }, response) => {
    // Node parses the rest of a chunk even if the socket was destroyed.
    if (socket.destroyed) return
    const connection = connectionOf(socket)
    if (!connection.current) return begin(socket, connection, response)
    connection.waiting.push(response)
    waiting++
    if (waiting > limits.waiting) socket.destroy()
  }

  function connectionOf(socket: Socket): Connection {
    const known = connections.get(socket)
    if (known) return known
    const connection: Connection = { waiting: [] }
    connections.set(socket, connection)
    socket.once('end', () => socket.setTimeout(halfOpenTimeout))
    socket.once('close', () => {
      connections.delete(socket)
      waiting -= connection.waiting.length
    })
    return connection
  }

  function begin(socket: Socket, connection: Connection, response: ServerResponse) {
    connection.current = response
    socket.setTimeout(socket.readableEnded ? halfOpenTimeout : 0)
    response.once('prefinish', () => limitUnsent(socket, response))
    response.once('close', () => beginNext(socket, connection))
    listener(response.req, response)
  }

  /** Called when the response is complete. */
  function limitUnsent(socket: Socket, response: ServerResponse) {
    if (socket.writableLength === 0) return
    // Node destroys the socket if it sends no byte for so long.
    socket.setTimeout(limits.stallTimeout)
    response.once(
      'close',
      slowClientBytes.hold(socket.writableLength, () => socket.destroy()),
    )
  }

  /** Called when a response was sent, or its socket has closed. */
  function beginNext(socket: Socket, connection: Connection) {
    if (!socket.writable) return
    if (isDraining) return socket.destroySoon()
    const next = connection.waiting.shift()
    connection.current = next
    if (next) {
      waiting--
      begin(socket, connection, next)
    } else if (connection.finish) {
      const { finish } = connection
      connection.finish = undefined
      finish()
    }
  }

  /** Calls `finish` when the complete requests are answered. Closes the connection if the incomplete one is answered already. */
  function end(socket: Socket, finish: () => void) {
    const connection = connectionOf(socket)
    // An incomplete request is the one that failed.
    if (connection.waiting.at(-1)?.req.complete === false) {
      connection.waiting.pop()
      waiting--
    }
    if (connection.current?.req.complete) connection.finish = finish
    else if (connection.current?.headersSent) socket.destroySoon()
    else finish()
  }

  /** From now on each connection closes after its current response, which says so if its headers are not sent yet. */
  function drain() {
    isDraining = true
    for (const { current } of connections.values()) if (current) current.shouldKeepAlive = false
  }

  return { handle, end, drain }
}
