import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { OperatorError } from '../../contract/errors.ts'
import { UnusableDatabase } from './errors.ts'

/** Milliseconds between two looks, and for which they go on. */
const pollInterval = 20
const timeout = 60_000

/**
 * The time of the call, when all have ended that were writing then: a transaction is seen to write a table by its lock, which
 * it has until others see what it wrote. Nobody waits for this. A standby has no locks of those who write, and sees later what they
 * wrote.
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

/** Of what an export tells changes by `changed_at` (https://www.postgresql.org/docs/current/view-pg-locks.html). */
async function findActiveWriters(sql: Knex): Promise<string[]> {
  const { rows }: { rows: { virtualtransaction: string }[] } = await sql.raw(
    `select distinct virtualtransaction from pg_locks
     where locktype = 'relation' and relation in ('apps'::regclass, 'developers'::regclass, 'categories'::regclass)
       and database = (select oid from pg_database where datname = current_database())
       and mode not in ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')`,
  )
  return rows.map(({ virtualtransaction }) => virtualtransaction)
}
