import type { Knex } from 'knex'

/** Operators list apps that nobody sees, newest first: few among all, and found without passing the others. */
export async function up(sql: Knex) {
  await sql.raw(`create index apps_rejected on apps (id) where status = 'rejected' and deleted_at is null`)
  await sql.raw('create index apps_deleted on apps (id) where deleted_at is not null')
}
