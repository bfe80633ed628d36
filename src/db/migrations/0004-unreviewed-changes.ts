import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/** What an operator has yet to look at stands in the app, so that it goes where the app goes. Until now the audit alone told it. */
export async function up(sql: Knex, { textType }: SchemaHelpers) {
  // JSON: of the fields that the owner has changed since an operator's last decision, what they were then.
  await sql.raw(`alter table apps add column unreviewed_changes ${textType}`)
  const owners = ['name', 'short_description', 'description', 'version', 'package_name', 'category_id']
  const apps: { id: number; unreviewed_since: string }[] = await sql('apps')
    .whereNotNull('unreviewed_since')
    .select('id', 'unreviewed_since')
  for (const { id, unreviewed_since } of apps) {
    const before: Record<string, unknown> = {}
    let last = 0
    for (;;) {
      const entry = await sql('audit')
        .where({ app_id: id, action: 'app update' })
        .where('at', '>=', unreviewed_since)
        .where('id', '>', last)
        .orderBy('id')
        .first('id', 'before')
      if (!entry) break
      // What an earlier entry says is older, so it stays.
      const changed = Object.entries(JSON.parse(entry.before ?? '{}')).filter(([column]) => owners.includes(column))
      Object.assign(before, { ...Object.fromEntries(changed), ...before })
      last = entry.id
    }
    await sql('apps')
      .where({ id })
      .update({ unreviewed_changes: JSON.stringify(before) })
  }
}
