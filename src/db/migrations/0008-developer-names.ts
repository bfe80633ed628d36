import type { Knex } from 'knex'

/** While a developer is given another name: what search is told of beside the name, and what it has yet to forget. */
export async function up(sql: Knex) {
  for (const column of ['next_name', 'former_name']) {
    await sql.schema.alterTable('developers', (table) => table.text(column))
  }
}
