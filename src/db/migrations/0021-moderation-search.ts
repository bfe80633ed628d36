import type { Knex } from 'knex'

/**
 * Indexes for moderators: of apps by the beginning of a name and by developer, newest first; of
 * audit entries of all, of a developer and of a moderator, newest first.
 */
export async function up(sql: Knex): Promise<void> {
  // `lower` folds only ASCII on both engines: on PostgreSQL, because the column has the collation
  // "C".
  await sql.raw('create index apps_lower_name on apps (lower(name), id)')
  await sql.raw('create index apps_developer on apps (developer_id, id)')
  await sql.raw('create index audit_time on audit (at, id)')
  await sql.raw('drop index audit_at_index')
  await sql.raw('create index audit_developer on audit (developer_id, id)')
  await sql.raw('drop index audit_developer_id_index')
  await sql.raw('create index audit_developer_time on audit (developer_id, at, id)')
  // With the developers, so that entries of others are skipped without reading the rows.
  await sql.raw(
    `create index audit_operator_time on audit (operator_id, at, id, developer_id)
     where operator_id is not null`,
  )
}
