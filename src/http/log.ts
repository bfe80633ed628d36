import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { type HttpLogger, pinoHttp } from 'pino-http'
import { keyPrefix } from '../accounts/keys.ts'

/** What begins as a key does, to its end; characters may be percent-encoded. Whoever mistypes a key sends most of a right one. */
const likeKey = /(?:a|%61)(?:p|%70){2}(?:s|%73)(?:_|%5F)(?:[0-9A-Z_-]|%[0-9A-F]{2})+/gi
/** What could be the secret of a key that begins otherwise: long, of capitals and small letters. */
const likeSecret = /(?:[0-9A-Za-z]|%[0-9A-Fa-f]{2}){20,}/g

/** The same where ids may stand, which are shorter, or of small letters alone. */
const likeWholeSecret = /(?=[0-9a-z]*[A-Z])(?=[0-9A-Z]*[a-z])[0-9A-Za-z]{40}/

/** Characters: `apps_` and an id alone are no secret. */
const longestPrefix = keyPrefix('x'.repeat(12)).length + 1

/** A text without what could be an API key in it. */
export const redacted = (text: string) =>
  text.replace(likeKey, (found) => {
    const key = percentDecoded(found)
    if (key.length <= longestPrefix) return found
    return `${/^apps_[0-9a-z]{12}_/.exec(key)?.[0] ?? 'apps_'}[redacted]`
  })

/** The same of an address, which callers write as they like. */
const redactedUrl = (url = '') =>
  redacted(url).replace(likeSecret, (found) =>
    /[A-Z].*[a-z]|[a-z].*[A-Z]/.test(percentDecoded(found)) ? '[redacted]' : found,
  )

const percentDecoded = (text: string) =>
  text.replace(/%([0-9A-F]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))

/** JSON lines, to standard output unless told otherwise. No header is logged, and no key wherever it stands. */
export const createLogger = (level: string, destination: DestinationStream = standardOutput()): Logger =>
  pino({ level, hooks: { streamWrite: redacted }, serializers: { err: serializedError } }, destination)

/** The lines of one turn of the event loop are written together: under load, a write for each costs as much as a small answer. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ sync: true, minLength: 8192 })
  let isDue = false
  const flush = () => {
    isDue = false
    output.flush()
  }
  // Not its flushSync, which tries for ever where nobody reads any more.
  process.on('exit', flush)
  return {
    write(line) {
      output.write(line)
      if (isDue) return
      isDue = true
      setImmediate(flush)
    },
  }
}

/** Not what libraries hang on an error besides: it may hold what callers sent. */
function serializedError(error: Error) {
  const { type, message, stack } = stdSerializers.err(error)
  const cause = error.cause instanceof Error ? { cause: String(error.cause) } : {}
  return { type, message, stack, ...('code' in error && { code: error.code }), ...cause }
}

/** `X-Request-Id`: the caller's own where it is sane, else a new one. One may be a key, by mistake, without its beginning. */
export const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) && !likeWholeSecret.test(sent) ? sent : randomUUID()

/** One line a request, when it is answered; also sets the request's id. */
export const accessLog = (logger: Logger): HttpLogger =>
  pinoHttp({
    logger,
    genReqId: (request: IncomingMessage, response: ServerResponse) => {
      const id = requestId(request.headers['x-request-id'])
      response.setHeader('X-Request-Id', id)
      return id
    },
    serializers: {
      req: ({ id, method, url }) => ({ id, method, url: redactedUrl(url) }),
      res: ({ statusCode }) => ({ statusCode }),
      err: serializedError,
    },
    customLogLevel: (_request, response, error) => (error || response.statusCode >= 500 ? 'error' : 'info'),
    customSuccessMessage: summary,
    customErrorMessage: summary,
  })

/** The same line of an answer that was sent without the middleware above. `started` is by `performance.now()`. */
export function logAnswered(
  logger: Logger,
  id: string,
  { method, url }: IncomingMessage,
  { statusCode }: ServerResponse,
  started: number,
) {
  const responseTime = Math.round(performance.now() - started)
  logger.info(
    { req: { id, method, url: redactedUrl(url) }, res: { statusCode }, responseTime },
    `${method} ${statusCode}`,
  )
}

const summary = ({ method }: IncomingMessage, response: ServerResponse) =>
  `${method} ${response.writableEnded ? response.statusCode : 'aborted'}`
