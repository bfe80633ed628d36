import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { Refusal } from '../../contract/errors.ts'
import { Unusable } from './errors.ts'

/** Milliseconds between two looks, and for which they go on. */
const interval = 20
const patience = 60_000

/**
 * The time of the call, when all have ended that were writing then: a transaction is seen to write a table by its lock, which
 * it has until others see what it wrote. Nobody waits for this. A standby has no locks of those who write, and sees later what they
 * wrote.
 */
export async function horizonOf(sql: Knex): Promise<Date> {
  const { rows } = await sql.raw('select pg_is_in_recovery() as is_standby')
  if (rows[0].is_standby)
    throw new Refusal('this takes the primary: a standby does not know what is still being written')
  const begun = new Date()
  const first = new Set(await writersOf(sql))
  for (const begin = performance.now(); first.size > 0; ) {
    if (performance.now() - begin > patience) throw new Unusable('is written to by a transaction that does not end')
    await delay(interval)
    const still = new Set(await writersOf(sql))
    for (const writer of first) if (!still.has(writer)) first.delete(writer)
  }
  return begun
}

/** Of what an export tells changes by `changed_at` (https://www.postgresql.org/docs/current/view-pg-locks.html). */
async function writersOf(sql: Knex): Promise<string[]> {
  const { rows }: { rows: { virtualtransaction: string }[] } = await sql.raw(
    `select distinct virtualtransaction from pg_locks
     where locktype = 'relation' and relation in ('apps'::regclass, 'developers'::regclass, 'categories'::regclass)
       and database = (select oid from pg_database where datname = current_database())
       and mode not in ('AccessShareLock', 'RowShareLock', 'ShareUpdateExclusiveLock')`,
  )
  return rows.map(({ virtualtransaction }) => virtualtransaction)
}
