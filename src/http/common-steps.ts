import type { IncomingMessage } from 'node:http'
import express, { type Express, type RequestHandler } from 'express'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Problem } from '../contract/contract.ts'
import { receiveBody } from './body.ts'
import { invalidRequest } from './invalid-request.ts'

/** The steps with which all applications begin, and the headers that every response has. */

/** Express as all applications here use it. */
export function createExpress({ trustProxy }: Pick<Config, 'trustProxy'>): Express {
  const app = express()
  app.set('trust proxy', trustProxy)
  app.disable('x-powered-by')
  app.set('query parser', false)
  // The operations set ETags; Express would add one to errors too.
  app.set('etag', false)
  app.set('strict routing', true)
  app.set('case sensitive routing', true)
  return app
}

/** The step that warns once if there is a proxy that the configuration does not trust. */
export function warnAboutProxy(logger: Logger): RequestHandler {
  let hasWarned = false
  return ({ headers }, _response, next) => {
    if (!hasWarned && headers['x-forwarded-for'] !== undefined) {
      hasWarned = true
      logger.warn(proxyWarning)
    }
    next()
  }
}

const proxyWarning =
  'X-Forwarded-For is ignored because TRUST_PROXY is not set: limits by address count all clients of the proxy as one; see docs/running.md'

/** The step that adds headers to every response, and `forOptions` to those to OPTIONS. */
export function addCommonHeaders(
  common: Record<string, string>,
  isDraining: () => boolean,
  forOptions: Record<string, string> = {},
): RequestHandler {
  const headers = new Map(Object.entries(common))
  return (request, response, next) => {
    response.setHeader('X-Request-Id', response.context.id).setHeaders(headers)
    if (request.method === 'OPTIONS') response.set(forOptions)
    if (isDraining()) response.set('Connection', 'close')
    next()
  }
}

/**
 * Pages of any origin may read; to write, a page would need an API key that its visitors could see.
 */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'Content-Encoding,ETag,Link,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id,X-Total-Count',
}

/** Answers to a preflight request (Fetch, "CORS-preflight fetch"). */
export const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET,HEAD',
  // Browsers let any page POST ("CORS-safelisted method"), but not as JSON unless Content-Type or *
  // is listed here. Pages that are traced send the last four with each request (OpenTelemetry,
  // Sentry).
  'Access-Control-Allow-Headers':
    'Authorization,If-None-Match,X-Request-Id,traceparent,tracestate,baggage,sentry-trace',
  'Access-Control-Max-Age': '86400',
}

/** Security headers for JSON responses. The pages add more. */
export const securityHeaders = (baseUrl: string): Record<string, string> => ({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  // RFC 6797, section 7.2: never over plain HTTP.
  ...(baseUrl.startsWith('https:') && {
    'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  }),
})

/**
 * The step that refuses requests which Node's parser accepts, although they break HTTP's rules. For
 * another version of HTTP, and for a coding other than chunked, the response has no body, as those
 * to what the parser refuses.
 */
export const rejectInvalidRequests: RequestHandler = (request, response, next) => {
  const { httpVersionMajor, headers } = request
  const hasOtherCoding = !/^(?:chunked)?$/i.test(headers['transfer-encoding'] ?? '')
  if (httpVersionMajor !== 1 || hasOtherCoding) {
    const status = httpVersionMajor === 1 ? 501 : 505
    response.writeHead(status, { Connection: 'close', 'Content-Length': 0 }).end()
    return
  }
  const problems = findHeaderProblems(request)
  if (problems.length > 0) throw invalidRequest(problems)
  next()
}

/**
 * Problems with Host and Authorization. A request has one valid Host (RFC 9112, section 3.2; none
 * in HTTP/1.0), which Node would check outside the envelope. It has one Authorization at most:
 * another reader of the same request might take the other.
 */
export function findHeaderProblems({
  rawHeaders,
  headers,
  httpVersion,
}: IncomingMessage): Problem[] {
  // Node's object has only the first of these headers.
  const names = rawHeaders
    .filter((_text, index) => index % 2 === 0)
    .map((name) => name.toLowerCase())
  const count = (name: string) => names.filter((other) => other === name).length
  const problemOf = (field: string, message: string) => ({ in: 'header' as const, field, message })
  const hosts = count('host')
  const problems = []
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0'))
    problems.push(problemOf('Host', 'must be given once'))
  else if (!hostPattern.test(headers.host ?? ''))
    problems.push(problemOf('Host', 'must be a host name or address, and may have a port'))
  if (count('authorization') > 1) problems.push(problemOf('Authorization', 'must be given once'))
  return problems
}

/** RFC 9110, section 7.2, and RFC 3986, section 3.2.2. */
const hostPattern = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\w.~!$&'()*+,;=:]+\])(?::\d*)?$/

/**
 * The step that begins to receive the body, which arrives while the next steps run. Whether the
 * request needs it is known only then.
 */
export const receiveBodies: RequestHandler = (request, response, next) => {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (coding !== undefined || Number(length)) response.context.body = receiveBody(request, response)
  next()
}
