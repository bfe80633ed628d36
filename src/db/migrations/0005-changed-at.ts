import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/**
 * When an app with its reviews, a developer's name or a category was last changed here, so that an export can hold what has
 * changed since the one before. What is there already counts as changed now: a constant default rewrites no row.
 */
export async function up(sql: Knex, { textType }: SchemaHelpers) {
  const now = new Date().toISOString()
  for (const table of ['apps', 'developers', 'categories']) {
    await sql.raw(`alter table ${table} add column changed_at ${textType} not null default '${now}'`)
  }
  await sql.raw('create index apps_changed_at on apps (changed_at)')
  await sql.raw('create index developers_changed_at on developers (changed_at)')

  // With its id this tells a category from another, whatever its slug and name become.
  await sql.raw(`alter table categories add column created_at ${textType} not null default '${now}'`)
  const added = `select min(at) from audit where category_id = categories.id and action = 'category add'`
  await sql.raw(`update categories set created_at = coalesce((${added}), created_at)`)
}
