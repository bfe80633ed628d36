import type { Knex } from 'knex'

/** While a developer is given another name: what search is told of beside the name, and what it has yet to forget. */
export const up = (sql: Knex) =>
  sql.schema.alterTable('developers', (table) => {
    table.text('next_name')
    table.text('former_name')
  })
