import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'

/**
 * The version of the public data (db/database.ts). The key lets PostgreSQL replicate the row
 * logically.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.schema.createTable('catalogue_version', (table) => {
    table.integer('id').primary()
    table.text('value').notNullable()
    table.check('id = 1', [], 'catalogue_version_id_check')
  })
  await sql('catalogue_version').insert({ id: 1, value: randomUUID() })
}
