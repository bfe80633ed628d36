import type { Knex } from 'knex'
import { toIndexedDeveloper } from '../../search/terms.ts'
import { chunk } from '../../util/helpers.ts'
import { type EngineQueryRunner, readBatches } from '../engine.ts'
import { indexApps } from '../listed-apps.ts'
import type { SchemaHelpers } from '../tools.ts'

/** Apps that are read and indexed at a time: some megabytes. */
const batchSize = 500

/**
 * The schema of version 4.0. Adds the rights of API keys, and keywords and icons of apps. Creates the
 * search index and that of names anew, because their tokens have changed: words have stems, and more
 * letters are folded.
 */
export async function up(sql: Knex, { createSearchIndex }: SchemaHelpers): Promise<void> {
  await sql.schema.alterTable('api_keys', (table) => {
    // No foreign key: copies have keys before apps.
    table.bigInteger('app_id')
    table.integer('read_only').notNullable().defaultTo(0)
  })
  await sql.schema.alterTable('apps', (table) => {
    // JSON: a list of texts.
    table.text('keywords')
    table.text('icon_url')
  })
  await createSearchIndex(sql, fill)
}

async function fill(runner: EngineQueryRunner) {
  const developers = await runner.sql('developers').select('id', 'name')
  for (const batch of chunk(developers, batchSize))
    await runner.names.index(batch.map(toIndexedDeveloper))
  const apps = runner.sql('apps').select('id')
  for await (const batch of readBatches<{ id: number }>(apps, 'id', batchSize)) {
    const ids = batch.map(({ id }) => id)
    await indexApps(runner, ids)
  }
}
