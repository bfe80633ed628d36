import type { RequestListener } from 'node:http'
import express, { type ErrorRequestHandler, type Express, type RequestHandler, Router } from 'express'
import type { Document, OpenAPIBackend } from 'openapi-backend'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { invalidRequest, notFound, ServiceError } from '../contract/errors.ts'
import { withTiming } from '../util/helpers.ts'
import { createApi, type ServiceBackend } from './api.ts'
import { receiveBody } from './body.ts'
import { docsRouter } from './docs.ts'
import { readOnlyRoute, toErrorResponse } from './error-response.ts'
import { corsHeaders, preflightHeaders, securityHeaders } from './headers.ts'
import { createRequestContext, logRequest } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createRateLimits, type RateLimits, type RateLimitsConfig } from './rate-limits.ts'
import { assertSupported, createRouter, findHeaderProblems, parameterNames } from './request.ts'
import { createResponseCache, type ResponseCache } from './response-cache.ts'

export type ListenerOptions = {
  config: Pick<Config, 'baseUrl' | 'prefix' | 'contact' | 'cacheSize'> & RateLimitsConfig
  backend: ServiceBackend
  document: Document
  /** The compiled document. */
  api: OpenAPIBackend
  /** The Redoc page; without it there is no /docs. */
  docsPage?: string | undefined
  logger: Logger
  metrics?: Metrics | undefined
  /** Whether the process is shutting down. */
  isDraining: () => boolean
}

/** The whole HTTP service, not yet listening: each request is logged and counted, and answered from the cache or by Express. */
export function createListener(options: ListenerOptions): RequestListener {
  const { config, backend, api, logger, metrics, isDraining } = options
  const limits = createRateLimits(config)
  const commonHeaders = { ...securityHeaders(config.baseUrl), ...corsHeaders }
  const queryParameters = new Set(parameterNames(api.getOperations(), 'query'))
  const app = createExpressApp(options, createApi(api, createRouter(api), backend, limits), commonHeaders)
  const cache = config.cacheSize > 0 ? createResponseCache(api, config, backend, limits, commonHeaders) : undefined
  if (metrics) exposeMetrics(metrics, backend, limits, cache)
  let mayWarn = config.trustProxy === 0

  return (request, response) => {
    const context = createRequestContext(request)
    response.context = context
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    if (coding !== undefined || Number(length)) context.body = receiveBody(request, response)
    // Not 'finish': a client may disconnect before it has the whole response.
    response.once('close', () => {
      const duration = performance.now() - context.started
      logRequest(logger, request, response, duration, queryParameters)
      metrics?.observeRequest(request, response, duration)
    })
    if (mayWarn && request.headers['x-forwarded-for'] !== undefined) {
      mayWarn = false
      logger.warn(proxyWarning)
    }
    if (isDraining()) response.setHeader('Connection', 'close')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    withTiming(context.timing, () => (cache && isRead ? cache.handle(request, response, app) : app(request, response)))
  }
}

const proxyWarning =
  'X-Forwarded-For came, and TRUST_PROXY is not set: limits by address take the proxy for the client; see README'

/** Adds the metrics of the response cache, the rate limits and the database. */
function exposeMetrics(
  metrics: Metrics,
  { usage }: ServiceBackend,
  limits: RateLimits,
  cache: ResponseCache | undefined,
) {
  if (cache) {
    const { counts } = cache
    const help = 'Reads that may be cached, by whether the response cache answered.'
    metrics.addCounter('apps_response_cache_requests_total', help, ['result'], () => [
      [{ result: 'hit' }, counts.hit],
      [{ result: 'miss' }, counts.miss],
    ])
    metrics.addCounter('apps_data_versions_total', 'Versions of the data that reads have seen.', [], () => [
      [{}, counts.versions],
    ])
  }
  metrics.addCounter('apps_limited_requests_total', 'Requests that a limit has refused.', ['limit'], () =>
    Object.entries(limits).map(([name, limit]) => [{ limit: name }, limit?.refused ?? 0]),
  )
  const [pool, state] = ['db_client_connection_pool_name', 'db_client_connection_state']
  const connections = 'Connections to the database, by what they do.'
  metrics.addGauge('db_client_connection_count', connections, [pool, state], () =>
    usage().pools.flatMap(({ name, used, idle }) => [
      [{ [pool]: name, [state]: 'used' }, used],
      [{ [pool]: name, [state]: 'idle' }, idle],
    ]),
  )
  const pending = 'Operations that wait for a connection to the database.'
  metrics.addGauge('db_client_connection_pending_requests', pending, [pool], () =>
    usage().pools.map(({ name, waiting }) => [{ [pool]: name }, waiting]),
  )
  const shed = 'Work rejected because a bulkhead was full or its queue timed out.'
  metrics.addCounter('apps_shed_requests_total', shed, ['kind'], () =>
    Object.entries(usage().shed).map(([kind, count]) => [{ kind }, count]),
  )
  metrics.addCounter('apps_database_writes_total', 'Committed writes.', [], () => [[{}, usage().writes]])
}

function createExpressApp(
  { config, backend, document, docsPage, isDraining }: ListenerOptions,
  operations: RequestHandler,
  commonHeaders: Record<string, string>,
): Express {
  const { prefix } = config
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', false)
  // The operations set ETags; Express would add one to errors too.
  app.set('etag', false)
  app.set('strict routing', true)
  app.set('case sensitive routing', true)

  app.use((request, response, next) => {
    response.set({ 'X-Request-Id': response.context.id, ...commonHeaders })
    if (request.method === 'OPTIONS') response.set(preflightHeaders)
    assertSupported(request)
    const problems = findHeaderProblems(request)
    next(problems.length === 0 ? undefined : invalidRequest(problems))
  })

  readOnlyRoute(app, '/healthz', (_request, response) => {
    response.set('Cache-Control', 'no-store').json({ success: true, message: 'The process is alive.', data: {} })
  })
  readOnlyRoute(app, '/readyz', async (_request, response) => {
    if (isDraining()) throw new ServiceError('unavailable', 'The service is shutting down.', { isExpected: true })
    await backend.assertReady()
    response.set('Cache-Control', 'no-store').json({ success: true, message: 'The service is ready.', data: {} })
  })

  const service = Router()
  service.use(docsRouter(document, docsPage, config))
  service.use(operations)
  app.use(prefix || '/', service)

  app.use(() => {
    throw notFound()
  })
  app.use(createErrorHandler())
  return app
}

/** Milliseconds. An outage fails every request, so its cause is logged with one request in this time. */
const outageLogInterval = 60_000

function createErrorHandler(): ErrorRequestHandler {
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
    const { status, headers, body } = toErrorResponse(error)
    if (shouldLog(error)) response.context.error = error
    if (response.headersSent) return next(error)
    response.status(status).set(headers).json(body)
  }
}
