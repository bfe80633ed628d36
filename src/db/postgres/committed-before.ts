import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'
import { UnusableDatabase } from '../error-meaning.ts'

/** Milliseconds between polls, and in total. */
const pollInterval = 20
const timeout = 60_000

/**
 * Waits until all transactions that are writing have ended, and returns the time of the call. A
 * transaction that writes a table locks it until its writes are visible. Takes no locks. A standby
 * does not see the locks of the primary's writers.
 */
export async function committedBefore(sql: Knex): Promise<Date> {
  const { rows } = await sql.raw('select pg_is_in_recovery() as is_standby')
  if (rows[0].is_standby)
    throw new OperatorError(
      'this must run on the primary: a standby does not see the transactions running there',
    )
  const begun = new Date()
  const pending = new Set(await findActiveWriters(sql))
  for (const begin = performance.now(); pending.size > 0; ) {
    if (performance.now() - begin > timeout)
      throw new UnusableDatabase('has had a write transaction running for over a minute')
    await delay(pollInterval)
    const active = new Set(await findActiveWriters(sql))
    for (const writer of pending) if (!active.has(writer)) pending.delete(writer)
  }
  return begun
}

/**
 * Writers of the audit log, of the tables with `changed_at`
 * (https://www.postgresql.org/docs/current/view-pg-locks.html), and of their shards, where the
 * writers of other Citus nodes are. Citus hides shards from pg_class.
 */
async function findActiveWriters(sql: Knex): Promise<string[]> {
  const { rows }: { rows: { virtualtransaction: string }[] } = await sql.raw(
    `select distinct virtualtransaction from pg_locks
     where locktype = 'relation' and cast(relation::regclass as text) ~ '^(apps|developers|categories|audit)(_[0-9]+|)$'
       and database = (select oid from pg_database where datname = current_database())
       and mode not in ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')`,
  )
  return rows.map(({ virtualtransaction }) => virtualtransaction)
}
