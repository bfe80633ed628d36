import { Command } from 'commander'
import { authenticator } from '../accounts/store.ts'
import { appHandlers } from '../catalogue/handlers.ts'
import { readConfig } from '../config.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { Responder } from '../http/api.ts'
import { answerBy } from '../http/request.ts'
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
    serveUntilSignal(config, catalogue(database, config.baseUrl), `serving ${config.baseUrl}/apps`),
  )
}

/** Answers from the database. */
export const catalogue = (database: Database, baseUrl: string): Responder => ({
  authenticate: authenticator(database),
  respond: answerBy(appHandlers(database, baseUrl)),
  version: database.version,
  usage: database.usage,
  upkeep: database.upkeep,
  async demandReady() {
    const ailment = await database.ailment()
    if (ailment !== undefined) throw new ServiceError('unavailable', `The database ${ailment}.`)
    const age = await database.schemaAge().catch(() => undefined)
    if (age !== 'current') throw new ServiceError('unavailable', 'The database does not answer or is not migrated.')
  },
})
