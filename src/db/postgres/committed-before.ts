import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'
import { UnusableDatabase } from '../errors.ts'

/** Milliseconds between two polls, and for all of them. */
const pollInterval = 20
const timeout = 60_000

/**
 * Returns the time of the call once all transactions that were writing then have ended. A transaction that writes a table holds
 * a lock on it until its writes are visible. Blocks nobody. A standby does not see the locks of the primary's writers.
 */
export async function committedBefore(sql: Knex): Promise<Date> {
  const { rows } = await sql.raw('select pg_is_in_recovery() as is_standby')
  if (rows[0].is_standby)
    throw new OperatorError('this takes the primary: a standby does not know what is still being written')
  const begun = new Date()
  const pending = new Set(await findActiveWriters(sql))
  for (const begin = performance.now(); pending.size > 0; ) {
    if (performance.now() - begin > timeout)
      throw new UnusableDatabase('is written to by a transaction that does not end')
    await delay(pollInterval)
    const active = new Set(await findActiveWriters(sql))
    for (const writer of pending) if (!active.has(writer)) pending.delete(writer)
  }
  return begun
}

/**
 * Writers of the tables with `changed_at` (https://www.postgresql.org/docs/current/view-pg-locks.html), and of their shards,
 * where the writers of other Citus nodes are. Citus hides shards from pg_class.
 */
async function findActiveWriters(sql: Knex): Promise<string[]> {
  const { rows }: { rows: { virtualtransaction: string }[] } = await sql.raw(
    `select distinct virtualtransaction from pg_locks
     where locktype = 'relation' and cast(relation::regclass as text) ~ '^(apps|developers|categories)(_[0-9]+|)$'
       and database = (select oid from pg_database where datname = current_database())
       and mode not in ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')`,
  )
  return rows.map(({ virtualtransaction }) => virtualtransaction)
}
