import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import type { Database, RunResult, Statement } from 'sqlite3'
import { OperatorError } from '../../contract/errors.ts'
import { defaultLockTimeout, type EngineQueryRunner } from '../engine.ts'
import { separateStatements } from '../error-meaning.ts'
import type { DatabaseFile } from './database-file.ts'
import { isRolledBack } from './errors.ts'

/**
 * knex's client for SQLite, extended: it caches prepared statements, sets PRAGMAs, and checks the
 * database file around each use. The functions at the end open a file with it, one for each
 * purpose. A test of test/db fails without any one of the overrides.
 */

/** A connection of the driver, with what is added to it here. */
type DriverConnection = Database & {
  /** Prepared statements by their SQL. */
  statements: LRUCache<string, Promise<Statement>>
  /** The file's `damageCount` when the connection last dropped its page cache. */
  damageCount?: number
}

// knex publishes no types for its SQLite client, nor for the methods that are overridden here.
declare class KnexSqliteClient extends Knex.Client {
  _driver(): unknown
  _query(connection: DriverConnection, query: Query): Promise<Query>
  queryCompiler(builder: unknown, formatter?: unknown): object
}
type Query = { sql: string; bindings: readonly unknown[]; method: string; returning?: unknown }
type InnerTransaction = { begin: (connection: DriverConnection) => Promise<void> }
const SqliteClient: typeof KnexSqliteClient = createRequire(import.meta.url)(
  'knex/lib/dialects/sqlite3/index.js',
)

/** Statements that each connection caches: more than a running service has. */
const maxCached = 200
/** Characters. A longer statement holds values of many rows and is unlikely to come again. */
const maxCachedLength = 10_000

/**
 * A prepared statement. The driver itself would prepare it again for each execution, in a thread.
 */
function prepareCached(connection: DriverConnection, sql: string): Promise<Statement> {
  const cached = connection.statements.get(sql)
  if (cached) return cached
  const preparing = prepare(connection, sql)
  connection.statements.set(sql, preparing)
  preparing.catch(() => connection.statements.delete(sql))
  return preparing
}

const prepare = (connection: DriverConnection, sql: string) =>
  new Promise<Statement>((resolve, reject) => {
    const statement = connection.prepare(withoutReplanning(sql), (error) =>
      error ? reject(error) : resolve(statement),
    )
  })

/**
 * If LIMIT is only a parameter, SQLite plans the statement again for each value, which takes as
 * long as finding a page of apps (computeLimitRegisters in
 * https://sqlite.org/src/file/src/select.c). An expression prevents that.
 */
const withoutReplanning = (sql: string) => sql.replaceAll(/\blimit \?/gi, 'limit ?+0')

const finalize = (preparing: Promise<Statement>) =>
  preparing.then(
    (statement) => new Promise<void>((resolve) => statement.finalize(() => resolve())),
    () => {},
  )

const execute = (connection: DriverConnection, statements: string) =>
  new Promise<void>((resolve, reject) => {
    connection.exec(statements, (error) => (error ? reject(error) : resolve()))
  })

/** The rows of a written-out statement. */
export const rowsOf =
  (sql: Knex) =>
  async <Row>(statement: string, values: readonly (string | number | Buffer)[]): Promise<Row[]> => {
    const rows: unknown = await sql.raw(statement, values)
    // The caller knows the type of the statement's rows.
    return rows as Row[]
  }

export const jsonRows: EngineQueryRunner['jsonRows'] = (from, columns, orderBy) => {
  const fields = columns.map((name) => `'${name}', ${name}`)
  return `(select json_group_array(json_object(${fields}) order by ${orderBy}) from ${from})`
}

/**
 * A JSON array, to be bound and cast to text. Each value is encoded by itself: one character beyond
 * Latin-1 makes encoding the whole string three times as slow.
 */
