import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { keyPrefix } from '../accounts/keys.ts'
import type { Caller } from '../contract/contract.ts'
import type { Timing } from '../util/timing.ts'
import type { Quota } from './rate-limits.ts'
import { mayBeSecret, redact, redactUrl } from './redact.ts'
import type { Representation } from './response.ts'

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

/** The value of `X-Request-Id`: the client's own if it is well-formed, else a new one. */
export const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) && !mayBeSecret(sent) ? sent : randomUUID()

/** What is known of a request besides its own fields and those of its response. */
export type RequestContext = {
  id: string
  /** By `performance.now()`. */
  started: number
  /** As it was sent: Express removes the prefix. */
  url: string
  timing: Timing
  operation?: string | undefined
  /** The path's template, with the prefix. */
  route?: string | undefined
  caller?: Caller | undefined
  /** If the read was counted before it reached the operations. */
  readQuota?: Quota | undefined
  /** Set while the response cache waits for the response to this request: it sends the response then. */
  cache?: (representation: Representation) => void
  isCacheHit?: boolean
  /** Bytes of the response's body, if its headers do not say. */
  bodyLength?: number
  /** The internal error that failed the request. */
  error?: unknown
}

declare module 'node:http' {
  interface ServerResponse<Request extends IncomingMessage = IncomingMessage> {
    /** Set when the request begins, by the listener of app.ts. */
    context: RequestContext
  }
}

export const createRequestContext = ({ headers, url = '' }: IncomingMessage): RequestContext => ({
  id: requestId(headers['x-request-id']),
  started: performance.now(),
  url,
  timing: { waiting: 0, sql: 0 },
})

/** Milliseconds. The lines of slower requests have their timing. */
const slowRequest = 1000

/** Logs a line for a request. Only internal errors are errors; a client's mistake is not. */
export function logRequest(logger: Logger, { method }: IncomingMessage, response: ServerResponse, duration: number) {
  const { id, url, timing, operation, caller, isCacheHit, error } = response.context
  const { statusCode } = response
  const line = {
    req: { id, method, url: redactUrl(url) },
    res: { statusCode, bytes: bodyBytes(response) },
    operation,
    cached: isCacheHit,
    developer: caller?.developerId,
    key: caller && keyPrefix(caller.keyId),
    responseTime: round(duration),
    timing: duration > slowRequest ? timingFields(timing, duration) : undefined,
  }
  const message = `${method} ${response.writableEnded ? statusCode : 'aborted'}`
  if (error === undefined) logger.info(line, message)
  else logger.error({ ...line, err: error instanceof Error ? error : new Error(String(error)) }, message)
}

function bodyBytes(response: ServerResponse): number {
  // HEAD and 304 have the length of a body that is not sent.
  if (response.req.method === 'HEAD' || response.statusCode === 304) return 0
  return response.context.bodyLength ?? Number(response.getHeader('Content-Length') ?? 0)
}

/** Concurrent statements may have taken longer than the request. */
function timingFields({ waiting, sql }: Timing, duration: number) {
  const rest = Math.max(0, duration - waiting - sql)
  return { waiting: round(waiting), sql: round(sql), rest: round(rest) }
}

const round = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000
