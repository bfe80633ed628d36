import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request } from 'express'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { keyPrefix } from '../accounts/keys.ts'
import type { Caller } from '../contract/contract.ts'
import { standardOutput } from './standard-output.ts'

/** Writes JSON lines. Neither headers nor anything that could be an API key are logged. */
export const createLogger = (
  level: string,
  destination: DestinationStream = standardOutput(),
): Logger =>
  pino({ level, hooks: { streamWrite: redact }, serializers: { err: serializeError } }, destination)

/** Without the other properties that libraries add: they may hold what clients sent. */
function serializeError(error: Error) {
  const { type, message, stack } = stdSerializers.err(error)
  const cause = error.cause instanceof Error ? { cause: String(error.cause) } : {}
  return { type, message, stack, ...('code' in error && { code: error.code }), ...cause }
}

/** The value of `X-Request-Id`: the client's own if it is well-formed, else a new one. */
export const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' &&
  /^[A-Za-z0-9._-]{1,128}$/.test(sent) &&
  !sent.match(wholeSecretPattern)?.some(mayBeSecret)
    ? sent
    : randomUUID()

/** Data of a request that Node has no field for. */
export type RequestContext = {
  id: string
  /** By `performance.now()`. */
  started: number
  /** The request's body, if it has one. */
  body?: Promise<Buffer> | undefined
  operation?: string | undefined
  /** The path's template, with the prefix. */
  route?: string | undefined
  caller?: Caller | undefined
  isCacheHit?: boolean
  /** The internal error that failed the request. */
  error?: unknown
}

declare module 'node:http' {
  interface ServerResponse<Request extends IncomingMessage = IncomingMessage> {
    /** Set by the first step of app.ts. */
    context: RequestContext
  }
}

export const createRequestContext = ({ headers }: IncomingMessage): RequestContext => ({
  id: requestId(headers['x-request-id']),
  started: performance.now(),
})

/** Logs a line for a request. Only internal errors are errors; a client's mistake is not. */
export function logRequest(
  logger: Logger,
  { method, originalUrl }: Request,
  response: ServerResponse,
  duration: number,
  queryParameters: ReadonlySet<string>,
) {
  const { id, operation, caller, isCacheHit, error } = response.context
  const { statusCode } = response
  const line = {
    req: { id, method, url: redactUrl(originalUrl, queryParameters) },
    res: { statusCode, bytes: bodyBytes(response) },
    operation,
    cached: isCacheHit,
    developer: caller?.developerId,
    key: caller && keyPrefix(caller.keyId),
    responseTime: round(duration),
  }
  const message = `${method} ${response.writableEnded ? statusCode : 'aborted'}`
  if (error === undefined) logger.info(line, message)
  else
    logger.error(
      { ...line, err: error instanceof Error ? error : new Error(String(error)) },
      message,
    )
}

function bodyBytes(response: ServerResponse): number {
  // HEAD and 304 have the length of a body that is not sent.
  if (response.req.method === 'HEAD' || response.statusCode === 304) return 0
  // Without the header there is no body.
  return Number(response.getHeader('Content-Length') ?? 0)
}

const round = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000

/** A key, also a mistyped or percent-encoded one: it still holds most of a valid key. */
const keyPattern = /(?:a|%61)(?:p|%70){2}(?:s|%73)(?:_|%5F)(?:[0-9A-Z_-]|%[0-9A-F]{2})+/gi
/** Text in a URL that could be part of a key's secret. */
const secretPattern = /(?:[0-9A-Za-z]|%[0-9A-Fa-f]{2}){20,}/g

/**
 * Text in a request's id that could be a whole secret. Genuine ids are shorter, or in lower case.
 */
const wholeSecretPattern = /[0-9A-Za-z]{40,}/g

/** Letters, digits and underscores in hex. */
const hexPattern = /(?:[3-7][0-9A-Fa-f]){20,}/g

const hasBothCases = (text: string) => /[A-Z]/.test(text) && /[a-z]/.test(text)

/** Whether a text has letters of both cases, also in hex. */
const mayBeSecret = (text: string): boolean =>
  hasBothCases(text) ||
  (text.match(hexPattern) ?? []).some((hex) => hasBothCases(Buffer.from(hex, 'hex').toString()))

/** Characters of a URL in the log: the longest valid search has 1,200. */
const maxUrlLength = 2048

/** Characters: `apps_` and a key's id are no secret. */
const maxPrefixLength = keyPrefix('x'.repeat(12)).length + 1

/** The text without anything that could be an API key. */
export function redact(text: string): string {
  // Most lines have no underscore, so no key.
  if (!text.includes('_') && !text.includes('%5')) return text
  return text.replace(keyPattern, (found) => {
    const key = percentDecode(found)
    if (key.length <= maxPrefixLength) return found
    return `${/^apps_[0-9a-z]{12}_/.exec(key)?.[0] ?? 'apps_'}[redacted]`
  })
}

/**
 * The beginning of a URL, without undocumented parameters and anything that could be an API key or
 * part of one.
 */
function redactUrl(url: string, queryParameters: ReadonlySet<string>): string {
  const [path = '', ...search] = url.slice(0, maxUrlLength).split('?')
  if (search.length === 0) return redactSecrets(path)
  const pairs = search.join('?').split('&')
  const documented = pairs.filter(
    (pair) => pair === '' || queryParameters.has(pair.split('=', 1).join()),
  )
  const logged = documented.map(redactSecrets)
  if (documented.length < pairs.length) logged.push(redacted)
  return `${redactSecrets(path)}?${logged.join('&')}`
}

const redacted = '[redacted]'

function redactSecrets(text: string): string {
  // Text that was percent-encoded several times is searched as if it were so once.
  const encodedOnce = text.replace(/%(?:25)+(?=[0-9A-F]{2})/gi, '%')
  const found = redact(encodedOnce).replace(secretPattern, (run) =>
    mayBeSecret(percentDecode(run)) ? redacted : run,
  )
  return found === encodedOnce ? text : found
}

const percentDecode = (text: string) =>
  text.replace(/%([0-9A-F]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
