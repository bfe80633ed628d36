import type { Knex } from 'knex'
import type { MatchFinder } from '../search/best-matches.ts'
import type { SearchDocument } from '../search/terms.ts'
import type { ErrorMeaning } from './errors.ts'

/** The health error of a database in which migrations are missing. */
export const notMigrated = 'is not migrated to this version; run ./apps-service migrate'

/** Options for PostgreSQL. */
export type ServerOptions = {
  /** The most connections at a time. */
  pool?: number
  /** Milliseconds that a statement of a write may take. The default is enough to build an index. */
  writeTimeout?: number
}

/** Connections of a process to a database server, unless configured. */
export const defaultPoolSize = 12

/**
 * All differences between SQLite and PostgreSQL: one database, which connects when the first
 * statement runs. Text is compared and ordered by code point. Stores also use features that both
 * have: `returning`, partial indexes, row values, `on conflict` and `cast(… as bigint)`.
 */
export type Engine = Readonly<{
  /** Name of the database for messages, without a password. */
  name: string
  /**
   * Why it cannot be used now, such as "does not exist"; undefined if no reason is known. Changes
   * nothing and waits for no statement.
   */
  checkHealth: () => Promise<string | undefined>
  /** Cannot write. Each statement outside a transaction has a snapshot to itself. */
  reader: Knex
  /** A committed transaction survives a crash. */
  writer: Knex
  /** How many waiting writes share a transaction. */
  groupCommitSize: number
  /**
   * Like the reader, for health checks and the data's version, which must not wait behind other
   * statements.
   */
  monitor: Knex
  /** How many operations of each kind run at once. */
  concurrency: Readonly<{ cheap: number; expensive: number; write: number }>
  /** For the reader, the writer, or a transaction of one. */
  connectionOf: (sql: Knex) => EngineConnection
  /**
   * Creates the database if it is missing, and runs the work in a transaction while no other
   * process migrates.
   */
  migrate: <T>(work: (sql: Knex, schema: SchemaHelpers) => Promise<T>) => Promise<T>
  /** Classifies an error of a statement, a transaction or a connection. */
  explain: (error: unknown) => ErrorMeaning
  /**
   * A time before which all writes are visible to every reader. Other machines' clocks may differ.
   */
  committedBefore: () => Promise<Date>
  /**
   * Writes a snapshot into a new file, and reads all of it again if `verify`. Throws
   * OperatorErrors; then the caller removes the file. Undefined for servers.
   */
  copyTo?: (file: string, options: { verify: boolean }) => Promise<{ apps: number }>
  /**
   * Runs the work while no process can write. Throws an OperatorError if another process has the
   * database open.
   */
  withExclusiveLock: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /**
   * Call after each large transaction, so that later commits and queries stay fast. `isLast` after
   * the last.
   */
  optimize: (options: { isLast: boolean }) => Promise<void>
}>

/** The part of the stores' interface where engines differ. */
export type EngineConnection = Readonly<{
  sql: Knex
  /** The engine with its version, and the size of the database with its indexes. */
  describe: () => Promise<{ engine: string; bytes: number }>
  /**
   * The rows of a written-out statement with `?` for its values. Faster than one that knex builds
   * for each request.
   */
  select: <Row>(statement: string, values: (string | number)[]) => Promise<Row[]>
  /** The full-text index. */
  search: SearchIndex
  /**
   * A subquery whose value is its rows as JSON, so that one statement finds a row and what belongs
   * to it.
   */
  jsonRows: (from: string, columns: readonly string[], orderBy: string) => string
  /**
   * In a transaction. Inserts rows that have the same columns, and returns their ids in any order.
   * In the condition, `given` is a row. Many rows are several statements.
   */
  insert: (table: string, rows: NewRow[], condition?: string) => Promise<number[]>
}>

/** The stores' interface: SQL that both engines support, and methods where they differ. */
export type Connection = Omit<EngineConnection, 'insert'> &
  Readonly<{
    /**
     * In a transaction. Inserts rows that have the same columns, and returns them with their ids. A
     * row without an id gets one that was never in use. Many rows are several statements.
     */
    insertRows: <Row extends NewRow>(
      table: string,
      rows: Row[],
    ) => Promise<(Row & { id: number })[]>
    /**
     * Inserts a row and returns its id; undefined if another row has the value of one of the unique
     * columns. Then no id is used up, and the transaction can continue.
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

/** The full-text index of the listed apps. Its changes belong to the transaction. */
export type SearchIndex = MatchFinder &
  Readonly<{
    /** Adds apps, or replaces what the index has of them. */
    index: (documents: (SearchDocument & { id: number; categoryId: number })[]) => Promise<void>
    remove: (ids: number[]) => Promise<void>
  }>

/** For migrations, which pass their own transaction. */
export type SchemaHelpers = Readonly<{
  /** Creates the full-text index, which `fill` fills, and drops what earlier versions had. */
  createSearchIndex: (sql: Knex, fill: (index: SearchIndex) => Promise<void>) => Promise<void>
  /** Makes a table with an `id` reject every change of its rows. Can be repeated. */
  makeAppendOnly: (sql: Knex, table: string) => Promise<void>
}>
