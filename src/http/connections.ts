import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type ConnectionLimits = {
  /** Open connections; further ones are closed at once. */
  connections: number
  /** Pipelined requests that wait, per connection. */
  waiting: number
  /** Pipelined requests that Node has parsed and nobody has begun, over all connections: each takes some 3 KB. */
  queued: number
  /** Bytes of responses that clients have not read, over all connections. */
  unsentBytes: number
  /** Milliseconds. A client that reads nothing of a response for so long is cut. */
  stallTimeout: number
}

type Connection = {
  current?: ServerResponse | undefined
  waiting: { request: IncomingMessage; response: ServerResponse }[]
  /** Requests that wait or were dropped: Node holds both until the connection closes. */
  queued: number
  /** Takes no more requests. */
  isFull: boolean
  /** Called after the last response. */
  finish?: () => void
}

/**
 * Handles one request of a connection at a time. Node emits all requests that it finds in a chunk at once, and buffers their
 * responses without limit; here a request begins when the response before it was sent.
 */
export class Connections {
  readonly #listener: RequestListener
  readonly #limits: ConnectionLimits
  readonly #connections = new Map<Socket, Connection>()
  /** Connections with a response that the client has not read, the oldest first. */
  readonly #unsent = new Set<Socket>()
  #queued = 0
  #isDraining = false

  constructor(listener: RequestListener, limits: ConnectionLimits) {
    this.#listener = listener
    this.#limits = limits
  }

  readonly listener: RequestListener = (request, response) => {
    const { socket } = request
    const connection = this.#connectionOf(socket)
    if (!connection.current) return this.#begin(connection, request, response)
    // Node parses the rest of a chunk even if the socket was destroyed.
    if (socket.destroyed) return
    connection.queued++
    this.#queued++
    if (this.#queued > this.#limits.queued) socket.destroy()
    else if (connection.waiting.length < this.#limits.waiting && !connection.isFull)
      connection.waiting.push({ request, response })
    else {
      connection.isFull = true
      // On the next tick: Node resumes the socket at the end of each request.
      process.nextTick(() => socket.pause())
    }
  }

  /** Calls `finish`, which ends the connection, when the complete requests before it are answered. */
  end(socket: Socket, finish: () => void) {
    const connection = this.#connectionOf(socket)
    connection.isFull = true
    // An incomplete request is the one that failed.
    if (connection.waiting.at(-1)?.request.complete === false) connection.waiting.pop()
    if (connection.current?.req.complete) connection.finish = finish
    else finish()
  }

  /** From now on each connection closes after its current response, which says so if its headers are not sent yet. */
  drain() {
    this.#isDraining = true
    for (const { current } of this.#connections.values())
      if (current && !current.headersSent) current.setHeader('Connection', 'close')
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket)
    if (known) return known
    const connection: Connection = { waiting: [], queued: 0, isFull: false }
    this.#connections.set(socket, connection)
    socket.once('close', () => {
      this.#connections.delete(socket)
      this.#unsent.delete(socket)
      this.#queued -= connection.queued
    })
    return connection
  }

  #begin(connection: Connection, request: IncomingMessage, response: ServerResponse) {
    connection.current = response
    response.once('prefinish', () => this.#limitUnsent(request.socket))
    response.once('close', () => this.#next(request.socket, connection))
    this.#listener(request, response)
  }

  /** The response was sent, or the socket has closed. */
  #next(socket: Socket, connection: Connection) {
    const { waiting, finish } = connection
    connection.current = undefined
    // Node has set the timeout of an idle connection itself.
    if (this.#unsent.delete(socket) && waiting.length > 0) socket.setTimeout(0)
    if (!socket.writable) return
    if (this.#isDraining) return socket.destroySoon()
    const next = waiting.shift()
    if (!next) return finish?.()
    connection.queued--
    this.#queued--
    if (connection.isFull && waiting.length === 0 && !finish) next.response.setHeader('Connection', 'close')
    this.#begin(connection, next.request, next.response)
  }

  /**
   * Called when a response is complete. Over the budget, the connection with the most unsent bytes is cut: it frees at least as
   * much as this response adds.
   */
  #limitUnsent(socket: Socket) {
    if (socket.writableLength === 0) return
    // Node destroys the socket if it sends no byte for so long.
    socket.setTimeout(this.#limits.stallTimeout)
    this.#unsent.add(socket)
    let total = 0
    let largest: Socket | undefined
    for (const one of this.#unsent) {
      total += one.writableLength
      if (one.writableLength > (largest?.writableLength ?? 0)) largest = one
    }
    if (total <= this.#limits.unsentBytes || !largest) return
    this.#unsent.delete(largest)
    largest.destroy()
  }
}
