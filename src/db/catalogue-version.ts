import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { required } from '../util/helpers.ts'
import type { Connection } from './dialect.ts'

/**
 * One row identifies the state of the public data. Its value is random, so that a restored or replaced database never has a
 * value again that other data had. Rows that are read after the value are at least as new as it. Decision 18.
 */

export async function readVersion({ select }: Connection): Promise<string> {
  const [row] = await select<{ value: string }>('select value from catalogue_version', [])
  return required(row, 'the row of catalogue_version').value
}

/** To be called last in a transaction, since on PostgreSQL other writers wait for the row until the commit. */
export const renewVersion = (sql: Knex) => sql('catalogue_version').update({ value: randomUUID() })
