import { toSearchDocument } from '../search/terms.ts'
import type { Connection } from './engine.ts'
import { listed } from './tables.ts'

/**
 * Writes the current rows of these apps into the search index, without the apps that are not
 * listed.
 */
export async function indexListedApps(
  { sql, search }: Pick<Connection, 'sql' | 'search'>,
  ids: number[],
) {
  const apps = await sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .whereRaw(listed)
    .select('apps.*', 'developers.name as developer_name')
  await search.index(
    apps.map(({ developer_name, ...app }) => ({
      id: app.id,
      categoryId: app.category_id,
      ...toSearchDocument(app, developer_name),
    })),
  )
}
