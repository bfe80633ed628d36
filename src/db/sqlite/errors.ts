/** SQLite's result codes (https://sqlite.org/rescode.html) that pass by themselves or when an operator acts. */
const unavailableCodes = new Set([
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_CANTOPEN',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_PROTOCOL',
  'SQLITE_NOMEM',
])

export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string') return unavailableCodes.has(error.code)
  // knex: no connection came free in time, or the pool is closed.
  return error.name === 'KnexTimeoutError' || error.message.startsWith('Unable to acquire a connection')
}

export const reasonOf = (error: unknown): string | undefined =>
  error instanceof Error ? /SQLITE_[A-Z]+: (.+)/.exec(error.message)?.[1] : undefined

/** `table.column` of the unique constraint that the error says was violated, if it says that. */
export const violatedUnique = (error: unknown): string | undefined =>
  error instanceof Error ? /UNIQUE constraint failed: ([\w.]+)/.exec(error.message)?.[1] : undefined
