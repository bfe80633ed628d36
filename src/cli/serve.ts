import { once } from 'node:events'
import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { openMigratedDatabase } from '../db/open.ts'
import { ServiceError } from '../errors.ts'

export const serveCommand = () =>
  new Command('serve')
    .description('serve the catalogue over HTTP until SIGTERM or SIGINT')
    .addHelpText('after', '\nThe environment says where; README.md has the table.')
    .action(serve)

async function serve() {
  // Loaded here, since no other command needs them and they take longer to load than most commands to run.
  const { createApp } = await import('../http/app.ts')
  const { readDocument, readPage } = await import('../http/docs.ts')
  const { createLogger } = await import('../http/log.ts')
  const { drain, listen } = await import('../http/server.ts')

  const config = readConfig(process.env)
  const database = await openMigratedDatabase(config.database)
  const logger = createLogger(config.logLevel)
  const docsPage = await readPage()
  let draining = false
  const app = await createApp({
    config,
    database,
    document: await readDocument(),
    docsPage,
    logger,
    isDraining: () => draining,
  })
  const { server, port } = await listen(app, config, logger).catch(async (error: NodeJS.ErrnoException) => {
    await database.close()
    throw new ServiceError('unavailable', `cannot listen on ${config.host}:${config.port}: ${reasonOf(error)}`)
  })
  if (docsPage === undefined)
    logger.warn('generated/docs.html is missing, so there is no /docs; run: make generated/docs.html')
  logger.info({ host: config.host, port, baseUrl: config.baseUrl }, `serving ${config.baseUrl}/apps`)

  const signal = await Promise.race(['SIGTERM', 'SIGINT'].map((name) => once(process, name).then(() => name)))
  logger.info(`${signal}: finishing the requests in flight`)
  draining = true
  // Whatever hangs, a database under another process's lock for one, the process ends in time.
  setTimeout(() => {
    logger.error('not all could be finished in time')
    process.exit(1)
  }, 9500).unref()
  await drain(server)
  await database.close()
  logger.info('stopped')
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'the port is taken; set PORT to another'
    case 'EACCES':
      return 'this account may not; set PORT to one from 1024'
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'HOST is not an address of this machine'
    default:
      return code ?? message
  }
}
