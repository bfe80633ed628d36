import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'

/**
 * Whether equal snapshots mean equal data, while the backend that tells them lives: so it is on a primary of PostgreSQL
 * itself. On a standby they do not; nor on what only speaks its language, or spreads a database over several servers.
 */
export const snapshotsAreReliable = `not pg_is_in_recovery() and version() ~ '^PostgreSQL [0-9.]+ '
  and not exists (select from pg_extension where extname = 'citus')`

/** The setting in which each pooled connection keeps the process ID that the server gave it. */
const setting = 'apps.process'

/** To be run when a connection is established. */
export const storeProcessId = (processId: number | undefined) => `set ${setting} = '${processId ?? 0}'`

/** Whether a statement runs on the backend that the connection was opened to: poolers give process IDs of their own. */
const isDirect = `coalesce(current_setting('${setting}', true) = cast(pg_backend_pid() as text), false)`

/** Throws an OperatorError where a pooler stands before the database. In a transaction. */
export async function assertDirectConnection(sql: Knex) {
  const { rows } = await sql.raw(`select ${isDirect} as is_direct`)
  if (!rows[0].is_direct) throw new OperatorError('this takes a DATABASE_DIRECT_URL, which leads past the pooler')
}
