import type { Knex } from 'knex'

/**
 * `changed_at`: when an app (with its reviews), a developer's name or a category was last written
 * in this database, so that an export can select the changes since a time. A category's id and
 * `created_at` identify it after a rename.
 */
export async function up(sql: Knex): Promise<void> {
  // A constant default rewrites no row.
  const now = new Date().toISOString()
  for (const name of ['apps', 'developers', 'categories']) {
    await sql.schema.alterTable(name, (table) =>
      table.text('changed_at').notNullable().defaultTo(now),
    )
  }
  await sql.raw('create index apps_changed_at on apps (changed_at)')
  await sql.raw('create index developers_changed_at on developers (changed_at)')
  await sql.schema.alterTable('categories', (table) =>
    table.text('created_at').notNullable().defaultTo(now),
  )
}
