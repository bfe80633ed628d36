import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'

/**
 * Whether equal snapshots mean equal data, while the backend that tells them lives: so it is on a primary of PostgreSQL
 * itself. On a standby they do not; nor on what only speaks its language, or spreads a database over several servers.
 */
export const snapshotsAreReliable = `not pg_is_in_recovery() and version() ~ '^PostgreSQL [0-9.]+ '
  and not exists (select from pg_extension where extname = 'citus')`

/** How the connections of the pools tell which they are: the process that they were told, and their number. */
const setting = 'apps.connection'

let established = 0

/** How many connections the pools of this process have established. */
export const countConnections = () => established

/** Numbers a connection. To be called when it is established, and with what process it has been told. */
export const numberConnection = (process: number | undefined) => `set ${setting} = '${process ?? 0} ${++established}'`

/** Whether a statement runs on the backend that the connection was told of: a pooler tells a process of its own. */
export const isDirect = `coalesce(
  split_part(current_setting('${setting}', true), ' ', 1) = cast(pg_backend_pid() as text), false)`

/** Throws an OperatorError where a pooler stands before the database. In a transaction. */
export async function assertDirectConnection(sql: Knex) {
  const { rows } = await sql.raw(`select ${isDirect} as is_direct`)
  if (!rows[0].is_direct) throw new OperatorError('this takes a DATABASE_DIRECT_URL, which leads past the pooler')
}

/**
 * The number of the connection that a statement runs on; null where it is not known, or its snapshots say nothing.
 */
export const connectionNumber = `case when ${isDirect} and ${snapshotsAreReliable}
  then cast(split_part(current_setting('${setting}', true), ' ', 2) as int) end`
