import express, {
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
  Router,
} from 'express'
import type { Document } from 'openapi-backend'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Caller, Handlers } from '../contract/contract.ts'
import { invalidRequest, notFound, ServiceError } from '../contract/errors.ts'
import type { Usage } from '../db/database.ts'
import { receiveBody } from './body.ts'
import { docsRouter } from './docs.ts'
import { readOnlyRoute, toErrorResponse } from './error-response.ts'
import { corsHeaders, preflightHeaders, securityHeaders } from './headers.ts'
import { createRequestContext, logRequest } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createApi, handleOperations } from './operations.ts'
import { createRateLimits, type RateLimits, type RateLimitsConfig } from './rate-limits.ts'
import { assertSupported, findHeaderProblems, parameterNames } from './request.ts'
import { createResponseCache, type ResponseCache } from './response-cache.ts'

/** The operations and the state that http/ needs. */
export type ServiceBackend = {
  /** The caller whose key it is; throws `unauthorized`. */
  authenticate: (key: string) => Promise<Caller>
  /** They get authenticated and valid requests; http/ adds the common headers. */
  handlers: Handlers
  /** Throws `unavailable` while it cannot handle requests. */
  assertReady: () => Promise<void>
  /** The version that the data has now. */
  dataVersion: () => Promise<string>
  /** How busy the database is. */
  usage: () => Usage
}

export type AppOptions = {
  config: Pick<Config, 'baseUrl' | 'prefix' | 'contact' | 'cacheSize'> & RateLimitsConfig
  backend: ServiceBackend
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
  const { config, backend, document, docsPage, logger, metrics, isDraining } = options
  const { authenticate, handlers, dataVersion } = backend
  const { cacheSize } = config
  const path = config.prefix || '/'
  const limits = createRateLimits(config)
  const api = await createApi(document, authenticate, handlers, limits)
  const cache =
    cacheSize > 0 ? createResponseCache(api.getOperations(), cacheSize, dataVersion) : undefined
  if (metrics) exposeMetrics(metrics, backend, limits, cache)

  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', false)
  // The operations set ETags; Express would add one to errors too.
  app.set('etag', false)
  app.set('strict routing', true)
  app.set('case sensitive routing', true)

  app.use(trackRequests(logger, metrics, parameterNames(api.getOperations(), 'query')))
  if (config.trustProxy === 0) app.use(warnAboutProxy(logger))
  app.use(addCommonHeaders(config.baseUrl, isDraining))
  app.use(receiveBodies)
  app.use(checkHead)
  app.use(healthRoutes(backend, isDraining))
  app.use(path, handleOperations(api, limits, cache))
  app.use(path, docsRouter(document, docsPage, config))
  app.use(() => {
    throw notFound()
  })
  app.use(createErrorHandler())
  return app
}

/** Logs and counts each request. */
function trackRequests(
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
function warnAboutProxy(logger: Logger): RequestHandler {
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
    metrics.addCounter(
      'apps_data_versions_total',
      'Versions of the data that reads have seen.',
      [],
      () => [[{}, counts.versions]],
    )
  }
  metrics.addCounter(
    'apps_limited_requests_total',
    'Requests that a limit has refused.',
    ['limit'],
    () => Object.entries(limits).map(([name, limit]) => [{ limit: name }, limit?.refused ?? 0]),
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
  metrics.addCounter('apps_database_writes_total', 'Committed writes.', [], () => [
    [{}, usage().writes],
  ])
}

function addCommonHeaders(baseUrl: string, isDraining: () => boolean): RequestHandler {
  const headers = new Map(Object.entries({ ...securityHeaders(baseUrl), ...corsHeaders }))
  return (request, response, next) => {
    response.setHeader('X-Request-Id', response.context.id).setHeaders(headers)
    if (request.method === 'OPTIONS') response.set(preflightHeaders)
    if (isDraining()) response.set('Connection', 'close')
    next()
  }
}

/** Refuses what Node's parser passes on: other versions of HTTP and codings, a bad Host. */
const checkHead: RequestHandler = (request, _response, next) => {
  assertSupported(request)
  const problems = findHeaderProblems(request)
  if (problems.length > 0) throw invalidRequest(problems)
  next()
}

/** Begins to receive the body, also of requests that turn out to need none. */
const receiveBodies: RequestHandler = (request, response, next) => {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (coding !== undefined || Number(length)) response.context.body = receiveBody(request, response)
  next()
}

function healthRoutes({ assertReady }: ServiceBackend, isDraining: () => boolean): Router {
  const router = Router({ strict: true, caseSensitive: true })
  readOnlyRoute(router, '/healthz', (_request, response) => {
    response
      .set('Cache-Control', 'no-store')
      .json({ success: true, message: 'The process is alive.', data: {} })
  })
  readOnlyRoute(router, '/readyz', async (_request, response) => {
    if (isDraining())
      throw new ServiceError('unavailable', 'The service is shutting down.', { isExpected: true })
    await assertReady()
    response
      .set('Cache-Control', 'no-store')
      .json({ success: true, message: 'The service is ready.', data: {} })
  })
  return router
}

/**
 * Milliseconds. An outage fails every request, so its cause is logged with one request in this
 * time.
 */
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
