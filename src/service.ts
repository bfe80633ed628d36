import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { authenticator } from './accounts/keys.ts'
import { readableLog } from './cli/readable-log.ts'
import { secondsSince } from './cli/time.ts'
import type { Config } from './config.ts'
import { ServiceError } from './contract/errors.ts'
import type { Database } from './db/database.ts'
import { newestMigration } from './db/migrations.ts'
import { readDocument, readPage } from './http/docs.ts'
import { createApp, type ServiceBackend } from './http/express-app.ts'
import { appHandlers } from './http/handlers.ts'
import { createLogger } from './http/log.ts'
import type { Metrics } from './http/metrics.ts'
import { listen } from './http/server.ts'
import { standardOutput } from './http/standard-output.ts'
import { statusStore } from './moderation/catalogue-status.ts'
import { coalesce } from './util/helpers.ts'

/**
 * Milliseconds from the signal until the process exits, even if something hangs, such as a database
 * that another process locks.
 */
export const exitLimit = 9500

/**
 * Listens as configured. Returns after SIGTERM or SIGINT, when the requests in flight are finished.
 */
export async function serveUntilSignal(config: Config, database: Database) {
  const { host, metricsPort, baseUrl } = config
  const logger = createLogger(
    config.logLevel,
    process.stdout.isTTY ? readableLog(standardOutput()) : undefined,
  )
  if (logger.isLevelEnabled('debug'))
    database.onStatement((sql) => logger.debug(sql.replaceAll(/\s+/g, ' ')))
  const document = await readDocument()
  const docsPage = await readPage()
  const metrics = metricsPort === 0 ? undefined : await createMetrics(document.info.version)
  if (metrics) addCatalogueGauges(metrics, database)
  let draining = false
  const isDraining = () => draining
  const backend = catalogueBackend(database, baseUrl)
  const app = await createApp({ config, backend, document, docsPage, logger, metrics, isDraining })
  const stopMetrics = await metrics?.listen(config).catch(rethrowListenError('METRICS_PORT'))
  const { port, drain } = await listen(app, config, logger).catch(rethrowListenError('PORT'))
  if (docsPage === undefined)
    logger.warn(
      'generated/docs.html is missing, so there is no /docs; run: make generated/docs.html',
    )
  logger.info({ host, port, baseUrl }, `serving ${baseUrl}/apps`)
  // Keeps V8's young generation at 32 MB. Under load it would grow to 128 MB, for only 4 % more
  // throughput.
  setFlagsFromString('--semi-space-growth-factor=1')

  logger.info(`${await waitForSignal()}: finishing the requests in flight`)
  draining = true
  setTimeout(() => {
    logger.error('some requests did not finish in time')
    process.exit(1)
  }, exitLimit).unref()
  await drain()
  stopMetrics?.()
  logger.info('stopped serving')
}

async function createMetrics(version: string) {
  // Imported here, because few servers have metrics.
  const { Metrics } = await import('./http/metrics.ts')
  return new Metrics({ version, schema: await newestMigration() })
}

/**
 * Node's message, such as "listen EADDRINUSE: address already in use 127.0.0.1:3000", and what to
 * do.
 */
const rethrowListenError = (variable: string) => (error: Error) => {
  throw new ServiceError('unavailable', `${error.message}; change HOST or ${variable}`)
}

/**
 * Resolves with the first signal. The listeners stay: without one, a second signal would end the
 * process at once.
 */
function waitForSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT']) process.on(name, resolve)
  })
}

/**
 * Everything http/ needs from the catalogue: authentication, handlers, and the state of the
 * database.
 */
export const catalogueBackend = (database: Database, baseUrl: string): ServiceBackend => ({
  authenticate: authenticator(database),
  handlers: appHandlers(database, baseUrl),
  dataVersion: database.dataVersion,
  usage: database.usage,
  assertReady: readinessCheck(database),
})

/**
 * Adds gauges of the apps that wait for operators. While the database cannot be read, only these
 * gauges are missing.
 */
export function addCatalogueGauges(metrics: Metrics, database: Database) {
  // Both gauges of a scrape share one read: a second one would wait, and so look like an overloaded
  // database.
  const read = coalesce(() =>
    database
      .snapshot(
        async (connection) => {
          const status = statusStore(connection)
          return { counts: await status.countApps(), oldest: await status.oldestWaiting('pending') }
        },
        { isExpensive: true },
      )
      .catch(() => undefined),
  )
  metrics.addGauge(
    'apps_by_status',
    'Apps in each state; changed ones are approved, too.',
    ['status'],
    async () => {
      const status = await read()
      return Object.entries(status?.counts ?? {}).map(([status, count]) => [{ status }, count])
    },
  )
  const help = 'How long the oldest pending app has waited; 0 if none waits.'
  metrics.addGauge('apps_oldest_pending_seconds', help, [], async () => {
    const status = await read()
    return status ? [[{}, status.oldest ? secondsSince(status.oldest.waiting_since) : 0]] : []
  })
}

/**
 * Returns the check of /readyz. Concurrent calls share it and fail after 5 s; the next check begins
 * when it has ended.
 */
function readinessCheck(database: Database): () => Promise<void> {
  let running: Promise<void> | undefined

  async function check() {
    const healthError = await database.checkHealth()
    if (healthError !== undefined)
      throw new ServiceError('unavailable', `The database ${healthError}.`)
    const age = await database.schemaAge().catch(() => undefined)
    if (age !== 'current')
      throw new ServiceError('unavailable', 'The database does not answer or is not migrated.')
  }
  async function timeOut() {
    await delay(5000, undefined, { ref: false })
    throw new ServiceError('unavailable', 'The database does not answer.')
  }
  return async () => {
    running ??= Promise.race([check().finally(() => (running = undefined)), timeOut()])
    await running
  }
}
