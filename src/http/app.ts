import type { Express } from 'express'
import type { Document } from 'openapi-backend'
import type { Logger } from 'pino'
import { authenticator } from '../accounts/keys.ts'
import type { Config } from '../config.ts'
import { pathNotFound } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import { createApi } from './api.ts'
import { answerOperations, ResponseCache } from './cache.ts'
import {
  addCommonHeaders,
  corsHeaders,
  createExpress,
  preflightHeaders,
  receiveBodies,
  rejectInvalidRequests,
  securityHeaders,
  warnAboutProxy,
} from './common-steps.ts'
import { createErrorHandler } from './error-response.ts'
import { createHandlers } from './handlers.ts'
import { healthRoutes } from './health.ts'
import { trackRequests } from './log.ts'
import type { Metrics } from './metrics.ts'
import { describeOperation, findOperation } from './operations.ts'
import { createRateLimits, type RateLimitsConfig } from './rate-limits.ts'
import { docsRouter } from './reference-routes.ts'

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
  const operations = api
    .getOperations()
    .map((operation) => describeOperation(operation, config.prefix))
  const cache = cacheSize > 0 ? new ResponseCache(cacheSize, database.dataVersion) : undefined
  metrics?.addService({ database, limits, cache })

  const app = createExpress(config)
  const loggedParameters = operations.flatMap(({ query }) => query)
  app.use(trackRequests(logger, loggedParameters, metrics?.observeRequest))
  if (config.trustProxy === 0) app.use(warnAboutProxy(logger))
  const headers = { ...securityHeaders(baseUrl), ...corsHeaders }
  app.use(addCommonHeaders(headers, isDraining, preflightHeaders))
  app.use(receiveBodies)
  app.use(rejectInvalidRequests)
  app.use(healthRoutes(database, isDraining))
  app.use(path, findOperation(api, operations, limits))
  app.use(path, answerOperations(api, cache))
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
