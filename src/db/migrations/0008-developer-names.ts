import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/** While a developer is given another name: what search is told of beside the name, and what it has yet to forget. */
export async function up(sql: Knex, { textType }: SchemaHelpers) {
  for (const column of ['next_name', 'former_name']) {
    await sql.raw(`alter table developers add column ${column} ${textType}`)
  }
}
