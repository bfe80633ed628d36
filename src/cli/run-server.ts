import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config.ts'
import { ServiceError } from '../contract/errors.ts'
import { newestMigration } from '../db/migrations.ts'
import type { ServiceBackend } from '../http/api.ts'
import { createListener } from '../http/app.ts'
import { readDocument, readPage } from '../http/docs.ts'
import { createLogger } from '../http/log.ts'
import type { Metrics } from '../http/metrics.ts'
import { listen } from '../http/server.ts'
import { standardOutput } from '../http/standard-output.ts'
import { readableLog } from './readable-log.ts'

/**
 * Listens as configured and logs the announcement. Returns after SIGTERM or SIGINT, when the requests in flight are finished.
 * `addMetrics` adds metrics of what the backend serves.
 */
export async function serveUntilSignal(
  config: Config,
  backend: ServiceBackend,
  announcement: string,
  addMetrics: (metrics: Metrics) => void = () => {},
) {
  const { host, metricsPort, baseUrl } = config
  const logger = createLogger(config.logLevel, process.stdout.isTTY ? readableLog(standardOutput()) : undefined)
  const document = await readDocument()
  const docsPage = await readPage()
  const metrics = metricsPort === 0 ? undefined : await createMetrics(document.info.version)
  if (metrics) addMetrics(metrics)
  let draining = false
  const isDraining = () => draining
  const listener = await createListener({ config, backend, document, docsPage, logger, metrics, isDraining })
  const stopMetrics = await metrics?.listen(config).catch(rethrowListenError('METRICS_PORT'))
  const { port, drain } = await listen(listener, config, logger).catch(rethrowListenError('PORT'))
  if (docsPage === undefined)
    logger.warn('generated/docs.html is missing, so there is no /docs; run: make generated/docs.html')
  logger.info({ host, port, baseUrl }, announcement)
  // Loading the modules has grown V8's young generation to 32 MB. It would double twice under load, for 4 % more throughput.
  setFlagsFromString('--semi-space-growth-factor=1')

  logger.info(`${await waitForSignal()}: finishing the requests in flight`)
  draining = true
  // The process must exit even if something hangs, such as a database that another process has locked.
  setTimeout(() => {
    logger.error('some requests did not finish in time')
    process.exit(1)
  }, 9500).unref()
  await drain()
  stopMetrics?.()
  logger.info('stopped serving')
}

async function createMetrics(version: string) {
  // Imported here, because few servers have metrics.
  const { Metrics } = await import('../http/metrics.ts')
  return new Metrics({ version, schema: await newestMigration() })
}

/** Node's message, such as "listen EADDRINUSE: address already in use 127.0.0.1:3000", and what to do. */
const rethrowListenError = (variable: string) => (error: Error) => {
  throw new ServiceError('unavailable', `${error.message}; change HOST or ${variable}`)
}

/** Resolves with the first signal. The listeners stay: without one, a second signal would end the process at once. */
function waitForSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT']) process.on(name, resolve)
  })
}
