import type { Knex } from 'knex'

/**
 * Creates made with an `Idempotency-Key` (catalogue/idempotency.ts). `app_id` is null only in the
 * transaction that creates the app. `body_hash` begins with the version of its format.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.schema.createTable('idempotency_keys', (table) => {
    table.bigIncrements('id')
    table.bigInteger('developer_id').notNullable().references('developers.id')
    table.text('key').notNullable()
    table.text('body_hash').notNullable()
    table.bigInteger('app_id').references('apps.id')
    table.text('created_at').notNullable().index()
    table.unique(['developer_id', 'key'])
  })
}
