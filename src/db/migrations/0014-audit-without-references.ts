import type { Knex } from 'knex'
import type { SchemaHelpers } from '../engine.ts'

/**
 * The audit log keeps its entries when a developer, a key or a category is removed, and so refers
 * to rows that are gone.
 */
export async function up(sql: Knex, { makeAppendOnly }: SchemaHelpers): Promise<void> {
  await sql.schema.alterTable('audit', (table) => {
    for (const column of ['developer_id', 'category_id', 'key_id']) table.dropForeign(column)
  })
  // On SQLite, knex has copied the table, without its triggers. On Citus, one trigger for updates,
  // deletes and TRUNCATE never fired.
  await makeAppendOnly(sql, 'audit')
}
