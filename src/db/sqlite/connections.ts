import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'
import { spending } from '../../spent.ts'
import { type DriverConnection, finalizeAll, isKept, prepared } from './statements.ts'

// knex publishes no types for the dialect's own module, nor for what it calls to run what it has built.
declare class KnexSqliteClient extends Knex.Client {
  _query(connection: DriverConnection, query: Query): Promise<Query>
}
type Query = { sql: string; bindings: readonly unknown[]; method: string; returning?: unknown }
const SqliteClient: typeof KnexSqliteClient = createRequire(import.meta.url)('knex/lib/dialects/sqlite3/index.js')

/** Keeps the statements of its connections prepared. */
class PreparingClient extends SqliteClient {
  override async _query(connection: DriverConnection, query: Query): Promise<Query> {
    if (!isKept(query.sql)) return super._query(connection, query)
    const statement = await prepared(connection, query.sql)
    // As knex itself has it: what returns no rows tells how many it has changed.
    const isChange = ['insert', 'update', 'del', 'counter'].includes(query.method) && !query.returning
    return new Promise((resolve, reject) => {
      statement[isChange ? 'run' : 'all'](query.bindings, function (error, rows) {
        if (error) reject(error)
        else resolve(Object.assign(query, { response: rows, context: this }))
      })
    })
  }

  override async destroyRawConnection(connection: DriverConnection) {
    await finalizeAll(connection)
    await super.destroyRawConnection(connection)
  }
}

// `begin` is the transaction's inner method, which knex does not type.
type InnerTransaction = { begin: (connection: DriverConnection) => Promise<void> }

/** Begins its transactions by itself: knex has no option for how, and its own way takes three times as long. */
const clientBeginning = (statement: string): typeof Knex.Client =>
  class extends PreparingClient {
    override transaction(container: unknown, config: unknown, outer: unknown) {
      const transaction = super.transaction(container, config, outer) as Knex.Transaction & InnerTransaction
      // It waits for those that write, in other processes too.
      transaction.begin = (connection) => spending('waiting', () => execute(connection, statement))
      return transaction
    }

    override acquireConnection() {
      return spending('waiting', () => super.acquireConnection())
    }

    override _query(connection: DriverConnection, query: Query) {
      return spending('sql', () => super._query(connection, query))
    }
  }

const execute = (connection: DriverConnection, statements: string) =>
  new Promise<void>((resolve, reject) => {
    connection.exec(statements, (error) => (error ? reject(error) : resolve()))
  })

/** Sees the moment of its first statement until it ends (https://sqlite.org/isolation.html). */
const ReadingClient = clientBeginning('BEGIN')

/**
 * A plain BEGIN takes the write lock at the first write, and SQLite then refuses a transaction that has read
 * before, whatever busy_timeout says (https://sqlite.org/lang_transaction.html, section 2.2).
 */
const WritingClient = clientBeginning('BEGIN IMMEDIATE')

/** Every one is set on each new connection, in this order; a test reads them back. */
export const pragmas = {
  busy_timeout: 5000,
  journal_mode: 'wal',
  // FULL: what was acknowledged survives a power cut. NORMAL loses the last writes (https://sqlite.org/wal.html).
  synchronous: 2,
  foreign_keys: 1,
  // Negative: KiB. Five connections of 24 MiB.
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
        execute(connection, sql.join('\n')).then(
          () => done(null, connection),
          (error) => done(error, connection),
        )
      },
    },
  })
}

const ignore = () => {}

/** One writer, and readers that cannot write. */
export const openWriter = (filename: string) =>
  open({ connection: { filename }, client: WritingClient, max: 1, settings: { ...pragmas, query_only: 0 } })
export const openReader = (filename: string, max: number) =>
  open({ connection: { filename }, client: ReadingClient, max, settings: { ...pragmas, query_only: 1 } })

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
