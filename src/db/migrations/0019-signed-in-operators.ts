import type { Knex } from 'knex'

/**
 * Moderators, who sign in to the moderation page, and their sessions. `operator_id` in the audit
 * log: the moderator's sign-in key. Entries about moderators have no subject but the columns in
 * `after`. The index finds the last reasons of rejections.
 */
export async function up(sql: Knex): Promise<void> {
  await sql.schema.createTable('operators', (table) => {
    // The public part of the sign-in key; `sha256` is the hash of the whole key.
    table.text('id').primary()
    table.text('name').notNullable()
    table.text('sha256').notNullable()
    table.text('created_at').notNullable()
    table.text('expires_at').notNullable()
    table.text('revoked_at')
    table.text('last_used_at')
  })
  await sql.schema.createTable('operator_sessions', (table) => {
    table.text('sha256').primary()
    table.text('operator_id').notNullable().references('operators.id').index()
    table.text('last_used_at').notNullable().index()
  })
  await sql.schema.alterTable('audit', (table) => table.text('operator_id'))
  await sql.raw('alter table audit drop constraint audit_subject')
  await sql.raw(`create index audit_rejections on audit (id) where action = 'app reject'`)
}
