import type { Knex } from 'knex'
import type { MatchFinder } from '../search/best-matches.ts'
import type { IndexedApp, IndexedName, Phrase } from '../search/terms.ts'
import { formatCommand } from '../util/command.ts'
import { required } from '../util/helpers.ts'
import type { ErrorMeaning } from './error-meaning.ts'

/**
 * What `sqlite/` and `postgres/` implement for serving; tools.ts has what commands need besides.
 * database.ts adds queues and retries to an `Engine`; stores get a `QueryRunner`.
 */

/** The health error of an empty database, or one with an older schema. */
export const notMigrated = `is not migrated to this version; run ${formatCommand('migrate')}`

/** The health error of a missing database that `migrate` would create. */
export const notCreated = `does not exist; ${formatCommand('migrate')} creates a new, empty one`

export type DatabaseOptions = {
  /** Maximum number of connections to PostgreSQL. SQLite ignores it. */
  pool?: number
  /**
   * Milliseconds that a statement of a write may take on PostgreSQL. The default is enough to build
   * an index. SQLite ignores it.
   */
  writeTimeout?: number
  /** Milliseconds that a statement waits for another program's lock. */
  lockTimeout?: number
}

export const defaultLockTimeout = 5000

/** The default of `pool` and of DATABASE_POOL. */
export const defaultPoolSize = 12

/**
 * One SQLite or PostgreSQL database. It connects when the first statement runs. Text must be
 * compared and ordered by code point. An engine must also support the SQL that stores use:
 * `returning`, partial indexes, row values, `on conflict`, `string_agg` and `cast(… as bigint)`.
 */
export type Engine = Readonly<{
  /** Name of the database for messages, without a password. */
  name: string
  /**
   * Returns why the database cannot be used now, such as "does not exist"; undefined if no reason
   * is known. Changes nothing, and does not wait for other statements.
   */
  checkHealth: () => Promise<string | undefined>
  /** Cannot write. Outside a transaction, each statement has its own snapshot. */
  reader: Knex
  writer: Knex
  /**
   * Runs a write in a transaction of the writer. Resolves after the commit, which survives a crash.
   * Writes that begin together may share the transaction; one that fails is rolled back alone.
   */
  transaction: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /** Maximum number of waiting writes to begin together. */
  groupCommitSize: number
  /** Advice for the operator if all writes wait for another program. PostgreSQL has no such lock. */
  findLock?: () => string | undefined
  /**
   * Reads like `reader`, on its own connection, so that health checks and reads of the data version
   * do not wait behind other statements.
   */
  versionReader: Knex
  /** Maximum number of operations of each kind that run at once. */
  concurrency: Readonly<{ cheap: number; expensive: number; write: number }>
  /** Takes the reader, the writer, or a transaction of either. */
  queryRunnerOf: (sql: Knex) => EngineQueryRunner
  /** Classifies an error of a statement, a transaction or a connection. */
  explain: (error: unknown) => ErrorMeaning
}>

/** The methods of a `QueryRunner` that each engine implements. */
export type EngineQueryRunner = Readonly<{
  sql: Knex
  /**
   * Returns the engine with its version, the size of the database with its indexes, and the free
   * space of its disk; null on another machine.
   */
  describe: () => Promise<{ engine: string; bytes: number; free_bytes: number | null }>
  /**
   * Returns the rows of a SQL statement with `?` for its values. Faster than knex, which builds the
   * statement again for each request.
   */
  rows: <Row>(statement: string, values: (string | number)[]) => Promise<Row[]>
  /** The full-text index of the listed apps. */
  search: SearchIndex
  /** The index of the names of all apps and developers. */
  names: NameIndex
  /**
   * Returns a subquery whose value is its rows as a JSON array, so that one statement reads an app
   * together with its reviews.
   */
  jsonRows: (from: string, columns: readonly string[], orderBy: string) => string
  /**
   * Inserts rows that have the same columns, bound as JSON, so that no statement grows with them.
   * Returns what `end` returns, in any order. `end` is SQL after the rows, such as
   * `where … on conflict do nothing returning id`, and can refer to a row as `given`. Call it in a
   * transaction, because many rows may take several statements.
   */
  insert: <Returned>(table: string, rows: NewRow[], end: string) => Promise<Returned[]>
}>

/** The stores' interface: SQL that both engines support, and methods where they differ. */
export type QueryRunner = EngineQueryRunner &
  Readonly<{
    /** Aborted when the caller of a read disconnects: its work need not go on. */
    signal?: AbortSignal | undefined
    /**
     * Makes cached responses stale when the transaction commits. Stores call it in each write that
     * changes a listed app, its reviews, a category or the name of a developer. Throws in a read.
     */
    markPublicChange: () => void
    /**
     * Inserts rows that have the same columns, and returns them with their ids. A row without an id
     * gets one that was never used before. Call it in a transaction, because many rows may take
     * several statements.
     */
    insertRows: <Row extends NewRow>(
      table: string,
      rows: Row[],
    ) => Promise<(Row & { id: number })[]>
    /**
     * Inserts a row and returns its id. Returns undefined if another row has the same value in one
     * of the `unique` columns; then no id is used up, and the transaction can continue.
     */
    insertUnlessTaken: (
      table: string,
      row: NewRow,
      unique: readonly string[],
    ) => Promise<number | undefined>
  }>

export type NewRow = { id?: number | undefined } & Record<
  string,
  string | number | null | undefined
>

/** The full-text index of the listed apps. Changes to it are part of the transaction. */
export type SearchIndex = MatchFinder &
  Readonly<{
    /** Adds apps, or replaces their entries. */
    index: (apps: IndexedApp[]) => Promise<void>
    remove: (ids: number[]) => Promise<void>
  }>

/**
 * The index of the names of apps, in any state, and of developers. Changes to it are part of the
 * transaction.
 */
export type NameIndex = Readonly<{
  /** Adds names, or replaces those with the same ids. */
  index: (names: IndexedName[]) => Promise<void>
  remove: (id: number) => Promise<void>
  /** The greatest ids of names with a phrase of each list, in descending order. */
  newestWith: (phrases: Phrase[][], limit: number) => Promise<number[]>
  /** The least ids of names with each of the tokens, in no order. */
  oldestWithEach: (tokens: string[], limit: number) => Promise<{ token: string; ids: number[] }[]>
}>

/**
 * The column as an expression, so that SQLite's planner uses no index of it
 * (https://sqlite.org/optoverview.html, section 2). PostgreSQL's planner ignores the sign.
 */
export const withoutIndex = (column: string): string => `+${column}`

/** The number of rows that a query would find. The query can still be extended and run. */
export async function countRows(query: Knex.QueryBuilder): Promise<number> {
  const [all] = await query.clone().count<{ total: number }[]>({ total: '*' })
  return required(all, 'the count').total
}

/**
 * The rows of a query in batches of `size`, by a column that is unique: the next statement goes on
 * after the last row. The query can still be extended and run.
 */
export async function* readBatches<Row extends Record<string, string | number | null>>(
  query: Knex.QueryBuilder,
  column: keyof Row & string,
  size: number,
): AsyncGenerator<Row[]> {
  let last: string | number | null | undefined
  do {
    const rest = query.clone().orderBy(column).limit(size)
    const rows: Row[] = await (last === undefined ? rest : rest.where(column, '>', last))
    if (rows.length > 0) yield rows
    last = rows.length < size ? undefined : rows.at(-1)?.[column]
  } while (last !== undefined)
}
