import type { Knex } from 'knex'

/**
 * Indexes for operators' lists of rejected and deleted apps, newest first. Without them each list
 * would scan all apps.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(
    `create index apps_rejected on apps (id) where status = 'rejected' and deleted_at is null`,
  )
  await sql.raw('create index apps_deleted on apps (id) where deleted_at is not null')
}
