/**
 * The meaning of an error. `isUnavailable`: the database could not be used, but the statement is
 * not wrong.
 */
export type ErrorMeaning = Readonly<{
  isUnavailable: boolean
  /** The transaction failed because of another one, and may be repeated. */
  isConflict: boolean
  /** The statement refers to a missing row, or deletes one that others refer to. */
  violatesForeignKey: boolean
  /** The engine's message for operators; undefined for other errors. */
  reason: string | undefined
  /** Advice for operators, if the error allows any. */
  advice: string | undefined
}>

/** The database cannot be used now. The message follows "the database", such as "is gone". */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase'
}

/** The code of an error of a driver or of Node; empty if it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/**
 * Errors of every engine: of this program, or of knex if no connection came free in time or the
 * pool is closed.
 */
export const hasNoConnection = (error: Error) =>
  error instanceof UnusableDatabase ||
  error.name === 'KnexTimeoutError' ||
  error.message.startsWith('Unable to acquire a connection')
