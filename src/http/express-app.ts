import type { IncomingMessage } from 'node:http'
import express, {
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
  type Response,
} from 'express'
import type { Document } from 'openapi-backend'
import type { Logger } from 'pino'
import { authenticator } from '../accounts/keys.ts'
import type { Config } from '../config.ts'
import type { Problem } from '../contract/contract.ts'
import { httpVersionNotSupported, pathNotFound, ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import { createApi } from './api.ts'
import { receiveBody } from './body.ts'
import { parameterNames } from './document-operations.ts'
import { type ErrorResponse, toErrorResponse } from './error-response.ts'
import { createHandlers } from './handlers.ts'
import { corsHeaders, preflightHeaders, securityHeaders } from './headers.ts'
import { healthRoutes } from './health.ts'
import { invalidRequest } from './invalid-request.ts'
import { createRequestContext, logRequest } from './log.ts'
import type { Metrics } from './metrics.ts'
import { handleOperations } from './operations.ts'
import { createRateLimits, type RateLimitsConfig } from './rate-limits.ts'
import { docsRouter } from './reference-routes.ts'
import { createResponseCache } from './response-cache.ts'

export type AppOptions = {
  config: Pick<Config, 'baseUrl' | 'prefix' | 'contact' | 'cacheSize' | 'trustProxy'> &
    RateLimitsConfig
  database: Database
  document: Document
  /** The Redoc page; without it there is no /docs. */
  docsPage?: string | undefined
  logger: Logger
  metrics?: Metrics | undefined
  /** Whether the process is shutting down. */
  isDraining: () => boolean
}

/**
 * The whole HTTP service, not yet listening. A request goes through its steps from top to bottom
 * until one responds.
 */
export async function createApp(options: AppOptions): Promise<Express> {
  const { config, database, document, docsPage, logger, metrics, isDraining } = options
  const { baseUrl, cacheSize } = config
  const path = config.prefix || '/'
  const reference = `${baseUrl}/${docsPage === undefined ? 'openapi.json' : 'docs'}`
  const limits = createRateLimits(config)
  const handlers = createHandlers(database, baseUrl)
  const api = await createApi(document, authenticator(database), handlers, limits)
  const operations = api.getOperations()
  const cache =
    cacheSize > 0 ? createResponseCache(operations, cacheSize, database.dataVersion) : undefined
  metrics?.addService({ database, limits, cache })

  const app = createExpress(config)
  app.use(trackRequests(logger, metrics, parameterNames(operations, 'query')))
  if (config.trustProxy === 0) app.use(warnAboutProxy(logger))
  const headers = { ...securityHeaders(baseUrl), ...corsHeaders }
  app.use(addCommonHeaders(headers, isDraining, preflightHeaders))
  app.use(receiveBodies)
  app.use(rejectInvalidRequests)
  app.use(healthRoutes(database, isDraining))
  app.use(path, handleOperations(api, limits, cache))
  app.use(path, docsRouter(document, docsPage, config))
  app.use(() => {
    throw pathNotFound(reference)
  })
  app.use(
    createErrorHandler((response, { status, headers, body }) => {
      response.status(status).set(headers).json(body)
    }),
  )
  return app
}

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

/** Logs and counts each request. */
export function trackRequests(
  logger: Logger,
  metrics: Metrics | undefined,
  queryParameters: string[],
): RequestHandler {
  const documented = new Set(queryParameters)
  return (request, response, next) => {
    const context = createRequestContext(request)
    response.context = context
    // Not 'finish': a client may disconnect before it has the whole response.
    response.once('close', () => {
      const duration = performance.now() - context.started
      logRequest(logger, request, response, duration, documented)
      metrics?.observeRequest(request, response, duration)
    })
    next()
  }
}

/** Warns once. */
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
  'X-Forwarded-For is ignored because TRUST_PROXY is not set: limits by address count all clients of the proxy as one; see README'

/** Adds headers to every response, and `forOptions` to those to OPTIONS. */
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

/** Refuses what Node's parser passes on: other versions of HTTP and codings, a bad Host. */
export const rejectInvalidRequests: RequestHandler = (request, _response, next) => {
  assertSupported(request)
  const problems = findHeaderProblems(request)
  if (problems.length > 0) throw invalidRequest(problems)
  next()
}

/** Throws `http_version_not_supported` or `not_implemented` for what Node's parser passes on. */
function assertSupported({ httpVersionMajor, headers }: IncomingMessage) {
  if (httpVersionMajor !== 1) throw httpVersionNotSupported()
  if (!/^(?:chunked)?$/i.test(headers['transfer-encoding'] ?? ''))
    throw new ServiceError('not_implemented', 'The only supported Transfer-Encoding is chunked.')
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

/** Begins to receive the body, also of requests that turn out to need none. */
export const receiveBodies: RequestHandler = (request, response, next) => {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (coding !== undefined || Number(length)) response.context.body = receiveBody(request, response)
  next()
}

/**
 * Milliseconds. An outage fails every request, so its cause is logged with one request in this
 * time.
 */
const outageLogInterval = 60_000

/** Logs errors, and sends them as `send` does. */
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
