import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config.ts'
import { ServiceError } from '../contract/errors.ts'
import { newestMigration } from '../db/migrations.ts'
import type { ServiceBackend } from '../http/api.ts'

/** Listens as configured and logs the announcement. Returns after SIGTERM or SIGINT, when the requests in flight are finished. */
export async function serveUntilSignal(config: Config, backend: ServiceBackend, announcement: string) {
  // Imported here: no other command needs them, and they take longer to load than most commands to run.
  const { createListener } = await import('../http/app.ts')
  const { readDocument, readPage } = await import('../http/docs.ts')
  const { createLogger } = await import('../http/log.ts')
  const { listen } = await import('../http/server.ts')

  const logger = createLogger(config.logLevel)
  const document = await readDocument()
  const docsPage = await readPage()
  const metrics = config.metricsPort === 0 ? undefined : await createMetrics(document.info.version)
  let draining = false
  const listener = await createListener({
    config,
    backend,
    document,
    docsPage,
    logger,
    metrics,
    isDraining: () => draining,
  })
  const stopMetrics =
    metrics && (await metrics.listen(config).catch(rethrowListenError('METRICS_PORT', config.host, config.metricsPort)))
  const { port, drain } = await listen(listener, config, logger).catch(
    rethrowListenError('PORT', config.host, config.port),
  )
  if (docsPage === undefined)
    logger.warn('generated/docs.html is missing, so there is no /docs; run: make generated/docs.html')
  logger.info({ host: config.host, port, baseUrl: config.baseUrl }, announcement)
  // Loading the modules has grown V8's young generation to 32 MB. It would double twice under load, for 4 % more throughput.
  setFlagsFromString('--semi-space-growth-factor=1')

  const reason = await Promise.race([
    waitForSignal(),
    ...(process.env.npm_execpath === undefined ? [] : [waitForNpmExit()]),
  ])
  logger.info(`${reason}: finishing the requests in flight`)
  draining = true
  // The process must end even if something hangs, such as a database that another process has locked.
  setTimeout(() => {
    logger.error('not all could be finished in time')
    process.exit(1)
  }, 9500).unref()
  await drain()
  stopMetrics?.()
  logger.info('stopped serving')
}

async function createMetrics(version: string) {
  const { Metrics } = await import('../http/metrics.ts')
  return new Metrics({ version, schema: await newestMigration() })
}

function rethrowListenError(variable: string, host: string, port: number) {
  const reasons: Record<string, string> = {
    EADDRINUSE: `the port is taken; set ${variable} to another`,
    EACCES: `this account may not; set ${variable} to one from 1024`,
    EADDRNOTAVAIL: 'HOST is not an address of this machine',
    ENOTFOUND: 'HOST is not an address of this machine',
  }
  return ({ code, message }: NodeJS.ErrnoException) => {
    const reason = code === undefined ? message : (reasons[code] ?? code)
    throw new ServiceError('unavailable', `cannot listen on ${host}:${port}: ${reason}`)
  }
}

/** Resolves with the first signal. The listeners stay: without one, a second signal would end the process at once. */
function waitForSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT']) process.on(name, resolve)
  })
}

/** Read at once: npm may end as soon as the server is announced. */
const parentPid = process.ppid

/** A signal to npx ends only npm; the server would go on and hold the port. */
async function waitForNpmExit(): Promise<string> {
  while (process.ppid === parentPid) await delay(250, undefined, { ref: false })
  return 'npm has ended'
}
