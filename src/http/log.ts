import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { keyPrefix } from '../accounts/keys.ts'
import type { Caller } from '../contract/contract.ts'
import { type Timing, withTiming } from '../util/timing.ts'

/** What begins as a key does, to its end; characters may be percent-encoded. Whoever mistypes a key sends most of a right one. */
const keyPattern = /(?:a|%61)(?:p|%70){2}(?:s|%73)(?:_|%5F)(?:[0-9A-Z_-]|%[0-9A-F]{2})+/gi
/** What could be the secret of a key that begins otherwise: long, of capitals and small letters. */
const secretPattern = /(?:[0-9A-Za-z]|%[0-9A-Fa-f]{2}){20,}/g

/** Characters that secretPattern takes at least. */
const minSecretLength = 20

/** The same where ids may stand, which are shorter, or of small letters alone. */
const wholeSecretPattern = /[0-9A-Za-z]{40,}/g

const hasBothCases = (text: string) => /[A-Z]/.test(text) && /[a-z]/.test(text)

/** Characters of a URL in the log: the longest valid search has 1,200. */
const maxUrlLength = 2048

/** Characters: `apps_` and an id alone are no secret. */
const maxPrefixLength = keyPrefix('x'.repeat(12)).length + 1

/** A text without what could be an API key in it. */
export function redact(text: string): string {
  // Without an underscore there is none, and most lines have none.
  if (!text.includes('_') && !text.includes('%5')) return text
  return text.replace(keyPattern, (found) => {
    const key = percentDecode(found)
    if (key.length <= maxPrefixLength) return found
    return `${/^apps_[0-9a-z]{12}_/.exec(key)?.[0] ?? 'apps_'}[redacted]`
  })
}

/** The same of the beginning of a URL. */
function redactUrl(url: string): string {
  // Nothing in it is as long as a secret that somebody could use.
  if (url.length < minSecretLength) return url
  return redact(url.slice(0, maxUrlLength)).replace(secretPattern, (found) =>
    hasBothCases(percentDecode(found)) ? '[redacted]' : found,
  )
}

const percentDecode = (text: string) =>
  text.replace(/%([0-9A-F]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))

/** JSON lines, to standard output unless told otherwise. No header is logged, and no key wherever it stands. */
export const createLogger = (level: string, destination: DestinationStream = standardOutput()): Logger =>
  pino({ level, hooks: { streamWrite: redact }, serializers: { err: serializeError } }, destination)

/** Characters of lines that wait for their reader to take them; more are lost. */
const maxBufferedLength = 8 * 2 ** 20

/** Milliseconds until a reader who takes nothing more just now is tried again. */
const retryDelay = 5

/**
 * The lines of one turn of the event loop are written together: under load, a write for each costs as much as a small answer.
 * Nobody's answer waits for a reader who is slow, nor for a disk that is full: pino's own destination would sleep 100 ms
 * where a pipe has no room, and end the process where a disk has none.
 */
function standardOutput(): DestinationStream {
  let lines = ''
  let lost = 0
  /** What was begun to be written. */
  let pending = Buffer.alloc(0)
  let isScheduled = false

  function flush() {
    isScheduled = false
    pending = pending.subarray(writeAvailable(pending))
    if (pending.length > 0) return flushLater()
    pending = Buffer.from(lines)
    lines = ''
    pending = pending.subarray(writeAvailable(pending))
    if (pending.length > 0) return flushLater()
    if (lost === 0) return
    const warning = {
      level: 40,
      time: Date.now(),
      pid: process.pid,
      lost,
      msg: 'nobody took the log for a while; lines were lost',
    }
    lost = 0
    output.write(`${JSON.stringify(warning)}\n`)
  }

  function flushLater() {
    isScheduled = true
    setTimeout(flush, retryDelay)
  }

  const output = {
    write(line: string) {
      if (lines.length > maxBufferedLength) {
        lost++
        return
      }
      lines += line
      if (isScheduled) return
      isScheduled = true
      setImmediate(flush)
    },
  }
  process.on('exit', () => {
    // For as long as a reader may be busy with something else.
    for (let tries = 0; tries < 100 && (lines !== '' || pending.length > 0); tries++) {
      flush()
      if (pending.length > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryDelay)
    }
  })
  return output
}

