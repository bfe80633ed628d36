import type { RequestListener } from 'node:http'
import express, { type ErrorRequestHandler, type Express, Router } from 'express'
import type { Document } from 'openapi-backend'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { invalidRequest, notFound, ServiceError } from '../contract/errors.ts'
import { createApi, type OnRead, type Responder } from './api.ts'
import { warningOfProxy } from './client-network.ts'
import { publicReads } from './cors.ts'
import { docsRouter } from './docs.ts'
import { errorAnswer } from './error-response.ts'
import { accessLog, noting, type OnAnswered } from './log.ts'
import type { Metrics, Sample } from './metrics.ts'
import { Limits, type LimitsConfig } from './rate-limits.ts'
import { getOnly } from './read-only-route.ts'
import { authorizationsIn, hostsIn } from './request.ts'
import { KeptAnswers } from './response-cache.ts'

export type ListenerOptions = {
  config: Pick<Config, 'baseUrl' | 'prefix' | 'contact' | 'cacheSize'> & LimitsConfig
  responder: Responder
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
  const { config, responder, logger, metrics, isDraining } = options
  const { prefix, cacheSize, trustProxy } = config
  const { version } = responder
  const limits = new Limits(config)
  const log = accessLog(logger)
  const onAnswered: OnAnswered = metrics
    ? (...answered) => {
        log(...answered)
        metrics.onAnswered(...answered)
      }
    : log
  if (metrics) expose(metrics, responder, limits)
  const warning = (listener: RequestListener) => warningOfProxy(listener, trustProxy, logger)
  if (!version || cacheSize === 0) return warning(await createExpressApp(options, limits, onAnswered))
  const kept = new KeptAnswers({ prefix, maxSize: cacheSize, version, limits, onAnswered, isDraining })
  metrics?.counter('apps_kept_answers_total', 'Reads that may be answered by what is kept.', ['result'], () =>
    Object.entries(kept.counts).map(([result, count]) => [{ result }, count]),
  )
  metrics?.counter('apps_data_versions_total', 'Versions of the data that reads have met.', [], () => [
    [{}, kept.versions],
  ])
  return warning(kept.before(await createExpressApp(options, limits, onAnswered, (...answer) => kept.take(...answer))))
}

/** What is told beside the requests. The place for whatever else has a queue. */
function expose(metrics: Metrics, { usage }: Responder, limits: Limits) {
  metrics.counter('apps_limited_requests_total', 'Requests that a limit has refused.', ['limit'], () =>
    Object.entries(limits.refused).map(([limit, count]) => [{ limit }, count]),
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
  metrics.counter('apps_shed_requests_total', 'Work that the database had no room for in time.', ['lane'], () =>
    Object.entries(usage().shed).map(([lane, count]) => [{ lane }, count]),
  )
  metrics.counter('apps_database_writes_total', 'Transactions that were written.', [], () => [[{}, usage().writes]])
}

async function createExpressApp(
  { config, responder, document, docsPage, isDraining }: ListenerOptions,
  limits: Limits,
  onAnswered: OnAnswered,
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

  app.use(noting(onAnswered))
  app.use(publicReads)
  app.use((_request, response, next) => {
    if (isDraining()) response.set('Connection', 'close')
    next()
  })
  app.use((request, _response, next) => {
    // Else Express answers 200 where 304 is due (RFC 9110, section 13.1.2): `fetch` sends no-cache with every If-None-Match.
    delete request.headers['cache-control']
    next()
  })
  const headers = headersOfAll(baseUrl)
  app.use((_request, response, next) => {
    response.set(headers)
    next()
  })
  app.use((request, _response, next) => {
    // RFC 9112, section 3.2. Node would answer this by itself, outside the envelope.
    const hosts = hostsIn(request.rawHeaders)
    const isRight = hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')
    const wrong = [
      ...(isRight ? [] : ['Host']),
      // Another reader of the same request might take the other.
      ...(authorizationsIn(request.rawHeaders) > 1 ? ['Authorization'] : []),
    ]
    const problems = wrong.map((field) => ({ in: 'header' as const, field, message: 'must be given once' }))
    next(problems.length === 0 ? undefined : invalidRequest(problems))
  })

  getOnly(app, '/healthz', (_request, response) => {
    response.set('Cache-Control', 'no-store').json({ success: true, message: 'The process is alive.', data: {} })
  })
  getOnly(app, '/readyz', async (_request, response) => {
    if (isDraining()) throw new ServiceError('unavailable', 'The service is shutting down.', { isMeant: true })
    await responder.demandReady()
    response.set('Cache-Control', 'no-store').json({ success: true, message: 'The service is ready.', data: {} })
  })

  const service = Router()
  service.use(docsRouter(document, docsPage, config))
  service.use(await createApi(document, responder, limits, onRead))
  app.use(prefix || '/', service)

  app.use(() => {
    throw notFound()
  })
  app.use(sendError)
  return app
}

/** What JSON needs of the headers that keep browsers from misuse; a page has more. */
const headersOfAll = (baseUrl: string) => ({
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  // RFC 6797, section 7.2: never over plain HTTP.
  ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
})

const sendError: ErrorRequestHandler = (error, _request, response, next) => {
  const { status, headers, body } = errorAnswer(error)
  const isMeant = error instanceof ServiceError && error.details.isMeant
  if (status >= 500 && !isMeant) response.locals.notes.error = error
  if (response.headersSent) return next(error)
  response.status(status).set(headers).json(body)
}
