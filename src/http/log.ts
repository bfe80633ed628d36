import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { type HttpLogger, pinoHttp } from 'pino-http'
import { keyPattern } from '../accounts/keys.ts'

/** A key as it stands in a text or, percent-encoded, in an address. */
const anyKey = new RegExp(keyPattern.source.replaceAll('_', '(?:_|%5[Ff])'), 'g')

/** A text without the API keys in it. */
export const redacted = (text: string) => text.replace(anyKey, 'apps_$1_[redacted]')

/** JSON lines, to standard output unless told otherwise. No header is logged, and no key wherever it stands. */
export const createLogger = (level: string, destination?: DestinationStream): Logger =>
  pino({ level, hooks: { streamWrite: redacted }, serializers: { err: serializedError } }, destination)

/** Not what libraries hang on an error besides: it may hold what callers sent. */
function serializedError(error: Error) {
  const { type, message, stack } = stdSerializers.err(error)
  const cause = error.cause instanceof Error ? { cause: String(error.cause) } : {}
  return { type, message, stack, ...('code' in error && { code: error.code }), ...cause }
}

/** `X-Request-Id`: the caller's own where it is sane, else a new one. */
export const requestId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID()

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
      req: ({ id, method, url }) => ({ id, method, url }),
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
  logger.info({ req: { id, method, url }, res: { statusCode }, responseTime }, `${method} ${statusCode}`)
}

const summary = ({ method }: IncomingMessage, response: ServerResponse) =>
  `${method} ${response.writableEnded ? response.statusCode : 'aborted'}`
