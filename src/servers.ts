import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { ServiceError } from './contract/errors.ts'
import type { Database } from './db/database.ts'
import { newestMigration } from './db/schema-age.ts'
import { createApp } from './http/app.ts'
import { createLogger } from './http/log.ts'
import { readableLog } from './http/readable-log.ts'
import { readDocument, readPage } from './http/reference-routes.ts'
import { listen, listenHost } from './http/server.ts'
import { standardOutput } from './http/standard-output.ts'

/**
 * Milliseconds from the signal until the process exits, even if something hangs, such as a database
 * that another process locks.
 */
export const exitLimit = 9500

/** Serves the catalogue as configured, until SIGTERM or SIGINT. */
export async function serveUntilSignal(config: Config, database: Database): Promise<void> {
  const { host, metricsPort, baseUrl } = config
  const logger = startLog(config, database)
  const document = await readDocument()
  const docsPage = await readPage()
  const metrics = metricsPort === 0 ? undefined : await createMetrics(document.info.version)
  const stopMetrics = await metrics
    ?.listen({ host: listenHost(host), port: metricsPort })
    .catch(rethrowListenError('METRICS_PORT', { host, port: metricsPort }))
  await serveApp(
    (isDraining) =>
      createApp({ config, database, document, docsPage, logger, metrics, isDraining }),
    { ...config, logger, portVariable: 'PORT' },
    (port) => {
      if (docsPage === undefined)
        logger.warn(
          'generated/docs.html is missing, so there is no /docs; run: make generated/docs.html',
        )
      const address = withPort(baseUrl, port)
      logger.info({ host, port, baseUrl: address }, `serving ${address}/apps`)
    },
  )
  stopMetrics?.()
}

/** Serves the moderation page as configured, until SIGTERM or SIGINT. */
export async function serveModerationUntilSignal(
  config: Config,
  database: Database,
  account: string,
): Promise<void> {
  // Imported here, so that the public server does not load it.
  const { createModerationApp } = await import('./moderation-page/app.ts')
  const { moderation, host } = config
  const logger = startLog(config, database)
  await serveApp(
    (isDraining) => createModerationApp({ config, database, logger, account, isDraining }),
    { ...config, port: moderation.port, logger, portVariable: 'MODERATION_PORT' },
    (port) => {
      const address = withPort(moderation.baseUrl, port)
      logger.info({ host, port, baseUrl: address }, `serving the moderation page ${address}/`)
    },
  )
}

/** The address with the port that the system has chosen, if the default one follows PORT=0. */
const withPort = (baseUrl: string, port: number) => baseUrl.replace(/:0$/, `:${port}`)

function startLog({ logLevel }: Config, database: Database): Logger {
  const output = standardOutput()
  const logger = createLogger(logLevel, process.stdout.isTTY ? readableLog(output) : output)
  if (logger.isLevelEnabled('debug'))
    database.onStatement((sql) => logger.debug(sql.replaceAll(/\s+/g, ' ')))
  return logger
}

type ServeOptions = Pick<Config, 'host' | 'port' | 'trustProxy'> & {
  logger: Logger
  /** The variable that sets the port. */
  portVariable: string
}

/**
 * Listens, and calls `onListening` with the port. Returns after SIGTERM or SIGINT, when the requests
 * in flight are finished.
 */
async function serveApp(
  makeApp: (isDraining: () => boolean) => ReturnType<typeof createApp>,
  options: ServeOptions,
  onListening: (port: number) => void,
) {
  const { logger, portVariable } = options
  let draining = false
  const app = await makeApp(() => draining)
  const { port, drain } = await listen(app, options, logger).catch(
    rethrowListenError(portVariable, options),
  )
  onListening(port)
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
  logger.info('stopped serving')
}

async function createMetrics(version: string) {
  // Imported here, because few servers have metrics.
  const { Metrics } = await import('./http/metrics.ts')
  return new Metrics({ version, schema: newestMigration.replace(/\.ts$/, '') })
}

/** Names the setting that is wrong, and what to set. */
const rethrowListenError =
  (variable: string, { host, port }: Pick<Config, 'host' | 'port'>) =>
  ({ code = '', message }: NodeJS.ErrnoException) => {
    throw new ServiceError('unavailable', describe())

    function describe() {
      switch (code) {
        case 'EADDRINUSE':
          return `${variable}=${port} is in use on ${host}; set another one, such as ${variable}=${port + (port < 60_000 ? 1000 : -1000)}`
        case 'EACCES':
          return `this account may not listen on ${variable}=${port}; set one from 1024, such as ${variable}=8080`
        case 'EADDRNOTAVAIL':
        case 'EINVAL':
        case 'ENOTFOUND':
          return `HOST=${host} is not an address of this machine; set HOST=127.0.0.1, or HOST=:: for all addresses`
        default:
          return `${message}; change HOST or ${variable}`
      }
    }
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
