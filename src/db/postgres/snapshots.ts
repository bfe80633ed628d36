import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'

/**
 * SQL: whether equal snapshots mean equal data during the life of a backend. They do on a PostgreSQL primary. They do not on a
 * standby, on other servers that use its protocol, or on Citus.
 */
export const snapshotsAreReliable = `not pg_is_in_recovery() and version() ~ '^PostgreSQL [0-9.]+ '
  and not exists (select from pg_extension where extname = 'citus')`

/** The setting that identifies a connection of the pools: the process id that the client was told, and a number. */
const setting = 'apps.connection'

let established = 0

/** How many connections the pools of this process have established. */
export const countConnections = () => established

/** SQL that numbers a new connection, with the process id that its client was told. */
export const numberConnection = (process: number | undefined) => `set ${setting} = '${process ?? 0} ${++established}'`

/** SQL: whether a statement runs on the backend that the client connected to. A pooler reports a process id of its own. */
export const isDirect = `coalesce(
  split_part(current_setting('${setting}', true), ' ', 1) = cast(pg_backend_pid() as text), false)`

/** In a transaction. Throws an OperatorError if there is a pooler in front of the database. */
export async function assertDirectConnection(sql: Knex) {
  const { rows } = await sql.raw(`select ${isDirect} as is_direct`)
  if (!rows[0].is_direct) throw new OperatorError('this takes a DATABASE_DIRECT_URL, which leads past the pooler')
}

/** SQL: the number of the connection that a statement runs on; null if it is unknown or snapshots are not reliable. */
export const connectionNumber = `case when ${isDirect} and ${snapshotsAreReliable}
  then cast(split_part(current_setting('${setting}', true), ' ', 2) as int) end`
