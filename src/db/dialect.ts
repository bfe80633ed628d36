import type { Knex } from 'knex'
import type { SearchDocument } from '../search/document.ts'
import type { Term } from '../search/terms.ts'
import type { AppRow } from './tables.ts'

/** What is said of a database in which migrations are missing. */
export const notMigrated = 'is not migrated to this version; run npx apps-service migrate'

/**
 * All that differs between database engines, a line a difference. A new engine is a folder beside sqlite/ that exports a
 * Dialect, and its line in database.ts; nothing outside db/ knows which engine it works with.
 */
export type Dialect = Readonly<{
  /** How DATABASE_URL names a database of this engine, in words. */
  urlFormat: string
  /** Whether a DATABASE_URL names one. */
  acceptsUrl: (url: string) => boolean
  /** Whether a pooler may stand before a database of it: DATABASE_DIRECT_URL leads past that. */
  supportsPooler: boolean
  /** Touches nothing yet: the first statement does. */
  open: (url: string, options?: ServerOptions) => Engine
}>

/** What an engine takes into account whose database is a server's. */
export type ServerOptions = {
  /** With how many connections at most. */
  pool?: number
  /** Where a pooler stands before the database, its address past that. */
  direct?: string | undefined
}

/** How many connections a process has to a database that is a server's, unless told otherwise. */
export const defaultPoolSize = 12

/**
 * One database of an engine. Text compares, and so is ordered, by code point: an engine that does otherwise by itself gives
 * its text columns a collation that does.
 */
export type Engine = Readonly<{
  /** The database as messages name it: without a password. */
  name: string
  /** Why it cannot be opened, told without touching it, as "does not exist; …"; undefined where nothing is known against it. */
  findOpenError: () => Promise<string | undefined>
  /** The same where nothing was known against it, and yet it could not be read. */
  unreadableMessage: string
  /** Makes the place for a database that is not there yet. Throws an OperatorError where there is one that is not this program's. */
  prepareStorage: () => Promise<void>
  /** Throws where what was written is not in the database that its address names: it was replaced, or is gone. */
  assertInPlace: () => void
  /**
   * Why the database cannot be worked with now, as "is damaged"; undefined where nothing is known against it. Harms nothing,
   * and waits for no other statement.
   */
  checkHealth: () => Promise<string | undefined>

  /** Cannot write. A statement sees one moment of the data, and the next one a later moment. */
  reader: Knex
  /** In a transaction of the reader with this, all statements see the same moment. */
  snapshot: Knex.TransactionConfig
  /** Its transactions are safe on disk when they have committed. */
  writer: Knex
  /** How much of each kind is done at once: the reader has connections for all that is cheap and expensive, the writer for what writes. */
  concurrency: Readonly<{ cheap: number; expensive: number; write: number }>
  /** What a store works with, through the reader, the writer, or a transaction of one. */
  connectionOf: (sql: Knex) => Connection
  /** A transaction of the writer's, for migrations: while another process is at some, whatever becomes of it, it waits. */
  migration: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /** What a migration does in the engine's own words. */
  schema: SchemaHelpers

  /** Whether the database could not be reached or used, rather than being asked something wrong. */
  isUnavailable: (error: unknown) => boolean
  /**
   * Whether a transaction failed only because of another one, and may do when it is run again. Left out where no transaction
   * ever does.
   */
  isConflict?: (error: unknown) => boolean
  /** What the engine itself says in an error of its own, for operators; undefined of other errors. */
  describeError: (error: unknown) => string | undefined

  /**
   * A time: what transactions have written before it, by a clock that agrees with this process's, is there for all who read
   * from now on. Later than that, one may be under way that says of what it wrote when it wrote it, and not yet be seen.
   */
  committedBefore: () => Promise<Date>
  /** What version the data has: another text after every commit, by whatever process, and never one that was there before. */
  dataVersion: () => Promise<string>
  /**
   * Writes the database, as it is when this begins, into a new file while others go on writing, checks that it is whole, and
   * has it looked into. Throws an OperatorError where there is no room, the copy is damaged, or the engine has no such thing.
   */
  copyTo: <T>(file: string, inspect: (copy: Knex) => Promise<T>) => Promise<T>
  /**
   * Gives work an engine whose database is this one's as it is now. Others go on writing, nobody sees what is done there, and
   * nothing of it remains: a copy, or a transaction that is rolled back. Throws an OperatorError where there is no room for it.
   */
  dryRun: <T>(work: (engine: Engine) => Promise<T>) => Promise<T>
  /**
   * Gives work the database while nobody writes it, nor can until the work ends. Throws an OperatorError where somebody has it open
   * who might write it, as far as the engine can know.
   */
  withExclusiveLock: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /** Brings what is in a log into the database itself, which a commit would else have to wait for. Others may write meanwhile. */
  checkpoint: () => Promise<void>
  /** What the engine is the better for after much was written. */
  optimize: () => Promise<void>
  /**
   * What keeps reading quick, where any of it is due: a server looks after it from time to time, and is not kept from its own work by
   * it. What is cut short is begun again another time.
   */
  maintain: (signal?: AbortSignal) => Promise<void>
  close: () => Promise<void>
}>

