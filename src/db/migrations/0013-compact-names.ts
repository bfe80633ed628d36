import type { Knex } from 'knex'

/** Indexes for operators' queries: listed apps with similar names, and the last import. */
export async function up(sql: Knex): Promise<void> {
  // By this expression, earlier versions compared names. The index has all apps: SQLite would count
  // changed apps with a partial index of the listed ones.
  await sql.raw("create index apps_compact_name on apps (replace(lower(name), ' ', ''))")
  await sql.raw("create index audit_imports on audit (id) where action = 'app import'")
}
