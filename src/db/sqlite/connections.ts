import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'
import type { DatabaseFile } from './file.ts'

// knex publishes no types for the dialect's own module; it is a Knex.Client.
const SqliteClient: typeof Knex.Client = createRequire(import.meta.url)('knex/lib/dialects/sqlite3/index.js')

type Settings = Record<string, string | number>

type DriverConnection = {
  exec: (sql: string, done: (error: Error | null) => void) => void
  /** How often the file had been found damaged when this connection last forgot what it had read. */
  damages?: number
}

// knex does not type the transaction's inner method, nor what of the client runs a statement.
type InnerTransaction = { begin: (connection: DriverConnection) => Promise<void> }
type RunsStatements = { _query: (connection: DriverConnection, query: unknown) => Promise<unknown> }
const { _query: runStatement } = SqliteClient.prototype as unknown as RunsStatements

const execute = (connection: DriverConnection, statements: string) =>
  new Promise<void>((resolve, reject) => {
    connection.exec(statements, (error) => (error ? reject(error) : resolve()))
  })

/** Its connections have these PRAGMAs. */
const clientWith = (settings: Settings): typeof Knex.Client =>
  class extends SqliteClient {
    override async acquireRawConnection() {
      const connection: DriverConnection = await super.acquireRawConnection()
      const statements = Object.entries(settings).map(([name, value]) => `PRAGMA ${name} = ${value};`)
      try {
        await execute(connection, statements.join('\n'))
      } catch (error) {
        await this.destroyRawConnection(connection)
        throw error
      }
      return connection
    }
  }

/**
 * Works with the database's file while it is in its place, and tells it what goes wrong. Begins its transactions by itself:
 * knex has no option for how, and its own way takes three times as long.
 */
const clientOf = (file: DatabaseFile, begin: string, settings: Settings): typeof Knex.Client =>
  class extends clientWith(settings) {
    override async acquireConnection() {
      file.demandInPlace()
      try {
        return await super.acquireConnection()
      } catch (error) {
        // What the pool says while it is emptied is not the reason.
        file.demandInPlace()
        file.notice(error)
        throw error
      }
    }

    override acquireRawConnection() {
      return file.admit(
        async () => Object.assign(await super.acquireRawConnection(), { damages: file.damages() }),
        (connection) => this.destroyRawConnection(connection),
      )
    }

    override destroyRawConnection(connection: DriverConnection) {
      file.dismiss(connection)
      return super.destroyRawConnection(connection)
    }

    /** Nothing is trusted that was read before damage. To close the connection could write the log into a damaged file. */
    override async validateConnection(connection: DriverConnection) {
      if (connection.damages !== file.damages()) {
        connection.damages = file.damages()
        await execute(connection, 'PRAGMA shrink_memory')
      }
      return true
    }

    _query(connection: DriverConnection, query: unknown) {
      return file.noticing(runStatement.call(this, connection, query))
    }

    override transaction(container: unknown, config: unknown, outer: unknown) {
      const transaction = super.transaction(container, config, outer) as Knex.Transaction & InnerTransaction
      transaction.begin = (connection) => file.noticing(execute(connection, begin))
      return transaction
    }
  }

/** Sees the moment of its first statement until it ends (https://sqlite.org/isolation.html). */
const beginReading = 'BEGIN'

/**
 * A plain BEGIN takes the write lock at the first write, and SQLite then refuses a transaction that has read
 * before, whatever busy_timeout says (https://sqlite.org/lang_transaction.html, section 2.2).
 */
const beginWriting = 'BEGIN IMMEDIATE'

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

/** How SQLite is to open a file (https://sqlite.org/uri.html). None of them makes one that is not there. */
type Opening = 'mode=rw' | 'mode=ro' | 'mode=ro&immutable=1'

const open = (filename: string, opening: Opening, client: typeof Knex.Client, max: number) =>
  knex({
    client,
    connection: { filename: `${pathToFileURL(filename)}?${opening}`, flags: ['OPEN_URI'] },
    useNullAsDefault: true,
    // Bound values, which are callers' data, stay out of error messages and so out of the log.
    compileSqlOnError: false,
    acquireConnectionTimeout: acquireTimeout,
    // knex would write to standard output what it also throws.
    log: { warn: ignore, error: ignore, debug: ignore },
    // An idle connection is kept: opening one again costs more than it holds.
    pool: { min: 0, max, idleTimeoutMillis: 2 ** 31 - 1 },
  })

const ignore = () => {}

/** One writer, and readers that cannot write: libuv's four threads then serve all of them at once. */
export const openWriter = (filename: string, file: DatabaseFile) =>
  open(filename, 'mode=rw', clientOf(file, beginWriting, { ...pragmas, query_only: 0 }), 1)
export const openReader = (filename: string, file: DatabaseFile, max = 3) =>
  open(filename, 'mode=rw', clientOf(file, beginReading, { ...pragmas, query_only: 1 }), max)

/** A file that nobody writes, as it is without any other: `immutable` passes over a log or a journal beside it, and makes none. */
export const openCopy = (filename: string) =>
  open(
    filename,
    'mode=ro&immutable=1',
    clientWith({ cache_size: pragmas.cache_size, temp_store: pragmas.temp_store }),
    1,
  )

/**
 * A file of which it is not known whose it is: no byte of it is changed. The last connection to close writes the log into the
 * file, unless it only reads; one that only reads leaves an empty log where there was none.
 */
export const openUnknown = (filename: string, hasLog: boolean) =>
  open(filename, hasLog ? 'mode=ro' : 'mode=rw', clientWith({ busy_timeout: pragmas.busy_timeout }), 1)