/** What a store works with: SQL that all engines have, and what each has its own way for. */
export type Connection = Readonly<{
  sql: Knex
  /**
   * The rows of a statement that is written out, in SQL that all engines have: knex would build it anew at each request. An
   * engine may keep it prepared, so values stand beside it and not in it.
   */
  select: <Row>(statement: string, values: (string | number)[]) => Promise<Row[]>
  search: SearchIndex
  /**
   * In a transaction, which then inserts rows with these ids: those that are wanted, and in the place of each undefined one that
   * is free, and none of the others. No later row is given one of them.
   */
  allocateIds: (table: string, requested: (number | undefined)[]) => Promise<number[]>
  /**
   * In a transaction. Rows that all have the same columns, but for `id`: a row without one is given one, which no other of the
   * rows names, and no later row is given an id that one of these names. Many rows may be several statements; of these none is
   * taken back where a later one fails.
   */
  prepareInsert: (table: string, rows: NewRow[]) => Statement
  /** The id behind which the next row of a table gets its own. */
  lastId: (table: string) => Promise<number>
  /** In a transaction. Has a table, whose ids are no greater, give the next one behind an id. */
  advanceIdsTo: (table: string, id: number) => Promise<void>
  /**
   * In a transaction, whose work fills tables that are empty: an engine may keep others from them, and make their indexes when
   * all rows are there.
   */
  bulkLoad: <T>(work: () => Promise<T>) => Promise<T>
  /**
   * A subquery whose value is the rows that it finds, in an order: what belongs together comes in one statement, and costs less
   * than its values one by one. Columns are expressions by name; `parseJsonRows` reads the value.
   */
  jsonSubquery: (from: string, columns: Readonly<Record<string, string>>, order: string) => string
  parseJsonRows: <Row>(column: unknown) => Row[]
  /**
   * In a transaction. Keeps the rows of a table that have one of the values from others, before they are read to be changed,
   * with what is joined to them: a `select` that joins and locks at once can find what never was together. One that reads a
   * table alone locks by knex's `forUpdate`.
   */
  lock: (table: string, columns: string | readonly string[], values: readonly Values[]) => Promise<void>
  /**
   * Runs a statement that a unique constraint may refuse, and throws what `errors` says of the violated `table.column`.
   * The transaction goes on as if the statement had not been there.
   */
  mapUniqueViolation: <T>(statement: () => PromiseLike<T>, errors: Record<string, () => Error>) => Promise<T>
}>

/** Of one column, or of several. */
type Values = string | number | readonly (string | number)[]

/** What is made ready at once, and runs when it is called: see `runPipelined` in pipeline.ts. */
export type Statement = () => Promise<unknown>

export type NewRow = { id?: number | undefined } & Record<string, string | number | null | undefined>

/** All terms are asked for, each by any of its forms. */
export type SearchQuery = {
  terms: readonly Term[]
  /** What a document's `keys` may be for the search to equal one. */
  keys: readonly string[]
  categoryId: number | undefined
}

/** Columns that all descend, the last of which is unique. There is an index of the listed apps in this order. */
export type SortOrder = readonly (keyof AppRow)[]

/** The full-text index. It holds the listed apps alone, and what a transaction tells it holds with that transaction. */
export type SearchIndex = Readonly<{
  /** Takes the place of what was told of the same apps before. */
  prepareUpsert: (documents: (SearchDocument & { id: number; categoryId: number })[]) => Statement
  remove: (ids: number[]) => Promise<void>
  /**
   * The ids of a page of what a question finds, and how much that is in all. Where it is ranked, apps come in these ranks,
   * each in the best that it has, and in each rank in the order:
   *
   * 1. one of their keys is among the question's;
   * 2. their name has every term, words whole;
   * 3. their name has every term;
   * 4. their name and text have every term, words whole;
   * 5. these and their package name have every term, which is what finding means.
   *
   * The cost follows the page, not how many apps have a term; late pages of common words are the dearest. What a question
   * found may be remembered as long as the index, as this connection sees it, is what it was.
   */
  page: (
    query: SearchQuery,
    order: SortOrder,
    isRanked: boolean,
    limit: number,
    offset: number,
  ) => Promise<{ ids: number[]; total: number }>
  /** For each word, or beginning of one, whether any app has it: whether it would be found alone. */
  has: (words: readonly { text: string; isPrefix: boolean }[]) => Promise<boolean[]>
}>

/** What is called takes the migration's own transaction. */
export type SchemaHelpers = Readonly<{
  /** Text that compares by code point; `text` in knex's own words is this, too. */
  textType: string
  /** The full-text index of this version, empty, in the place of any that is there. */
  createSearchIndex: (sql: Knex) => Promise<SearchIndex>
  /** What the index has since it was first made, of what it holds: no document is told it again. */
  upgradeSearchIndex: (sql: Knex) => Promise<void>
  /** Makes a table refuse to change or forget its rows. */
  makeAppendOnly: (sql: Knex, table: string) => Promise<void>
}>
