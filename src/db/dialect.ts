import type { Knex } from 'knex'
import type { MatchFinder, SearchQuery } from '../search/best-matches.ts'
import type { SearchDocument } from '../search/document.ts'
import type { AppRow } from './tables.ts'

/** Reported of a database in which migrations are missing. */
export const notMigrated = 'is not migrated to this version; run npx apps-service migrate'

/**
 * All that differs between database engines. Stores also rely on what both engines here have: `returning`, partial indexes,
 * row values, `on conflict` and `cast(… as bigint)`.
 */
export type Dialect = Readonly<{
  /** How DATABASE_URL names a database of this engine, in words. */
  urlFormat: string
  /** Whether a DATABASE_URL names a database of this engine. */
  acceptsUrl: (url: string) => boolean
  /** Whether DATABASE_DIRECT_URL may lead past a pooler to the database. */
  supportsPooler: boolean
  /** Connects when the first statement runs. */
  open: (url: string, options?: ServerOptions) => Engine
}>

/** Options of engines whose databases are on a server. */
export type ServerOptions = {
  /** The most connections at a time. */
  pool?: number
  /** The URL that leads past a pooler. */
  direct?: string | undefined
  /** Milliseconds after which a write gives up a statement that was not answered; left out, there is time to make an index. */
  writeTimeout?: number
}

/** Connections of a process to a database server, unless configured. */
export const defaultPoolSize = 12

/** One database. Text is compared and ordered by code point. */
export type Engine = Readonly<{
  /** The database in messages: without a password. */
  name: string
  /** Why it cannot be opened, such as "does not exist; …"; undefined if no reason is known. Changes nothing. */
  findOpenError: () => Promise<string | undefined>
  /** Why an open database cannot be used now, such as "is damaged"; undefined if no reason is known. Waits for no statement. */
  checkHealth: () => Promise<string | undefined>
  /** Cannot write. Each statement outside a transaction sees its own moment. */
  reader: Knex
  /** A committed transaction survives a crash. */
  writer: Knex
  /** How many operations of each kind run at once. */
  concurrency: Readonly<{ cheap: number; expensive: number; write: number }>
  /** What stores use, for the reader, the writer, or a transaction of one. */
  connectionOf: (sql: Knex) => Connection
  /** Creates the database if it is missing, and runs the work in a transaction while no other process migrates. */
  migrate: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /** The engine's own SQL for migrations. */
  schema: SchemaHelpers
  /** Whether the database could not be reached or used, rather than the statement being wrong. */
  isUnavailable: (error: unknown) => boolean
  /** Whether a transaction failed because of another one and may be repeated. Missing if none ever does. */
  isConflict?: (error: unknown) => boolean
  /** The engine's own message in an error, for operators; undefined for other errors. */
  describeError: (error: unknown) => string | undefined
  /** A time before which all writes are visible to every reader. Its clock agrees with this process's. */
  committedBefore: () => Promise<Date>
  /** A text that changes with every commit of any process and never comes again. */
  dataVersion: () => Promise<string>
  /** Writes a snapshot into a new file, verifies it and runs `inspect` on it. Throws OperatorErrors. */
  copyTo: <T>(file: string, inspect: (copy: Knex) => Promise<T>) => Promise<T>
  /** Runs the work on a copy of the database that nobody else sees and that is discarded. Throws OperatorErrors. */
  dryRun: <T>(work: (engine: Engine) => Promise<T>) => Promise<T>
  /** Runs the work while no process can write. Throws an OperatorError if another process has the database open. */
  withExclusiveLock: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /** Moves the write-ahead log into the database, so that no commit has to. Others may write meanwhile. */
  checkpoint: () => Promise<void>
  /** To be called after many writes. */
  optimize: () => Promise<void>
  close: () => Promise<void>
}>

/** What stores use: SQL that all engines have, and what differs. */
export type Connection = Readonly<{
  sql: Knex
  /** The rows of a written-out statement with `?` for its values. Faster than knex, which builds a statement each time. */
  select: <Row>(statement: string, values: (string | number)[]) => Promise<Row[]>
  /** The full-text index. */
  search: SearchIndex
  /** A subquery whose value is its rows as a JSON text, so that one statement finds a row and what belongs to it. */
  jsonRows: (from: string, columns: readonly string[], orderBy: string) => string
  /**
   * In a transaction. Inserts rows that have the same columns, and returns them with their ids. A row without an id gets one
   * that was never in use. Many rows are several statements.
   */
  insertRows: <Row extends NewRow>(table: string, rows: Row[]) => Promise<(Row & { id: number })[]>
  /** The greatest id that a table has given. */
  lastId: (table: string) => Promise<number>
  /** In a transaction. Makes a table give only ids greater than this one. */
  advanceIdsTo: (table: string, id: number) => Promise<void>
  /**
   * In a transaction. Locks the rows that have one of the values, before they are read together with joined rows: a `select`
   * that joins and locks at once may see the two at different moments. For one table alone use knex's `forUpdate`.
   */
  lock: (table: string, columns: string | readonly string[], values: readonly Values[]) => Promise<void>
  /** Runs a statement; if it violates a unique constraint, undoes it and throws the error for that `table.column`. */
  mapUniqueViolation: <T>(statement: () => PromiseLike<T>, errors: Record<string, () => Error>) => Promise<T>
}>

/** Of one column, or of several. */
type Values = string | number | readonly (string | number)[]

export type NewRow = { id?: number | undefined } & Record<string, string | number | null | undefined>

/** Columns that all descend, the last of which is unique. The listed apps have an index in this order. */
export type SortOrder = readonly (keyof AppRow)[]

/** The full-text index of the listed apps. Its changes belong to the transaction. */
export type SearchIndex = MatchFinder &
  Readonly<{
    /** Adds apps, or replaces what the index has of them. */
    index: (documents: (SearchDocument & { id: number; categoryId: number })[]) => Promise<void>
    remove: (ids: number[]) => Promise<void>
    /** The ids of the first `limit` of all matches in this order. Matches are those of the tier `prefix`. */
    sortedMatches: (query: SearchQuery, order: SortOrder, limit: number) => Promise<number[]>
  }>

/** For migrations, which pass their own transaction. */
export type SchemaHelpers = Readonly<{
  /** A column type that compares by code point; knex's `text` is the same. */
  textType: string
  /** Creates the full-text index, empty, and drops what earlier versions had. */
  createSearchIndex: (sql: Knex) => Promise<SearchIndex>
  /** Makes a table reject updates and deletes. */
  makeAppendOnly: (sql: Knex, table: string) => Promise<void>
}>
