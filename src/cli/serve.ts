import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { authenticator } from '../accounts/keys.ts'
import { appHandlers } from '../catalogue/handlers.ts'
import { readConfig } from '../config.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { ServiceBackend } from '../http/api.ts'
import { dispatchTo } from '../http/request.ts'
import { withDatabase } from './command.ts'
import { serveUntilSignal } from './run-server.ts'

export const serveCommand = () =>
  new Command('serve')
    .description('serve the catalogue over HTTP until SIGTERM or SIGINT')
    .addHelpText('after', '\nThe environment says where; README.md has the table.')
    .action(serve)

async function serve() {
  const config = readConfig(process.env)
  await withDatabase(
    (database) =>
      serveUntilSignal(config, catalogueBackend(database, config.baseUrl), `serving ${config.baseUrl}/apps`),
    // Far more than a request's statements take: the network to the database hangs.
    { writeTimeout: 25_000 },
  )
}

/** Handles requests with the database. */
export const catalogueBackend = (database: Database, baseUrl: string): ServiceBackend => ({
  authenticate: authenticator(database),
  handle: dispatchTo(appHandlers(database, baseUrl)),
  dataVersion: database.dataVersion,
  usage: database.usage,
  assertReady: readinessCheck(database),
})

/** All callers share one check. It fails after 5 s, and the next one starts only when it has ended. */
function readinessCheck(database: Database): () => Promise<void> {
  let running: Promise<void> | undefined

  async function check() {
    const healthError = await database.checkHealth()
    if (healthError !== undefined) throw new ServiceError('unavailable', `The database ${healthError}.`)
    const age = await database.schemaAge().catch(() => undefined)
    if (age !== 'current') throw new ServiceError('unavailable', 'The database does not answer or is not migrated.')
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
