import { randomUUID } from 'node:crypto'
import type http from 'node:http'
import type { Request, RequestHandler } from 'express'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { keyPrefix } from '../accounts/keys.ts'
import type { Caller } from '../contract/contract.ts'
import type { OperationFacts, Target } from './operations.ts'

/** Writes JSON lines. Neither headers nor API keys are logged. */
export const createLogger = (level: string, destination: DestinationStream): Logger =>
  pino({ level, hooks: { streamWrite: redact }, serializers: { err: serializeError } }, destination)

/** Without the other properties that libraries add: they may hold what clients sent. */
function serializeError(error: Error) {
  const { type, message, stack } = stdSerializers.err(error)
  const cause = error.cause instanceof Error ? { cause: String(error.cause) } : {}
  const known = {
    ...('code' in error && { code: error.code }),
    ...('statement' in error && { statement: error.statement }),
  }
  return { type, message, stack, ...known, ...cause }
}

/** The value of `X-Request-Id`: the client's own if it is well-formed and no key, else a new one. */
export const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) && redact(sent) === sent
    ? sent
    : randomUUID()

/** What the steps of a request have found out about it. */
type RequestContext = {
  id: string
  /** The request's body, if it has one. */
  body?: Promise<Buffer> | undefined
  /** These two are set by `findOperation`; a request to another path has no operation. */
  target?: Target
  operation?: OperationFacts | undefined
  caller?: Caller | undefined
  isCacheHit?: boolean
  /** Set when the whole response has been sent: not if the client has disconnected before. */
  sentStatus?: number
  /** The internal error that failed the request. */
  error?: unknown
}

declare module 'node:http' {
  interface ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> {
    /** Set by `trackRequests`. */
    context: RequestContext
  }
}

/**
 * The first step: creates the context of each request. When its response has ended, logs the request
 * and calls `observe` with the milliseconds that it took. Of the URL, only these query parameters
 * are logged.
 */
export function trackRequests(
  logger: Logger,
  queryParameters: readonly string[],
  observe?: (request: Request, response: http.ServerResponse, duration: number) => void,
): RequestHandler {
  const documented = new Set(queryParameters)
  return (request, response, next) => {
    const started = performance.now()
    response.context = { id: requestId(request.headers['x-request-id']) }
    response.on('finish', recordStatus)
    // Without 'finish' if the client disconnects.
    response.once('close', () => {
      const duration = performance.now() - started
      logRequest(logger, request, response, duration, documented)
      observe?.(request, response, duration)
    })
    next()
  }
}

function recordStatus(this: http.ServerResponse) {
  this.context.sentStatus = this.statusCode
}

/** Logs a line for a request. Only internal errors are errors; a client's mistake is not. */
function logRequest(
  logger: Logger,
  { method, originalUrl }: Request,
  response: http.ServerResponse,
  duration: number,
  queryParameters: ReadonlySet<string>,
) {
  const { id, operation, caller, isCacheHit, error, sentStatus: statusCode } = response.context
  const line = {
    req: { id, method, url: loggedUrl(originalUrl, queryParameters) },
    res: statusCode === undefined ? undefined : { statusCode, bytes: bodyBytes(response) },
    operation: operation?.id,
    cached: isCacheHit,
    developer: caller?.developerId,
    key: caller && keyPrefix(caller.keyId),
    responseTime: round(duration),
  }
  const message = `${method} ${statusCode ?? 'aborted'}`
  if (error === undefined) logger.info(line, message)
  else
    logger.error(
      { ...line, err: error instanceof Error ? error : new Error(String(error)) },
      message,
    )
}

function bodyBytes(response: http.ServerResponse): number {
  // HEAD and 304 have the length of a body that is not sent.
  if (response.req.method === 'HEAD' || response.statusCode === 304) return 0
  // Without the header there is no body.
  return Number(response.getHeader('Content-Length') ?? 0)
}

const round = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000

/**
 * A key, also a mistyped or percent-encoded one: it still holds most of a valid key. Text that was
 * encoded several times has %25 for each further percent sign.
 */
const keyPattern =
  /(?:a|%(?:25)*61)(?:p|%(?:25)*70){2}(?:s|%(?:25)*73)(?:_|%(?:25)*5F)(?:[0-9A-Z_-]|%(?:25)*[0-9A-F]{2})+/gi

/** The text without API keys. Of a key, its id is kept, which is not secret. */
export function redact(text: string): string {
  return text.replace(keyPattern, (found) => {
    const key = percentDecode(found)
    if (key.length <= maxPrefixLength) return found
    return `${/^apps_[0-9a-z]{12}_/.exec(key)?.[0] ?? 'apps_'}[redacted]`
  })
}

/** Characters of `apps_`, an id and `_`. */
const maxPrefixLength = keyPrefix('x'.repeat(12)).length + 1

const percentDecode = (text: string) =>
  text.replace(/%(?:25)*([0-9A-F]{2})/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )

/** Characters of a URL in the log: the longest valid search has 1,200. */
const maxUrlLength = 2048

/** The beginning of a URL, without parameters that are not in the document. */
function loggedUrl(url: string, queryParameters: ReadonlySet<string>): string {
  const [path = '', query] = url.slice(0, maxUrlLength).split(/\?(.*)/s)
  if (query === undefined) return path
  const pairs = query.split('&')
  const logged = pairs.filter((pair) => queryParameters.has(pair.split('=', 1).join()))
  if (logged.length < pairs.length) logged.push('[redacted]')
  return `${path}?${logged.join('&')}`
}
