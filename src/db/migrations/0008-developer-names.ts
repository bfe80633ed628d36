import type { Knex } from 'knex'

/**
 * Further names that search found apps by while version 1 renamed a developer in steps. Migration
 * 0009 drops them.
 */
export const up = (sql: Knex): Promise<void> =>
  sql.schema.alterTable('developers', (table) => {
    table.text('next_name')
    table.text('former_name')
  })
