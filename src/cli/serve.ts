import { Command } from 'commander'
import { authenticator } from '../accounts/store.ts'
import { appHandlers } from '../apps/handlers.ts'
import { readConfig } from '../config.ts'
import type { Database } from '../db/open.ts'
import { ServiceError } from '../errors.ts'
import type { Responder } from '../http/api.ts'
import { answerBy } from '../http/input.ts'
import { withDatabase } from './command.ts'
import { serveUntilSignal } from './serving.ts'

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
