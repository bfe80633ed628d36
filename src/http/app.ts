import type { RequestListener } from 'node:http'
import express, { type ErrorRequestHandler, type Express, Router } from 'express'
import type { Document } from 'openapi-backend'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { invalidRequest, notFound, ServiceError } from '../contract/errors.ts'
import { createApi, type OnRead, type ServiceBackend } from './api.ts'
import { warnAboutProxy } from './client-network.ts'
import { corsForReads } from './cors.ts'
import { docsRouter } from './docs.ts'
import { toErrorResponse } from './error-response.ts'
import { accessLog, type OnResponse, requestLogging } from './log.ts'
import type { Metrics, Sample } from './metrics.ts'
import { RateLimits, type RateLimitsConfig } from './rate-limits.ts'
import { readOnlyRoute } from './read-only-route.ts'
import { countAuthorizations, countHosts } from './request.ts'
import { ResponseCache } from './response-cache.ts'

export type ListenerOptions = {
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

/** The whole HTTP surface, not yet listening: what answered before is kept, the rest takes the way through Express. */
export async function createListener(options: ListenerOptions): Promise<RequestListener> {
  const { config, backend, logger, metrics, isDraining } = options
  const { prefix, cacheSize, trustProxy } = config
  const { dataVersion } = backend
  const rateLimits = new RateLimits(config)
  const log = accessLog(logger)
  const onResponse: OnResponse = metrics
    ? (...args) => {
        log(...args)
        metrics.onResponse(...args)
      }
    : log
  if (metrics) exposeMetrics(metrics, backend, rateLimits)
  const withProxyWarning = (listener: RequestListener) => warnAboutProxy(listener, trustProxy, logger)
  if (!dataVersion || cacheSize === 0) return withProxyWarning(await createExpressApp(options, rateLimits, onResponse))
  const cache = new ResponseCache({
    prefix,
    maxSize: cacheSize,
    dataVersion,
    limits: rateLimits,
    onResponse,
    isDraining,
  })
  metrics?.counter(
    'apps_kept_answers_total',
    'Reads that may be cached, by whether the response cache answered.',
    ['result'],
    () => Object.entries(cache.counts).map(([result, count]) => [{ result }, count]),
  )
  metrics?.counter('apps_data_versions_total', 'Versions of the data that reads have met.', [], () => [
    [{}, cache.versions],
  ])
  return withProxyWarning(
    cache.wrap(await createExpressApp(options, rateLimits, onResponse, (...answer) => cache.store(...answer))),
  )
}

/** What is told beside the requests. The place for whatever else has a queue. */
function exposeMetrics(metrics: Metrics, { usage }: ServiceBackend, rateLimits: RateLimits) {
  metrics.counter('apps_limited_requests_total', 'Requests that a limit has refused.', ['limit'], () =>
    Object.entries(rateLimits.refused).map(([limit, count]) => [{ limit }, count]),
  )
  if (!usage) return
  metrics.gauge(
    'db_client_connection_count',
    'Connections to the database, by what they do.',
    ['db_client_connection_pool_name', 'db_client_connection_state'],
    () =>
      usage().pools.flatMap(({ name, used, idle }) =>
        Object.entries({ used, idle }).map(
          ([state, count]): Sample => [
            { db_client_connection_pool_name: name, db_client_connection_state: state },
            count,
          ],
        ),
      ),
  )
  metrics.gauge(
    'db_client_connection_pending_requests',
    'What waits for a connection to the database.',
    ['db_client_connection_pool_name'],
    () => usage().pools.map(({ name, waiting }) => [{ db_client_connection_pool_name: name }, waiting]),
  )
  metrics.counter(
    'apps_shed_requests_total',
    'Work rejected because a bulkhead was full or its queue timed out.',
    ['lane'],
    () => Object.entries(usage().shed).map(([lane, count]) => [{ lane }, count]),
  )
  metrics.counter('apps_database_writes_total', 'Transactions that were written.', [], () => [[{}, usage().writes]])
}

async function createExpressApp(
  { config, backend, document, docsPage, isDraining }: ListenerOptions,
  rateLimits: RateLimits,
  onResponse: OnResponse,
  onRead?: OnRead,
): Promise<Express> {
  const { baseUrl, prefix } = config
  const app = express()
  app.disable('x-powered-by')
  app.set('query parser', false)
  // ETags are the operations' own; Express would put one on errors too.
  app.set('etag', false)
  app.set('strict routing', true)
  app.set('case sensitive routing', true)

  app.use(requestLogging(onResponse))
  app.use(corsForReads)
  app.use((_request, response, next) => {
    if (isDraining()) response.set('Connection', 'close')
    next()
  })
  app.use((request, _response, next) => {
    // Else Express answers 200 where 304 is due (RFC 9110, section 13.1.2): `fetch` sends no-cache with every If-None-Match.
    delete request.headers['cache-control']
    next()
  })
  const headers = securityHeaders(baseUrl)
  app.use((_request, response, next) => {
    response.set(headers)
    next()
  })
  app.use((request, _response, next) => {
    // RFC 9112, section 3.2. Node would answer this by itself, outside the envelope.
    const hosts = countHosts(request.rawHeaders)
    const isRight = hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')
    const wrong = [
      ...(isRight ? [] : ['Host']),
      // Another reader of the same request might take the other.
      ...(countAuthorizations(request.rawHeaders) > 1 ? ['Authorization'] : []),
    ]
    const problems = wrong.map((field) => ({ in: 'header' as const, field, message: 'must be given once' }))
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
  service.use(await createApi(document, backend, rateLimits, onRead))
  app.use(prefix || '/', service)

  app.use(() => {
    throw notFound()
  })
  app.use(sendError)
  return app
}

/** What JSON needs of the headers that keep browsers from misuse; a page has more. */
const securityHeaders = (baseUrl: string) => ({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  // RFC 6797, section 7.2: never over plain HTTP.
  ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
})

const sendError: ErrorRequestHandler = (error, _request, response, next) => {
  const { status, headers, body } = toErrorResponse(error)
  const isExpected = error instanceof ServiceError && error.details.isExpected
  if (status >= 500 && !isExpected) response.locals.logContext.error = error
  if (response.headersSent) return next(error)
  response.status(status).set(headers).json(body)
}
