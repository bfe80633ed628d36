import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { invalidRequest, ServiceError } from '../contract/errors.ts'
import { type ConnectionLimits, Connections } from './connections.ts'
import { toErrorResponse } from './error-response.ts'
import { corsHeaders } from './headers.ts'
import { requestId } from './log.ts'

/** Milliseconds. */
export type Timeouts = {
  /** From a connection's first byte to the end of a request's headers. */
  headers: number
  /** The same to the end of its body. */
  request: number
  /** From the signal to the last new connection, for a load balancer to see that the service is not ready. */
  drainDelay: number
  /** From the signal to the last answer; what is open then is cut. */
  drainLimit: number
}

export const defaultConnectionLimits: ConnectionLimits = {
  connections: 10_000,
  waiting: 32,
  queued: 20_000,
  unsentBytes: 64 * 2 ** 20,
  stallTimeout: 10_000,
}

export const defaultTimeouts: Timeouts = { headers: 10_000, request: 30_000, drainDelay: 1000, drainLimit: 8000 }

/** Connections that wait to be taken; the system may allow fewer. Of Node's 511 many that come at once lose some for seconds. */
const backlog = 4096

/** Starts listening; rejects with Node's error where it cannot. */
export async function listen(
  listener: RequestListener,
  { port, host }: { port: number; host: string },
  logger: Logger,
  timeouts = defaultTimeouts,
  limits = defaultConnectionLimits,
) {
  const connections = new Connections(listener, limits)
  const server = createServer(
    {
      headersTimeout: timeouts.headers,
      requestTimeout: timeouts.request,
      // Node looks for connections past their time only this often.
      connectionsCheckingInterval: Math.min(1000, timeouts.headers),
      // Both would be answered by Node itself, outside the envelope.
      requireHostHeader: false,
    },
    connections.listener,
  )
  server.maxConnections = limits.connections
  // RFC 9110, section 10.1.1 lets a server pass over an expectation that it does not know; Node would send a bare 417.
  server.on('checkExpectation', connections.listener)
  // Node would ask for the body of every request that offers to wait; readBody asks when it wants it.
  server.on('checkContinue', connections.listener)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else connections.end(socket, () => sendParserError(socket, parserError(error.code), error.code, logger))
  })
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node has taken its own listeners away.
    socket.on('error', () => socket.destroy())
    connections.end(socket, () => sendParserError(socket, proxyNotSupported(), 'CONNECT', logger))
  })
  server.on('drop', logDroppedConnections(logger))
  server.listen({ port, host, backlog })
  await once(server, 'listening')

  return {
    server,
    port: (server.address() as AddressInfo).port,
    /** Lets requests in flight finish and takes no more; ends within `drainLimit`. The caller has turned readiness off. */
    async drain() {
      const cut = setTimeout(() => server.closeAllConnections(), timeouts.drainLimit)
      connections.drain()
      await delay(timeouts.drainDelay)
      const closed = once(server, 'close')
      // With those of its connections that are idle (Node since 19).
      server.close()
      await closed
      clearTimeout(cut)
    },
  }
}

/** Tells of connections that were too many, once a minute. */
function logDroppedConnections(logger: Logger) {
  let lastLogged = Number.NEGATIVE_INFINITY
  let dropped = 0
  return () => {
    dropped++
    const now = performance.now()
    if (now - lastLogged < 60_000) return
    logger.warn({ dropped }, 'there are as many connections as the server takes; others were closed')
    lastLogged = now
    dropped = 0
  }
}

/** Answers, in the envelope like all else, what never becomes a request. */
function sendParserError(socket: Socket, error: ServiceError, code: string | undefined, logger: Logger) {
  if (!socket.writable) return
  const { status, headers, body } = toErrorResponse(error)
  const content = JSON.stringify(body)
  const id = requestId(undefined)
  logger.info({ req: { id }, res: { statusCode: status }, code }, `refused by the parser ${status}`)
  const lines = {
    ...headers,
    ...corsHeaders,
    'X-Request-Id': id,
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(content),
    Connection: 'close',
    Date: new Date().toUTCString(),
  }
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(lines).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${content}`, () => socket.destroySoon())
}

const proxyNotSupported = () =>
  new ServiceError('method_not_allowed', 'This server is not a proxy; CONNECT is not supported.', {
    allow: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'],
  })

function parserError(code: string | undefined): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('headers_too_large', 'The request line and headers are over 16 KiB; send less.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request_timeout', 'The request took too long to arrive; send it again.')
    default:
      return invalidRequest([{ in: 'header', field: '', message: 'the request is not valid HTTP' }])
  }
}
