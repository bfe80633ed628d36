import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { authenticator } from '../accounts/keys.ts'
import { appHandlers } from '../catalogue/handlers.ts'
import { readConfig } from '../config.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { ServiceBackend } from '../http/api.ts'
import type { Metrics } from '../http/metrics.ts'
import { mock } from '../http/mock.ts'
import { dispatchTo } from '../http/request.ts'
import { statusStore } from '../moderation/status.ts'
import { coalesce } from '../util/helpers.ts'
import { withDatabase } from './command.ts'
import { secondsSince } from './time.ts'

export const serveCommand = () =>
  new Command('serve')
    .description('serve the catalogue over HTTP until SIGTERM or SIGINT')
    .addHelpText('after', '\nIt is configured by environment variables; see README.md.')
    .action(serve)

export const mockCommand = () =>
  new Command('mock')
    .description("serve the document's examples over HTTP, without a database, for tests of clients")
    .addHelpText(
      'after',
      `
Requests are validated as the server does. A valid one gets the document's first
example of success; the header Prefer asks for another. Any key is accepted:
Bearer anything. Creates, updates and deletes change nothing. It is configured
as serve is.

Examples, once it serves:
  curl http://localhost:3000/apps/42
  curl http://localhost:3000/apps/42 -H 'Prefer: code=404'
  curl http://localhost:3000/apps/42 -H 'Prefer: example=rejected'
  curl -X DELETE http://localhost:3000/apps/42 -H 'Authorization: Bearer any'`,
    )
    .action(serveMock)

async function serve() {
  const config = readConfig(process.env)
  const { serveUntilSignal } = await import('./run-server.ts')
  const announcement = `serving ${config.baseUrl}/apps`
  await withDatabase(
    (database) => {
      const backend = catalogueBackend(database, config.baseUrl)
      return serveUntilSignal(config, backend, announcement, (metrics) => addCatalogueGauges(metrics, database))
    },
    // Far more than a request's statements take: after that, the network to the database hangs.
    { writeTimeout: 25_000 },
  )
}

async function serveMock() {
  // It opens no database, so any DATABASE_URL will do; and tests need no limits.
  const unused = { DATABASE_URL: '', WRITE_LIMIT: '0', REFUSED_KEY_LIMIT: '0', READ_LIMIT: '0' }
  const config = readConfig({ ...process.env, ...unused })
  const { serveUntilSignal } = await import('./run-server.ts')
  const announcement = `serving a mock on ${config.baseUrl}/apps: examples alone, no database`
  await serveUntilSignal(config, mock(config.baseUrl), announcement)
}

/** Handles requests with the database. */
export const catalogueBackend = (database: Database, baseUrl: string): ServiceBackend => ({
  authenticate: authenticator(database),
  handle: dispatchTo(appHandlers(database, baseUrl)),
  dataVersion: database.dataVersion,
  usage: database.usage,
  assertReady: readinessCheck(database),
})

/** What waits for operators. While the database cannot be read, only these gauges are missing from the metrics. */
export function addCatalogueGauges(metrics: Metrics, database: Database) {
  // Both gauges of a scrape share one read.
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
  metrics.addGauge('apps_by_status', 'Apps in each state; changed ones are approved, too.', ['status'], async () => {
    const status = await read()
    return Object.entries(status?.counts ?? {}).map(([status, count]) => [{ status }, count])
  })
  const help = 'How long the oldest pending app has waited; 0 if none waits.'
  metrics.addGauge('apps_oldest_pending_seconds', help, [], async () => {
    const status = await read()
    return status ? [[{}, status.oldest ? secondsSince(status.oldest.waiting_since) : 0]] : []
  })
}

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
