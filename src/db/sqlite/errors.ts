import { codeOf, type ErrorMeaning, hasNoConnection, UnusableDatabase } from '../error-meaning.ts'

export const diskFull = 'has no space left on its disk'

/** Result codes that report a problem of the file or its disk, in words for operators. */
const healthErrors = new Map([
  ['SQLITE_CORRUPT', 'is damaged'],
  ['SQLITE_NOTADB', 'is damaged'],
  ['SQLITE_FULL', diskFull],
  ['SQLITE_IOERR', 'is on a failing disk'],
])

/**
 * Codes (https://sqlite.org/rescode.html) of errors that are temporary, or that an operator can
 * fix.
 */
const unavailableCodes = new Set([
  ...healthErrors.keys(),
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_CANTOPEN',
  'SQLITE_READONLY',
  'SQLITE_PROTOCOL',
  'SQLITE_NOMEM',
])

export const isDamage = (error: unknown): boolean =>
  ['SQLITE_CORRUPT', 'SQLITE_NOTADB'].includes(codeOf(error))

/** Another connection held the lock for longer than a statement waits. */
export const isBusy = (error: unknown): boolean => codeOf(error) === 'SQLITE_BUSY'

/**
 * Some errors, such as a full disk, roll the whole transaction back, and ROLLBACK then fails without
 * harm (https://sqlite.org/lang_transaction.html, section 3). Its error must not hide theirs.
 */
export const isRolledBack = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('no transaction is active')

export const healthErrorOf = (error: unknown): string | undefined => healthErrors.get(codeOf(error))

export const isUnavailable = (error: unknown): boolean =>
  error instanceof Error && (unavailableCodes.has(codeOf(error)) || hasNoConnection(error))

export const explain = (error: unknown): ErrorMeaning => ({
  isUnavailable: isUnavailable(error),
  // There is one writer at a time.
  isConflict: false,
  violatesForeignKey:
    error instanceof Error && error.message.includes('FOREIGN KEY constraint failed'),
  reason: sqliteReason(error),
  advice:
    codeOf(error) === 'SQLITE_FULL'
      ? 'The disk is full: free some space where the database is.'
      : undefined,
})

function sqliteReason(error: unknown): string | undefined {
  if (error instanceof UnusableDatabase) return `the database ${error.message}`
  return error instanceof Error ? /SQLITE_[A-Z]+: (.+)/.exec(error.message)?.[1] : undefined
}
