import type { Knex } from 'knex'

/**
 * Indexes that have the names with which similar names are compared, so that no rows are read:
 * those of popular apps, and those of the queue of pending apps, in the same order as before.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.raw(
    `create index apps_popular_names on apps (total_downloads desc, id, developer_id, name)
     where status = 'approved' and deleted_at is null and total_downloads >= 10000`,
  )
  await sql.raw('drop index apps_queue')
  await sql.raw(
    `create index apps_queue on apps (coalesce(unreviewed_since, created_at), id, developer_id, name)
     where status = 'pending' and deleted_at is null`,
  )
}
