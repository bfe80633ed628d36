import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'

// knex publishes no types for the dialect's own module; it is a Knex.Client.
const SqliteClient: typeof Knex.Client = createRequire(import.meta.url)('knex/lib/dialects/sqlite3/index.js')

/**
 * A plain BEGIN takes the write lock at the first write, and SQLite then refuses a transaction that has read
 * before, whatever busy_timeout says (https://sqlite.org/lang_transaction.html, section 2.2).
 */
class WritingClient extends SqliteClient {
  override transaction(container: unknown, config: unknown, outer: unknown) {
    // `begin` and `query` are the transaction's inner methods, which knex does not type.
    const transaction = super.transaction(container, config, outer) as Knex.Transaction & {
      begin: (connection: unknown) => Promise<void>
      query: (connection: unknown, sql: string) => Promise<void>
    }
    transaction.begin = (connection) => transaction.query(connection, 'BEGIN IMMEDIATE;')
    return transaction
  }
}

/** Every one is set on each new connection, in this order; a test reads them back. */
export const pragmas = {
  busy_timeout: 5000,
  journal_mode: 'wal',
  // FULL: what was acknowledged survives a power cut. NORMAL loses the last writes (https://sqlite.org/wal.html).
  synchronous: 2,
  foreign_keys: 1,
  // Negative: KiB. Four connections of 24 MiB.
  cache_size: -24_576,
  temp_store: 2,
  // Pages, 64 MiB. The default of 1000 makes an import write its pages to the database with every commit.
  wal_autocheckpoint: 16_000,
  // After a checkpoint a WAL that has grown beyond this is cut back.
  journal_size_limit: 64 * 1024 * 1024,
} as const

/** How long a query waits for a free connection, and so for the writers before it. */
const acquireTimeout = 5000

type ConnectionOptions = {
  connection: { filename: string; flags?: string[] }
  client: typeof Knex.Client
  max: number
  settings: Record<string, string | number>
}

function open({ connection, client, max, settings }: ConnectionOptions) {
  return knex({
    client,
    connection,
    useNullAsDefault: true,
    // Bound values, which are callers' data, stay out of error messages and so out of the log.
    compileSqlOnError: false,
    acquireConnectionTimeout: acquireTimeout,
    // knex would write to standard output what it also throws.
    log: { warn: ignore, error: ignore, debug: ignore },
    pool: {
      min: 0,
      max,
      // An idle connection is kept: opening one again costs more than it holds.
      idleTimeoutMillis: 2 ** 31 - 1,
      afterCreate: (
        connection: DriverConnection,
        done: (error: Error | null, connection: DriverConnection) => void,
      ) => {
        const sql = Object.entries(settings).map(([name, value]) => `PRAGMA ${name} = ${value};`)
        connection.exec(sql.join('\n'), (error) => done(error, connection))
      },
    },
  })
}

const ignore = () => {}

type DriverConnection = { exec: (sql: string, done: (error: Error | null) => void) => void }

/** One writer, and readers that cannot write: libuv's four threads then serve all of them at once. */
export const openWriter = (filename: string) =>
  open({ connection: { filename }, client: WritingClient, max: 1, settings: { ...pragmas, query_only: 0 } })
export const openReader = (filename: string, max = 3) =>
  open({ connection: { filename }, client: SqliteClient, max, settings: { ...pragmas, query_only: 1 } })

/**
 * A file that nobody writes, as it is without any other: `immutable` passes over a log or a journal beside it, and makes
 * none (https://sqlite.org/uri.html). Setting journal_mode would write to it.
 */
export const openCopy = (filename: string) =>
  open({
    connection: { filename: `${pathToFileURL(filename)}?mode=ro&immutable=1`, flags: ['OPEN_URI'] },
    client: SqliteClient,
    max: 1,
    settings: { cache_size: pragmas.cache_size, temp_store: pragmas.temp_store },
  })
