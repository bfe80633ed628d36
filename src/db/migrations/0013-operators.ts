import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/** What operators need: audit entries of whole runs, removals, and apps by their names. */
export async function up(sql: Knex, { dropConstraints }: SchemaHelpers) {
  // An entry may be about a run, such as an import, and stays when the developer, category or key that it names is removed.
  const checks = { audit_subject: 'developer_id is not null or category_id is not null' }
  const foreignKeys = { developer_id: 'developers', category_id: 'categories', key_id: 'api_keys' }
  await dropConstraints(sql, 'audit', { checks, foreignKeys })
  await sql.raw('create index audit_runs on audit (action, id) where developer_id is null and category_id is null')

  // The expression is `compactName` in moderation/similar-names.ts. Of all apps: with a partial index of the listed ones SQLite
  // would count changed apps by that one.
  await sql.raw("create index apps_compact_name on apps (replace(lower(name), ' ', ''))")
}