/** Writes to standard output what there is room for now; returns how many bytes are done with. */
function writeAvailable(bytes: Buffer): number {
  let done = 0
  try {
    while (done < bytes.length) done += writeSync(1, bytes, done)
  } catch (error) {
    const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN'
    // Nobody reads any more, or the disk has no room: these are lost, and the next may not be.
    if (!isFull) return bytes.length
  }
  return done
}

/** Not what libraries hang on an error besides: it may hold what callers sent. */
function serializeError(error: Error) {
  const { type, message, stack } = stdSerializers.err(error)
  const cause = error.cause instanceof Error ? { cause: String(error.cause) } : {}
  return { type, message, stack, ...('code' in error && { code: error.code }), ...cause }
}

/** `X-Request-Id`: the caller's own where it is sane, else a new one. One may be a key, by mistake, without its beginning. */
export const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) && !containsSecret(sent) ? sent : randomUUID()

const containsSecret = (id: string) => id.match(wholeSecretPattern)?.some(hasBothCases) ?? false

/** What is told of a request when it is answered, besides what its answer shows. */
export type RequestLogContext = {
  id: string
  /** By `performance.now()`. */
  started: number
  /** As it was sent: Express takes the prefix off. */
  target: string
  operation?: string | undefined
  /** Its path's template, with the prefix. */
  route?: string | undefined
  caller?: Caller | undefined
  /** It is answered by what was kept. */
  isCacheHit?: boolean
  /** Of the body, where the response does not tell. */
  bytes?: number
  /** What failed inside. */
  error?: unknown
  timing?: Timing
}

declare global {
  namespace Express {
    interface Locals {
      logContext: RequestLogContext
    }
  }
}

/** Called once for each request, when its answer has gone or was given up. */
export type OnResponse = (
  request: IncomingMessage,
  response: ServerResponse,
  logContext: RequestLogContext,
  milliseconds: number,
) => void

export const createLogContext = (request: IncomingMessage): RequestLogContext => ({
  id: requestId(request.headers['x-request-id']),
  started: performance.now(),
  target: request.url ?? '',
})

/** Has it told of when the response is done with. */
export function observeResponse(
  request: IncomingMessage,
  response: ServerResponse,
  logContext: RequestLogContext,
  onResponse: OnResponse,
) {
  // Not 'finish': a client may go before it has all.
  response.once('close', () => onResponse(request, response, logContext, performance.now() - logContext.started))
}

/** First of all: gives each request its id and notes. */
export const requestLogging =
  (onResponse: OnResponse): RequestHandler =>
  (request, response, next) => {
    const logContext = { ...createLogContext(request), timing: { waiting: 0, sql: 0 } }
    response.locals.logContext = logContext
    response.setHeader('X-Request-Id', logContext.id)
    observeResponse(request, response, logContext, onResponse)
    withTiming(logContext.timing, next)
  }

/** Milliseconds: what takes longer says what took it. */
const slowRequest = 1000

/** One line a request. What a caller did wrong is no error. */
export const accessLog =
  (logger: Logger): OnResponse =>
  ({ method }, response, logContext, milliseconds) => {
    const { id, target, operation, caller, isCacheHit, error } = logContext
    const { statusCode } = response
    const line = {
      req: { id, method, url: redactUrl(target) },
      res: { statusCode, bytes: bodyBytes(response, logContext) },
      operation,
      cached: isCacheHit,
      developer: caller?.developerId,
      key: caller && keyPrefix(caller.keyId),
      responseTime: round(milliseconds),
      timing: milliseconds > slowRequest ? timingFields(logContext.timing, milliseconds) : undefined,
    }
    const message = `${method} ${response.writableEnded ? statusCode : 'aborted'}`
    if (error === undefined) logger.info(line, message)
    else logger.error({ ...line, err: error instanceof Error ? error : new Error(String(error)) }, message)
  }

function bodyBytes(response: ServerResponse, { bytes }: RequestLogContext): number {
  // Neither HEAD nor 304 has the body whose length they tell.
  if (response.req.method === 'HEAD' || response.statusCode === 304) return 0
  return bytes ?? Number(response.getHeader('Content-Length') ?? 0)
}

/** Statements that ran side by side may have taken longer than the request. */
function timingFields({ waiting, sql }: Timing = { waiting: 0, sql: 0 }, milliseconds: number) {
  const rest = Math.max(0, milliseconds - waiting - sql)
  return { waiting: round(waiting), sql: round(sql), rest: round(rest) }
}

const round = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000
