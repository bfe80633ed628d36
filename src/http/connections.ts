import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type ConnectionLimits = {
  /** Connections; one more is closed as it comes. */
  connections: number
  /** Requests of one connection that wait while another of its is answered. */
  waiting: number
  /** Requests of all connections that Node has parsed and nobody has begun: each takes some 3 KB. */
  queued: number
  /** Bytes of answers, over all connections, that their readers have not taken. */
  unsentBytes: number
  /** Milliseconds in which a reader has to take something of an answer. */
  stallTimeout: number
}

/**
 * One request of each connection is worked on at a time. Node gives out all that it finds in a chunk at once, and keeps
 * what is written before its turn without bound; here the others wait as they are, and an answer begins when the one
 * before it has gone to the system whole. What a connection that has closed had waiting is never begun.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #listener: RequestListener
  readonly #connections = new Map<Socket, Connection>()
  /** Those whose reader has not taken all of an answer that is ready. */
  readonly #slowReaders = new Set<Connection>()
  #queued = 0
  #isDraining = false

  constructor(listener: RequestListener, limits: ConnectionLimits) {
    this.#listener = listener
    this.#limits = limits
  }

  readonly listener: RequestListener = (request, response) => {
    const connection = this.#connectionOf(request.socket)
    if (connection.current) this.#enqueue(connection, request, response)
    else this.#begin(connection, request, response)
  }

  /** Does what ends a connection when the answers before it are sent: at once, where the request under way is what it is about. */
  end(socket: Socket, finish: () => void) {
    const connection = this.#connectionOf(socket)
    connection.isFull = true
    // Its body is what came wrong, or not at all.
    if (connection.waiting.at(-1)?.request.complete === false) connection.waiting.pop()
    if (connection.current?.req.complete) connection.finish = finish
    else finish()
  }

  /** From now on each connection closes with the answer that is under way; where that has not begun, it says so. */
  drain() {
    this.#isDraining = true
    for (const { current } of this.#connections.values()) {
      if (current && !current.headersSent) current.setHeader('Connection', 'close')
    }
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket)
    if (known) return known
    const connection: Connection = new Connection(
      socket,
      () => this.#watch(connection),
      () => this.#next(connection),
    )
    this.#connections.set(socket, connection)
    socket.once('close', () => {
      this.#connections.delete(socket)
      this.#slowReaders.delete(connection)
      this.#queued -= connection.queued
    })
    return connection
  }

  #begin(connection: Connection, request: IncomingMessage, response: ServerResponse) {
    connection.current = response
    // Each comes once.
    response.on('prefinish', connection.onReady)
    response.on('close', connection.onClose)
    this.#listener(request, response)
  }

  #enqueue(connection: Connection, request: IncomingMessage, response: ServerResponse) {
    const { socket, waiting } = connection
    // Of a chunk that was being parsed when the socket was cut.
    if (socket.destroyed) return
    connection.queued++
    this.#queued++
    if (this.#queued > this.#limits.queued) socket.destroy()
    else if (waiting.length < this.#limits.waiting && !connection.isFull) waiting.push({ request, response })
    else {
      connection.isFull = true
      // Later than now: at the end of each request Node reads on by itself.
      process.nextTick(() => socket.pause())
    }
  }

  /** An answer has gone, or its socket has closed. */
  #next(connection: Connection) {
    const { socket, waiting, finish } = connection
    connection.current = undefined
    // Of an idle connection Node has set it.
    if (this.#slowReaders.delete(connection) && waiting.length > 0) socket.setTimeout(0)
    if (!socket.writable) return
    if (this.#isDraining) return socket.destroySoon()
    const next = waiting.shift()
    if (!next) return finish?.()
    connection.queued--
    this.#queued--
    if (connection.isFull && waiting.length === 0 && !finish) next.response.setHeader('Connection', 'close')
    this.#begin(connection, next.request, next.response)
  }

  /** An answer is ready: what of it the system has not taken is the reader's to take. */
  #watch(connection: Connection) {
    const { socket } = connection
    if (socket.writableLength === 0) return
    // Node ends it where not a byte has gone meanwhile.
    socket.setTimeout(this.#limits.stallTimeout)
    connection.stalledSince = performance.now()
    connection.remainingBytes = unsentBytesIn(socket)
    this.#slowReaders.add(connection)
    while (this.#slowReaders.size > 0 && this.#unsentBytes() > this.#limits.unsentBytes) this.#cutSlowest()
  }

  #unsentBytes(): number {
    let unsent = 0
    for (const { socket } of this.#slowReaders) unsent += socket.writableLength
    return unsent
  }

  #cutSlowest() {
    const now = performance.now()
    let slowest: Connection | undefined
    let lowest = Number.POSITIVE_INFINITY
    for (const connection of this.#slowReaders) {
      const rate = (connection.remainingBytes - unsentBytesIn(connection.socket)) / (now - connection.stalledSince + 1)
      // Of equals the one that has been at it longest: the set has it first.
      if (rate < lowest) {
        slowest = connection
        lowest = rate
      }
    }
    if (!slowest) return
    this.#slowReaders.delete(slowest)
    slowest.socket.destroy()
  }
}

class Connection {
  readonly socket: Socket
  /** For what is being answered: when the answer is ready, and when it has gone. */
  readonly onReady: () => void
  readonly onClose: () => void
  /** What is being answered. */
  current: ServerResponse | undefined
  readonly waiting: { request: IncomingMessage; response: ServerResponse }[] = []
  /** How many requests it holds that are not begun, those that never will be among them: Node lets go of none before the end. */
  queued = 0
  /** Whether it takes no more requests, and closes when those are answered that wait. */
  isFull = false
  finish: (() => void) | undefined
  /** When the answer was ready, and what the system had not taken of it then. */
  stalledSince = 0
  remainingBytes = 0

  constructor(socket: Socket, onReady: () => void, onClose: () => void) {
    this.socket = socket
    this.onReady = onReady
    this.onClose = onClose
  }
}

/** Bytes that the system has yet to take. Node's own timeout of sockets goes by it; its types lack it. */
const unsentBytesIn = (socket: Socket): number =>
  (socket as Socket & { _handle?: { writeQueueSize: number } })._handle?.writeQueueSize ?? 0
