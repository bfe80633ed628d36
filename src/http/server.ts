import { once } from 'node:events'
import { createServer, IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Express } from 'express'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { maxConnections } from '../util/bulkhead.ts'
import { type ConnectionLimits, createConnections } from './connections.ts'

/** Milliseconds. */
export type Timeouts = {
  /** From a connection's first byte to the end of a request's headers. */
  headers: number
  /** From a connection's first byte to the end of a request's body. */
  request: number
  /**
   * Without a byte sent or received: ends clients that read nothing. A request may wait for the
   * database for less.
   */
  idle: number
  /** Between two requests of a connection. */
  keepAlive: number
  /**
   * The same behind proxies. A request that one sends on a connection that is being closed is lost.
   */
  proxyKeepAlive: number
  /**
   * From the signal until new connections are refused, so that a load balancer sees that the
   * service is not ready.
   */
  drainDelay: number
  /** From the signal until open connections are cut. */
  drainLimit: number
}

export const defaultConnectionLimits: ConnectionLimits = {
  connections: maxConnections,
  waiting: 20_000,
}

export const defaultTimeouts: Timeouts = {
  headers: 10_000,
  request: 30_000,
  // Longer than `request`, so that a request that stops arriving gets its 408 first; Node looks for
  // those once a second.
  idle: 35_000,
  // Strangers could fill the server with idle connections.
  keepAlive: 5000,
  // nginx and AWS keep idle connections for 60 s, Caddy for 120.
  proxyKeepAlive: 130_000,
  drainDelay: 1000,
  drainLimit: 8000,
}

/**
 * Connections that wait to be accepted; the system may allow fewer. With Node's 511, some clients
 * of a burst wait for seconds.
 */
const backlog = 4096

export type Listening = {
  server: Server
  port: number
  /**
   * Finishes the requests in flight and refuses new ones, within `drainLimit`. Readiness must be off
   * before.
   */
  drain: () => Promise<void>
}

/** Starts listening. Throws Node's error if it cannot. */
export async function listen(
  app: Express,
  { port, host, trustProxy }: Pick<Config, 'port' | 'host' | 'trustProxy'>,
  logger: Logger,
  timeouts = defaultTimeouts,
  limits = defaultConnectionLimits,
): Promise<Listening> {
  const connections = createConnections(app, limits)
  const server = createServer(
    {
      ...messageClasses(app),
      keepAliveTimeout: trustProxy === 0 ? timeouts.keepAlive : timeouts.proxyKeepAlive,
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      // The interval at which Node looks for connections that have timed out.
      connectionsCheckingInterval: Math.min(1000, timeouts.headers),
      // Node would send its own 400, outside the envelope.
      requireHostHeader: false,
    },
    connections.handle,
  )
  server.maxConnections = limits.connections
  server.timeout = timeouts.idle
  // RFC 9110, section 10.1.1 lets a server ignore an unknown expectation; Node would send a bare
  // 417.
  server.on('checkExpectation', connections.handle)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else connections.end(socket, error.code === late, () => refuse(socket, error.code, logger))
  })
  // Node's property has no type: it answers clients that have ended their side of the connection.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', connections.open)
  server.on('drop', logDroppedConnections(logger))
  server.listen({ port, host: listenHost(host), backlog })
  await once(server, 'listening')

  return {
    server,
    port: (server.address() as AddressInfo).port,
    async drain() {
      setTimeout(() => server.closeAllConnections(), timeouts.drainLimit).unref()
      connections.drain()
      await delay(timeouts.drainDelay)
      // Closes idle connections too.
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * The host for Node's `listen`. For all addresses, Node chooses: `::`, which serves IPv4 too, or
 * `0.0.0.0` on a machine without IPv6.
 */
export const listenHost = (host: string): string | undefined => (host === '::' ? undefined : host)

/**
 * Classes of requests and responses that have the application's prototypes from the start. Express
 * sets these on each request; replacing others takes V8 as long as the rest of a cache hit's steps.
 */
function messageClasses(app: Express) {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<T extends IncomingMessage> extends ServerResponse<T> {}
  app.request = Object.setPrototypeOf(ExpressRequest.prototype, app.request)
  app.response = Object.setPrototypeOf(ExpressResponse.prototype, app.response)
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse }
}

/** Logs connections over the limit, at most once a minute. */
function logDroppedConnections(logger: Logger) {
  let lastLogged = Number.NEGATIVE_INFINITY
  let dropped = 0
  return () => {
    dropped++
    const now = performance.now()
    if (now - lastLogged < 60_000) return
    logger.warn({ dropped }, 'the maximum number of connections is open; further ones were closed')
    lastLogged = now
    dropped = 0
  }
}

const late = 'ERR_HTTP_REQUEST_TIMEOUT'

/** The statuses of Node's errors; that of others is 400. */
const statuses: Partial<Record<string, number>> = {
  [late]: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_INVALID_VERSION: 505,
  HPE_PAUSED_H2_UPGRADE: 505,
}

/** Answers as Node itself would: what the parser refuses is not a request, so it gets no envelope. */
function refuse(socket: Socket, code: string | undefined, logger: Logger) {
  if (!socket.writable) return
  const status = statuses[code ?? ''] ?? 400
  logger.info({ res: { statusCode: status }, code }, `refused by the parser ${status}`)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`
  socket.end(head, () => socket.destroySoon())
}
