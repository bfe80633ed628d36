import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type ConnectionLimits = {
  /** Open connections; further ones are closed at once. */
  connections: number
  /** Pipelined requests that wait, per connection. */
  waiting: number
  /** Pipelined requests that wait or were dropped, over all connections. Node holds some 3 KB of each until its connection closes. */
  queued: number
  /** Bytes of responses that clients have not read, over all connections. */
  unsentBytes: number
  /** Milliseconds. A client that reads nothing of a response for so long is disconnected. */
  stallTimeout: number
}

type Connection = {
  /** The response in progress, and those of the requests that wait for it. */
  responses: ServerResponse[]
  /** Requests that wait or were dropped. */
  queued: number
  /** Takes no more requests. */
  isFull: boolean
  /** Ends the connection after the last response. */
  finish?: () => void
}

/**
 * Handles one request of a connection at a time. Node emits all requests that it finds in a chunk at once, and buffers their
 * responses without limit; here a request begins when the response before it was sent.
 */
export function createConnections(listener: RequestListener, limits: ConnectionLimits) {
  const connections = new Map<Socket, Connection>()
  let queued = 0
  let isDraining = false

  function connectionOf(socket: Socket): Connection {
    const known = connections.get(socket)
    if (known) return known
    const connection: Connection = { responses: [], queued: 0, isFull: false }
    connections.set(socket, connection)
    socket.once('close', () => {
      connections.delete(socket)
      queued -= connection.queued
    })
    return connection
  }

  function begin(socket: Socket, connection: Connection, response: ServerResponse) {
    response.once('prefinish', () => limitUnsent(socket))
    response.once('close', () => beginNext(socket, connection))
    listener(response.req, response)
  }

  /** Called when a response was sent, or its socket has closed. */
  function beginNext(socket: Socket, connection: Connection) {
    const { responses, finish } = connection
    responses.shift()
    if (!socket.writable) return
    if (isDraining) return socket.destroySoon()
    const [response] = responses
    if (!response) return finish?.()
    connection.queued--
    queued--
    if (connection.isFull && responses.length === 1 && !finish) response.setHeader('Connection', 'close')
    socket.setTimeout(0)
    begin(socket, connection, response)
  }

  /** Called when a response is complete. Over the budget, the connection with the most unsent bytes is cut. */
  function limitUnsent(socket: Socket) {
    if (socket.writableLength === 0) return
    // Node destroys the socket if it sends no byte for so long.
    socket.setTimeout(limits.stallTimeout)
    const open = [...connections.keys()].filter(({ destroyed }) => !destroyed)
    const total = open.reduce((sum, { writableLength }) => sum + writableLength, 0)
    if (total <= limits.unsentBytes) return
    open.reduce((largest, other) => (other.writableLength > largest.writableLength ? other : largest)).destroy()
  }

  const handle: RequestListener = ({ socket }, response) => {
    // Node parses the rest of a chunk even if the socket was destroyed.
    if (socket.destroyed) return
    const connection = connectionOf(socket)
    const { responses } = connection
    if (responses.length > 0) {
      connection.queued++
      queued++
      if (queued > limits.queued) socket.destroy()
      if (responses.length > limits.waiting || connection.isFull) {
        connection.isFull = true
        // On the next tick: Node resumes the socket at the end of each request.
        process.nextTick(() => socket.pause())
        return
      }
    }
    responses.push(response)
    if (responses.length === 1) begin(socket, connection, response)
  }

  /** Calls `finish`, which ends the connection, when the complete requests before it are answered. */
  function end(socket: Socket, finish: () => void) {
    const connection = connectionOf(socket)
    const { responses } = connection
    connection.isFull = true
    // An incomplete request is the one that failed.
    if (responses.length > 1 && responses.at(-1)?.req.complete === false) responses.pop()
    if (responses[0]?.req.complete) connection.finish = finish
    else finish()
  }

  /** From now on each connection closes after its current response, which says so if its headers are not sent yet. */
  function drain() {
    isDraining = true
    for (const { responses } of connections.values())
      if (responses[0]?.headersSent === false) responses[0].setHeader('Connection', 'close')
  }

  return { handle, end, drain }
}
