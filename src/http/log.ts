import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { type HttpLogger, pinoHttp } from 'pino-http'
import { keyPattern } from '../accounts/keys.ts'

const anyKey = new RegExp(keyPattern.source, 'g')

/** A text without the API keys in it. */
export const redacted = (text: string) => text.replace(anyKey, 'apps_$1_[redacted]')

/** JSON lines, to standard output unless told otherwise. No header is logged, and no key wherever it stands. */
export const createLogger = (level: string, destination?: DestinationStream): Logger =>
  pino({ level, hooks: { streamWrite: redacted }, serializers: { err: withoutBoundValues } }, destination)

/** A driver's message may quote what was bound to a statement; its stack begins with the message. */
function withoutBoundValues(error: Error) {
  const { type, message, stack, ...rest } = stdSerializers.errWithCause(error)
  return {
    type,
    message,
    stack,
    ...('code' in rest && { code: rest.code }),
    cause: error.cause instanceof Error ? String(error.cause) : undefined,
  }
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
    },
    customLogLevel: (_request, response, error) => (error || response.statusCode >= 500 ? 'error' : 'info'),
    customSuccessMessage: (request, response) => `${request.method} ${response.statusCode}`,
    customErrorMessage: (request, response) => `${request.method} ${response.statusCode}`,
  })
