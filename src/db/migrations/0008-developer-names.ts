import type { Knex } from 'knex'

/** Names that search also found while version 1 renamed a developer in several transactions. Migration 0009 drops them. */
export const up = (sql: Knex) =>
  sql.schema.alterTable('developers', (table) => {
    table.text('next_name')
    table.text('former_name')
  })
