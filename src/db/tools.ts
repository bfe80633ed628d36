import type { Knex } from 'knex'
import type { Database } from './database.ts'
import type { EngineQueryRunner } from './engine.ts'

/** What `sqlite/` and `postgres/` implement for commands, besides an `Engine`. */
export type EngineTools = Readonly<{
  /**
   * Creates the database if it is missing, and runs the work in a transaction while no other
   * process migrates.
   */
  withMigrationLock: <T>(work: (sql: Knex, schema: SchemaHelpers) => Promise<T>) => Promise<T>
  /**
   * Returns a time: every write before it is committed and visible to readers. The clocks of other
   * machines may differ.
   */
  committedBefore: () => Promise<Date>
  /** Waits until no row can appear with a smaller id than one that was visible at the call. */
  waitForSmallerIds: () => Promise<unknown>
  /**
   * Writes a snapshot into a new file. With `verify`, reads the whole file again. Throws
   * OperatorErrors; the caller must then remove the file. PostgreSQL does not have this method.
   */
  copyTo?: (file: string, options: { verify: boolean }) => Promise<{ apps: number }>
  /**
   * Moves the database aside, and puts a verified copy of a backup in its place. Throws an
   * OperatorError if the backup cannot be used, or another process has the database open. Calls
   * `onStop` if a signal ends the process before. PostgreSQL refuses.
   */
  restoreFrom: (backup: string, onStop: (signal: NodeJS.Signals) => void) => Promise<RestoreResult>
  /**
   * Runs the work while no process can write. Throws an OperatorError if another process has the
   * database open.
   */
  withExclusiveLock: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  /**
   * Keeps later commits and queries fast. Call it after each large transaction, and set `isLast`
   * after the last one.
   */
  optimize: (options: { isLast: boolean }) => Promise<void>
}>

/** An open database, as commands have it. */
export type DatabaseWithTools = Database & EngineTools

export type RestoreResult = Readonly<{
  apps: number
  bytes: number
  /** The backup is of an older version. */
  needsMigration: boolean
  /** The file that the former database is now; undefined if there was none. */
  replaced: string | undefined
}>

/** Changes to the schema that engines make differently. Migrations pass their transaction. */
export type SchemaHelpers = Readonly<{
  /** Creates the full-text index and that of names anew, and calls `fill`. */
  createSearchIndex: (
    sql: Knex,
    fill: (runner: EngineQueryRunner) => Promise<void>,
  ) => Promise<void>
  /** Makes a table with an `id` reject changes to existing rows. */
  makeAppendOnly: (sql: Knex, table: string) => Promise<void>
}>
