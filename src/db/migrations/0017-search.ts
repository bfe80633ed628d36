import type { Knex } from 'knex'
import type { SchemaHelpers, SearchIndex } from '../engine.ts'
import { indexListedApps, listed } from '../listed-apps.ts'

/** Apps that are read and indexed at a time: some megabytes. */
const batchSize = 500

/** Creates the search index anew and fills it with the listed apps. */
export const up = (sql: Knex, { createSearchIndex }: SchemaHelpers) =>
  createSearchIndex(sql, (search) => fill(sql, search))

async function fill(sql: Knex, search: SearchIndex) {
  for (let last = 0; ; ) {
    const ids: number[] = await sql('apps')
      .whereRaw(listed)
      .where('id', '>', last)
      .orderBy('id')
      .limit(batchSize)
      .pluck('id')
    await indexListedApps({ sql, search }, ids)
    last = ids.at(-1) ?? last
    if (ids.length < batchSize) return
  }
}
