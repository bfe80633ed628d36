import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/** Search for common words no longer reads all that have them. */
export const up = (sql: Knex, { upgradeSearchIndex }: SchemaHelpers) => upgradeSearchIndex(sql)

export async function down() {
  throw new Error('there is no way back from a migration: restore a backup')
}