export function jsonArrayBytes(values: unknown[]): Buffer {
  const texts = values.map((value, index) =>
    Buffer.from((index === 0 ? '' : ',') + JSON.stringify(value)),
  )
  return Buffer.concat([Buffer.from('['), ...texts, Buffer.from(']')])
}

type Settings = Record<string, string | number>

/** A client that sets these PRAGMAs on each new connection and caches its prepared statements. */
const clientWith = (settings: Settings): typeof KnexSqliteClient =>
  class extends SqliteClient {
    /** knex's error would say only to install the driver, even if this glibc is too old for it. */
    override initializeDriver() {
      try {
        this.driver = this._driver()
      } catch (error) {
        throw new OperatorError(`Cannot load the SQLite driver: ${(error as Error).message}`)
      }
    }

    /**
     * Not in knex's `afterCreate`: the PRAGMA journal_mode creates the log, which `openConnection`
     * then identifies.
     */
    override async acquireRawConnection() {
      const connection: DriverConnection = Object.assign(await super.acquireRawConnection(), {
        statements: new LRUCache<string, Promise<Statement>>({ max: maxCached, dispose: finalize }),
      })
      const statements = Object.entries(settings).map(
        ([name, value]) => `PRAGMA ${name} = ${value};`,
      )
      try {
        await execute(connection, statements.join('\n'))
      } catch (error) {
        await super.destroyRawConnection(connection)
        throw error
      }
      return connection
    }

    override async _query(connection: DriverConnection, query: Query): Promise<Query> {
      if (query.sql.length > maxCachedLength) return super._query(connection, query)
      const statement = await prepareCached(connection, query.sql)
      // As in knex: `run` is for statements that return the number of changed rows.
      const isChange =
        ['insert', 'update', 'del', 'counter'].includes(query.method) && !query.returning
      return new Promise((resolve, reject) => {
        function done(this: RunResult, error: Error | null, rows?: unknown[]) {
          if (error) reject(error)
          else resolve(Object.assign(query, { response: rows, context: this }))
        }
        if (isChange) statement.run(query.bindings, done)
        else statement.all(query.bindings, done)
      })
    }

    /**
     * There is one writer at a time, so rows are never locked. knex ignores `forUpdate` too, but
     * throws for this.
     */
    override queryCompiler(builder: unknown, formatter?: unknown) {
      return Object.assign(super.queryCompiler(builder, formatter), { skipLocked: () => '' })
    }

    override async destroyRawConnection(connection: DriverConnection) {
      // A connection with a statement that is not finalized cannot be closed.
      await Promise.all([...connection.statements.values()].map(finalize))
      await super.destroyRawConnection(connection)
    }
  }

/**
 * A client that works only while the file that it has open is the one at the path, and reports
 * errors to `file`. The statement `begin` starts its transactions; knex has no option for that, and
 * its own way takes three times as long.
 */
const clientOf = (file: DatabaseFile, begin: string, settings: Settings): typeof Knex.Client =>
  class extends clientWith(settings) {
    override async acquireConnection() {
      file.assertInPlaceThisTurn()
      return file.watch(() => super.acquireConnection())
    }

    override acquireRawConnection() {
      return file.openConnection(
        () => super.acquireRawConnection(),
        (connection) => super.destroyRawConnection(connection),
      )
    }

    /**
     * After damage, drops the cached pages and not the connection: closing it could write the log
     * into a damaged file.
     */
    override async validateConnection(connection: DriverConnection) {
      if (connection.damageCount !== file.damageCount) {
        connection.damageCount = file.damageCount
        await execute(connection, 'PRAGMA shrink_memory')
      }
      return true
    }

    override async _query(connection: DriverConnection, query: Query) {
      const done = await file
        .watch(() => super._query(connection, query))
        .catch((error: unknown) => {
          if (query.sql.startsWith('ROLLBACK') && isRolledBack(error)) return query
          throw error
        })
      // A write is only acknowledged if it is in the file at the path.
      if (query.sql.startsWith('COMMIT')) file.assertInPlace()
      return done
    }

    override transaction(container: unknown, config: unknown, outer: unknown) {
      const transaction = super.transaction(container, config, outer) as Knex.Transaction &
        InnerTransaction
      // Waits for other writers, also those of other processes.
      transaction.begin = (connection) => file.watch(() => execute(connection, begin))
      return transaction
    }
  }

