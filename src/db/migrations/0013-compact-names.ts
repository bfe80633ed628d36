import type { Knex } from 'knex'

/** For operators: listed apps whose names could be taken for another's, and the last import. */
export async function up(sql: Knex) {
  // The expression is `compactName` in moderation/similar-names.ts. Of all apps: with a partial index of the listed ones SQLite
  // would count changed apps by that one.
  await sql.raw("create index apps_compact_name on apps (replace(lower(name), ' ', ''))")
  await sql.raw("create index audit_imports on audit (id) where action = 'app import'")
}
