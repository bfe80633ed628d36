import type { Knex } from 'knex'

/**
 * Classifies errors of any engine. Each engine's `explain` returns an `ErrorMeaning`, so that code
 * outside the engines' directories needs no error codes of SQLite or PostgreSQL.
 */

export type ErrorMeaning = Readonly<{
  /** The database could not be used; the statement is not the cause. */
  isUnavailable: boolean
  /** The transaction failed because of another one; it can be retried. */
  isConflict: boolean
  /** The statement refers to a missing row, or deletes one that others refer to. */
  violatesForeignKey: boolean
  /** The cause in words, for operators; undefined if it has nothing to do with the database. */
  reason: string | undefined
  /** Advice for the operator, if there is any. */
  advice: string | undefined
}>

/**
 * knex puts the statement before the message of a driver's error. This makes it the property
 * `statement`, which the log has, so that no message has SQL: commands print it.
 */
export function separateStatements(sql: Knex): Knex {
  sql.on('query-error', (error: Error, query: Knex.Sql) => {
    const prefix = `${query.sql} - `
    if (!error.message.startsWith(prefix)) return
    error.message = error.message.slice(prefix.length)
    Object.assign(error, { statement: query.sql })
  })
  return sql
}

/**
 * Another transaction has changed what this one has read without a lock. `Database.write` runs it
 * again.
 */
export class Conflict extends Error {
  override readonly name = 'Conflict'
}

/** The database cannot be used now. The message continues "the database", such as "is gone". */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase'
}

/** Returns the code of an error from a driver or Node; an empty string if it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/**
 * Whether an error that all engines share means that the database is unavailable. knex throws its
 * two if no connection becomes free in time, or the pool is closed.
 */
export const hasNoConnection = (error: Error): boolean =>
  error instanceof UnusableDatabase ||
  error.name === 'KnexTimeoutError' ||
  error.message.startsWith('Unable to acquire a connection')
