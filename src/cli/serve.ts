import { Command } from 'commander'
import { authenticator } from '../accounts/store.ts'
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
  await withDatabase((database) =>
    serveUntilSignal(config, catalogueBackend(database, config.baseUrl), `serving ${config.baseUrl}/apps`),
  )
}

/** Handles requests with the database. */
export const catalogueBackend = (database: Database, baseUrl: string): ServiceBackend => ({
  authenticate: authenticator(database),
  handle: dispatchTo(appHandlers(database, baseUrl)),
  dataVersion: database.dataVersion,
  usage: database.usage,
  maintain: database.maintain,
  async assertReady() {
    const healthError = await database.checkHealth()
    if (healthError !== undefined) throw new ServiceError('unavailable', `The database ${healthError}.`)
    const age = await database.schemaAge().catch(() => undefined)
    if (age !== 'current') throw new ServiceError('unavailable', 'The database does not answer or is not migrated.')
  },
})
