import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'

/**
 * SQL: whether equal snapshots mean equal data during the life of a backend. They do on a PostgreSQL primary. They do not on a
 * standby, on other servers that use its protocol, or on Citus.
 */
export const snapshotsAreReliable = `not pg_is_in_recovery() and version() ~ '^PostgreSQL [0-9.]+ '
  and not exists (select from pg_extension where extname = 'citus')`

/** The setting in which each pooled connection keeps the process ID that the server gave it. */
const setting = 'apps.process'

/** To be run when a connection is established. */
export const storeProcessId = (processId: number | undefined) => `set ${setting} = '${processId ?? 0}'`

/** Whether a statement runs on the backend that the client connected to. A pooler reports a process ID of its own. */
const isDirect = `coalesce(current_setting('${setting}', true) = cast(pg_backend_pid() as text), false)`

/** In a transaction. Throws an OperatorError if there is a pooler in front of the database. */
export async function assertDirectConnection(sql: Knex) {
  const { rows } = await sql.raw(`select ${isDirect} as is_direct`)
  if (!rows[0].is_direct) throw new OperatorError('this takes a DATABASE_DIRECT_URL, which leads past the pooler')
}
