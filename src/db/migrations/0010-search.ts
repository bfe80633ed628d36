import type { Knex } from 'knex'
import { toSearchDocument } from '../../search/terms.ts'
import type { SchemaHelpers, SearchIndex } from '../dialect.ts'
import { listed } from '../tables.ts'

/** Apps that are read and indexed at a time: some megabytes. */
const batchSize = 500

/** Creates the search index anew and fills it with the listed apps. */
export const up = (sql: Knex, { createSearchIndex }: SchemaHelpers) =>
  createSearchIndex(sql, (search) => indexListedApps(sql, search))

async function indexListedApps(sql: Knex, search: SearchIndex) {
  for (let last = 0; ; ) {
    const apps = await sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .whereRaw(listed)
      .where('apps.id', '>', last)
      .orderBy('apps.id')
      .limit(batchSize)
      .select(
        'apps.id',
        'apps.category_id',
        'apps.name',
        'apps.short_description',
        'apps.description',
        'apps.package_name',
        'apps.total_downloads',
        'developers.name as developer_name',
      )
    await search.index(
      apps.map(({ id, category_id, developer_name, ...app }) => ({
        id,
        categoryId: category_id,
        ...toSearchDocument(app, developer_name),
      })),
    )
    last = apps.at(-1)?.id ?? last
    if (apps.length < batchSize) return
  }
}
