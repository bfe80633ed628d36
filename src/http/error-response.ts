import type { ErrorRequestHandler, IRouter, RequestHandler, Response } from 'express'
import statuses from '../../generated/error-statuses.json' with { type: 'json' }
import type { ErrorBody, ErrorData } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { required } from '../util/helpers.ts'

export type ErrorResponse = { status: number; headers: Record<string, string>; body: ErrorBody }

/**
 * The only conversion of errors to responses. Any error but a ServiceError is internal, and reveals
 * nothing.
 */
export function toErrorResponse(thrown: unknown): ErrorResponse {
  const error = thrown instanceof ServiceError ? thrown : internalError
  return {
    status: statuses[error.code],
    headers: { 'Cache-Control': 'no-store', ...headersOf(error) },
    body: { success: false, message: error.message, data: dataOf(error) },
  }
}

const internalError = new ServiceError(
  'internal_error',
  'Internal error; if it persists, report the X-Request-Id of this response.',
)

function dataOf({ code, details: { errors, categories, appId } }: ServiceError): ErrorData {
  switch (code) {
    case 'invalid_request':
    case 'malformed_json':
      return { code, ...(errors && { errors }) }
    case 'package_name_taken':
      return {
        code,
        errors: required(errors, 'what is taken'),
        ...(appId !== undefined && { app_id: appId }),
      }
    case 'idempotency_key_reused':
      return { code, errors: required(errors, 'what is reused') }
    case 'unknown_category':
      return {
        code,
        errors: required(errors, 'what is unknown'),
        categories: required(categories, 'the categories'),
      }
    default:
      return { code }
  }
}

function headersOf({ code, message, details }: ServiceError): Record<string, string> {
  switch (code) {
    case 'unavailable':
      return { 'Retry-After': '5' }
    case 'rate_limited':
      return { 'Retry-After': String(required(details.retryAfter, 'when to retry')) }
    case 'method_not_allowed':
      return { Allow: required(details.allow, 'the allowed methods').join(', ') }
    case 'unsupported_media_type':
      // RFC 9110, section 15.5.16: only if the coding is the cause.
      return details.refusedCoding ? { 'Accept-Encoding': 'identity' } : {}
    case 'unauthorized':
      return { 'WWW-Authenticate': challenge(details.refusedKey ? message : undefined) }
    default:
      return {}
  }
}

/**
 * RFC 6750, section 3: an error code only if a key was sent, and its description in ASCII without
 * quotes.
 */
function challenge(reason: string | undefined): string {
  const description = reason?.replace(/[^\x20-\x21\x23-\x5B\x5D-\x7E]+/g, '...')
  return `Bearer realm="apps"${description ? `, error="invalid_token", error_description="${description}"` : ''}`
}

export const methodNotAllowed = (allow: string[]): ServiceError =>
  new ServiceError(
    'method_not_allowed',
    `This path does not support that method; use one of ${allow.join(', ')}.`,
    { allow },
  )

/** Answers OPTIONS (RFC 9110, section 9.3.7). */
function sendOptions(response: Response, allow: string[]): void {
  response.writeHead(204, { Allow: allow.join(', '), 'Cache-Control': 'no-store' }).end()
}

/**
 * Adds a path outside the operations: GET, HEAD and OPTIONS are answered, other methods are 405.
 */
export function readOnlyRoute(router: IRouter, path: string, handler: RequestHandler): void {
  const allow = ['GET', 'HEAD', 'OPTIONS']
  router
    .route(path)
    .get(handler)
    .options((_request, response) => sendOptions(response, allow))
    .all(() => {
      throw methodNotAllowed(allow)
    })
}

/**
 * Milliseconds. An outage fails every request, so its cause is logged with one request in this
 * time.
 */
const outageLogInterval = 60_000

/** The last step: logs errors, and sends them as `send` does. */
export function createErrorHandler(
  send: (response: Response, error: ErrorResponse) => void,
): ErrorRequestHandler {
  let outage = { cause: '', loggedAt: Number.NEGATIVE_INFINITY }

  function shouldLog(error: unknown): boolean {
    if (!(error instanceof ServiceError)) return true
    if (error.code !== 'unavailable') return error.code === 'internal_error'
    if (error.details.isExpected) return false
    const cause = `${error.message} ${error.cause}`
    const now = performance.now()
    if (cause === outage.cause && now - outage.loggedAt < outageLogInterval) return false
    outage = { cause, loggedAt: now }
    return true
  }

  return (error, _request, response, next) => {
    if (shouldLog(error)) response.context.error = error
    if (response.headersSent) return next(error)
    send(response, toErrorResponse(error))
  }
}
