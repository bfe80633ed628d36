import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'
import { measure } from '../../util/timing.ts'
import type { DatabaseFile } from './database-file.ts'
import { type DriverConnection, finalizeAll, isCacheable, prepareCached } from './statements.ts'

// knex publishes no types for the dialect's own module, nor for what it calls to run what it has built.
declare class KnexSqliteClient extends Knex.Client {
  _query(connection: DriverConnection, query: Query): Promise<Query>
}
type Query = { sql: string; bindings: readonly unknown[]; method: string; returning?: unknown }
const SqliteClient: typeof KnexSqliteClient = createRequire(import.meta.url)('knex/lib/dialects/sqlite3/index.js')

/** Keeps the statements of its connections prepared. */
class PreparingClient extends SqliteClient {
  override async _query(connection: DriverConnection, query: Query): Promise<Query> {
    if (!isCacheable(query.sql)) return super._query(connection, query)
    const statement = await prepareCached(connection, query.sql)
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

type Settings = Record<string, string | number>

// knex does not type the transaction's inner method.
type InnerTransaction = { begin: (connection: DriverConnection) => Promise<void> }

const execute = (connection: DriverConnection, statements: string) =>
  new Promise<void>((resolve, reject) => {
    connection.exec(statements, (error) => (error ? reject(error) : resolve()))
  })

/** Its connections have these PRAGMAs. */
const clientWith = (settings: Settings): typeof PreparingClient =>
  class extends PreparingClient {
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
      file.assertInPlaceOncePerTick()
      try {
        return await measure('waiting', () => super.acquireConnection())
      } catch (error) {
        // What the pool says while it is emptied is not the reason.
        file.assertInPlace()
        file.recordError(error)
        throw error
      }
    }

    override acquireRawConnection() {
      return file.openConnection(
        async () =>
          Object.assign(await super.acquireRawConnection(), {
            damageCount: file.damageCount(),
            recordError: file.recordError,
          }),
        (connection) => this.destroyRawConnection(connection),
      )
    }

    override destroyRawConnection(connection: DriverConnection) {
      file.forgetConnection(connection)
      return super.destroyRawConnection(connection)
    }

    /** Nothing is trusted that was read before damage. To close the connection could write the log into a damaged file. */
    override async validateConnection(connection: DriverConnection) {
      if (connection.damageCount !== file.damageCount()) {
        connection.damageCount = file.damageCount()
        await execute(connection, 'PRAGMA shrink_memory')
      }
      return true
    }

    override _query(connection: DriverConnection, query: Query) {
      return file.recordingErrors(measure('sql', () => super._query(connection, query)))
    }

    override transaction(container: unknown, config: unknown, outer: unknown) {
      const transaction = super.transaction(container, config, outer) as Knex.Transaction & InnerTransaction
      // It waits for those that write, in other processes too.
      transaction.begin = (connection) => file.recordingErrors(measure('waiting', () => execute(connection, begin)))
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
  // Negative: KiB. An import goes back to the pages that it has changed.
  cache_size: -24_576,
  temp_store: 2,
  // Pages, 64 MiB. The default of 1000 makes an import write its pages to the database with every commit.
  wal_autocheckpoint: 16_000,
  // After a checkpoint a WAL that has grown beyond this is cut back.
  journal_size_limit: 64 * 1024 * 1024,
} as const

/** KiB, as above. There are several readers, and what one has not kept is still in the system's cache. */
const readerCacheSize = -6144

/** How long a query waits for a free connection, and so for the writers before it. */
const acquireTimeout = 5000

/** How SQLite is to open a file (https://sqlite.org/uri.html). None of them makes one that is not there. */
type OpenMode = 'mode=rw' | 'mode=ro' | 'mode=ro&immutable=1'

const open = (filename: string, mode: OpenMode, client: typeof Knex.Client, max: number) =>
  knex({
    client,
    connection: { filename: `${pathToFileURL(filename)}?${mode}`, flags: ['OPEN_URI'] },
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

/** One writer, and readers that cannot write. */
export const openWriter = (filename: string, file: DatabaseFile) =>
  open(filename, 'mode=rw', clientOf(file, beginWriting, { ...pragmas, query_only: 0 }), 1)
export const openReader = (filename: string, file: DatabaseFile, max: number) =>
  open(
    filename,
    'mode=rw',
    clientOf(file, beginReading, { ...pragmas, cache_size: readerCacheSize, query_only: 1 }),
    max,
  )

/** A file that nobody writes, as it is without any other: `immutable` passes over a log or a journal beside it, and makes none. */
export const openCopy = (filename: string) =>
  open(
    filename,
    'mode=ro&immutable=1',
    clientWith({ cache_size: pragmas.cache_size, temp_store: pragmas.temp_store }),
    1,
  )

/** A file that no other process is to have open meanwhile. Set before the file is first read, or others are let in. */
export const openExclusive = (filename: string) =>
  open(filename, 'mode=rw', clientWith({ busy_timeout: 1000, locking_mode: 'exclusive', query_only: 1 }), 1)

/**
 * A file of which it is not known whose it is: no byte of it is changed. The last connection to close writes the log into the
 * file, unless it only reads; one that only reads leaves an empty log where there was none.
 */
export const openForInspection = (filename: string, hasLog: boolean) =>
  open(filename, hasLog ? 'mode=ro' : 'mode=rw', clientWith({ busy_timeout: pragmas.busy_timeout }), 1)