/** Sees the moment of its first statement until it ends (https://sqlite.org/isolation.html). */
const beginReading = 'BEGIN'

/**
 * A plain BEGIN takes the write lock at the first write, and SQLite then refuses a transaction that
 * has read before, whatever busy_timeout says (https://sqlite.org/lang_transaction.html, section
 * 2.2).
 */
const beginWriting = 'BEGIN IMMEDIATE'

/** Set on each new connection, in this order; a test reads them back. */
export const pragmas = {
  busy_timeout: defaultLockTimeout,
  journal_mode: 'wal',
  // 2 is FULL: what was acknowledged survives a power cut. NORMAL loses the last writes
  // (https://sqlite.org/wal.html).
  synchronous: 2,
  foreign_keys: 1,
  // Negative: KiB. An import goes back to the pages that it has changed.
  cache_size: -24_576,
  // 2 is MEMORY.
  temp_store: 2,
  // Pages, 64 MiB. The default of 1000 makes an import write its pages to the database with every
  // commit.
  wal_autocheckpoint: 16_000,
  // After a checkpoint a larger WAL is truncated to this size.
  journal_size_limit: 64 * 1024 * 1024,
} as const

/** There are several readers, and the system caches the file too. */
const readerPragmas = { ...pragmas, cache_size: -6144, query_only: 1 }

/** Milliseconds that a query waits for a free connection. */
const acquireTimeout = 5000

/** Modes in which SQLite opens a file (https://sqlite.org/uri.html). None creates a missing one. */
type OpenMode = 'mode=rw' | 'mode=ro'

const open = (filename: string, mode: OpenMode, client: typeof Knex.Client, max = 1) =>
  separateStatements(
    knex({
      client,
      connection: { filename: `${pathToFileURL(filename)}?${mode}`, flags: ['OPEN_URI'] },
      // Keeps bound values, which are callers' data, out of error messages and so out of the log.
      compileSqlOnError: false,
      acquireConnectionTimeout: acquireTimeout,
      // knex would print errors that it also throws.
      log: { warn: ignore, error: ignore, debug: ignore },
      // Opening a connection costs more than keeping it, and `DatabaseFile` relies on the first one.
      pool: { max, idleTimeoutMillis: Number.POSITIVE_INFINITY },
    }),
  )

const ignore = () => {}

/** One connection, since SQLite has one writer at a time. */
export const openWriter = (
  filename: string,
  file: DatabaseFile,
  lockTimeout: number = defaultLockTimeout,
): Knex =>
  open(filename, 'mode=rw', clientOf(file, beginWriting, { ...pragmas, busy_timeout: lockTimeout }))

/** Connections that cannot write. */
export const openReader = (filename: string, file: DatabaseFile, max: number): Knex =>
  open(filename, 'mode=rw', clientOf(file, beginReading, readerPragmas), max)

/** A file that nobody writes. */
export const openCopy = (filename: string): Knex =>
  open(
    filename,
    'mode=ro',
    clientWith({ cache_size: pragmas.cache_size, temp_store: pragmas.temp_store }),
  )

/** A file that no other process may have open. The lock must be requested before the first read. */
export const openExclusive = (filename: string): Knex =>
  open(filename, 'mode=rw', clientWith({ locking_mode: 'exclusive' }))

/**
 * A file that may be another program's: no byte of it is changed. The last connection to close
 * writes the log into the file, unless it is read-only; a read-only one leaves an empty log where
 * there was none.
 */
export const openForInspection = (filename: string, hasLog: boolean): Knex =>
  open(filename, hasLog ? 'mode=ro' : 'mode=rw', clientWith({ busy_timeout: pragmas.busy_timeout }))
