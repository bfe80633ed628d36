import pg from 'pg'
import { codeOf, type ErrorMeaning, hasNoConnection, UnusableDatabase } from '../error-meaning.ts'

/**
 * Temporary or fixable errors: SQLSTATEs
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html) and classes.
 */
const unavailableClasses = new Set(['08', '28', '3D', '53', '57', '58'])
const unavailableCodes = new Set([
  ...['25006', '25P03', '40001', '40P01', '55P03', 'XX001', 'XX002'],
  // Node's, for connections that break or cannot be opened.
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN'],
])

/** Codes of Node and OpenSSL for certificates and the TLS protocol. */
const certificateCodes = /CERT|^ERR_TLS|^ERR_SSL/

/**
 * Messages of driver errors without a code: connections that break or cannot be opened, also
 * without a password.
 */
const brokenConnection =
  /^SASL|Connection terminated|Connection ended|timeout expired|Client was closed|Client has encountered|Query read timeout|not support SSL/

/**
 * Messages of Citus and its driver, libpq, if a node stops during a transaction. Their SQLSTATE is
 * that of any internal error.
 */
const lostNode =
  /connection marked as essential|failed to prepare transaction|postmaster was shut down|unexpected postmaster exit|server closed the connection|no connection to the server|could not (send|receive) data/

/** SQLSTATEs of a backend that ends, and errors of its socket. */
const isBroken = (error: unknown) =>
  error instanceof Error &&
  (brokenConnection.test(error.message) ||
    'syscall' in error ||
    ['57P01', '57P02', '57P03', '25P03'].includes(codeOf(error)))

function adviceOf(error: unknown): string | undefined {
  if (codeOf(error) === '53100') return 'The disk is full: free some space on the database server.'
  if (codeOf(error) === '25006' || isStandbyError(error))
    return 'This database is a read-only standby; run this on the primary.'
  return undefined
}

/** The server starts, or recovers after a crash. It refuses connections at once. */
export const isStarting = (error: unknown): boolean => codeOf(error) === '57P03'

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  return (
    unavailableCodes.has(code) ||
    certificateCodes.test(code) ||
    (code.length === 5 && unavailableClasses.has(code.slice(0, 2))) ||
    (code === 'XX000' && lostNode.test(error.message)) ||
    isBroken(error) ||
    isStaleStatement(error) ||
    isStandbyError(error) ||
    hasNoConnection(error)
  )
}

export const explain = (error: unknown): ErrorMeaning => ({
  isUnavailable: isUnavailable(error),
  // Serialization failures, deadlocks, and rows that another transaction has inserted meanwhile.
  isConflict: ['40001', '40P01', '23505'].includes(codeOf(error)) || isStaleStatement(error),
  violatesForeignKey: codeOf(error) === '23503',
  reason: postgresReason(error),
  advice: adviceOf(error),
})

/**
 * A prepared statement is no longer valid: the schema has changed, or a pooler has switched the
 * backend.
 */
export const isStaleStatement = (error: unknown): boolean =>
  ['26000', '42P05'].includes(codeOf(error)) || isRefusedBy(error, 'RevalidateCachedQuery')

/** A standby refuses transactions that write. The former primary may be one now. */
const isStandbyError = (error: unknown) => isRefusedBy(error, 'call_bool_check_hook')

/** Whether a function of the server says that something is not supported. */
const isRefusedBy = (error: unknown, routine: string) =>
  error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === routine

/** The driver's error for a statement that timed out. */
export const isQueryTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout'

/** Whether a connection cannot be used again. */
export const breaksConnection = (error: unknown): boolean =>
  isBroken(error) || isStaleStatement(error)

function postgresReason(error: unknown): string | undefined {
  if (error instanceof UnusableDatabase) return `the database ${error.message}`
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  if (code === '' && !isUnavailable(error)) return undefined
  // If a host has several addresses and all refuse, the message is empty.
  return error.message || code
}
