import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { required } from '../util/helpers.ts'
import type { EngineQueryRunner } from './engine.ts'

/**
 * One row identifies the state of the public data. Its value is random, so that a restored or
 * replaced database never repeats the value of other data. Decision 18.
 */

/** Rows read after the version are at least as new as it. */
export async function readVersion({ rows }: EngineQueryRunner): Promise<string> {
  const [row] = await rows<{ value: string }>('select value from catalogue_version', [])
  return required(row, 'the row of catalogue_version').value
}

/** Transactions that have renewed the version: writes that share one need it once. */
const renewed = new WeakSet<Knex>()

/**
 * Call it last in a transaction, since on PostgreSQL other writers wait for the row until the
 * commit.
 */
export async function renewVersion(transaction: Knex): Promise<void> {
  if (renewed.has(transaction)) return
  await transaction('catalogue_version').update({ value: randomUUID() })
  renewed.add(transaction)
}
