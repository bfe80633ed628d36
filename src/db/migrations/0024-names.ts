import type { Knex } from 'knex'
import { toIndexedDeveloper } from '../../search/terms.ts'
import { chunk } from '../../util/helpers.ts'
import type { EngineQueryRunner, SchemaHelpers } from '../engine.ts'
import { indexApps } from '../listed-apps.ts'

/** Apps that are read and indexed at a time: some megabytes. */
const batchSize = 500

/**
 * Creates the search index anew, with the developers' names and without the looks of names; an index
 * of the names of all apps and developers, which replaces `apps_lower_name`; and an index that has
 * the state of each app of a developer. No statement uses `audit_developer`, or the names in
 * `apps_queue`, any more. Adds the app that a session of the moderation page has opened from a queue,
 * and when.
 */
export async function up(sql: Knex, { createSearchIndex }: SchemaHelpers): Promise<void> {
  await createSearchIndex(sql, fill)
  await sql.raw('drop index apps_lower_name')
  await sql.raw('drop index apps_developer')
  await sql.raw('drop index audit_developer')
  await sql.raw('drop index apps_queue')
  await sql.raw(
    `create index apps_queue on apps (coalesce(unreviewed_since, created_at), id, developer_id)
     where status = 'pending' and deleted_at is null`,
  )
  await sql.schema.alterTable('operator_sessions', (table) => {
    table.bigInteger('opened_app_id')
    table.text('opened_at')
  })
  // The condition always holds. With it, SQLite uses the index only for the apps of a developer, not
  // to count those of a state.
  await sql.raw(
    `create index apps_developer on apps (developer_id, id, status, deleted_at)
     where developer_id is not null`,
  )
}

async function fill(runner: EngineQueryRunner) {
  const developers = await runner.sql('developers').select('id', 'name')
  for (const batch of chunk(developers, batchSize))
    await runner.names.index(batch.map(toIndexedDeveloper))
  for (let last = 0; ; ) {
    const ids: number[] = await runner
      .sql('apps')
      .where('id', '>', last)
      .orderBy('id')
      .limit(batchSize)
      .pluck('id')
    await indexApps(runner, ids)
    last = ids.at(-1) ?? last
    if (ids.length < batchSize) return
  }
}
