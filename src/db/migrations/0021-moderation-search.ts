import type { Knex } from 'knex'

/**
 * Indexes for moderators: of apps by the beginning of a name and by developer, newest first.
 * `lower` folds only ASCII on both engines: on PostgreSQL, because the column has the collation
 * "C".
 */
export async function up(sql: Knex) {
  await sql.raw('create index apps_lower_name on apps (lower(name), id)')
  await sql.raw('create index apps_developer on apps (developer_id, id)')
}
