import type { Knex } from 'knex'
import type { SortOrder } from '../search/best-matches.ts'
import { toIndexedName, toSearchDocument } from '../search/terms.ts'
import type { QueryRunner } from './engine.ts'

/** The public list in SQL: its condition, its orders, and its part of the search index. */

/**
 * The condition of the public list. Literals, because planners use the partial indexes of the
 * listed apps only with these.
 */
export const listedCondition = "apps.status = 'approved' and apps.deleted_at is null"

/** Part of an ordered list, counted from the nearer end, so that no page skips more than half. */
export type Slice = { direction: 'asc' | 'desc'; skip: number; take: number }

export function nearestSlice(total: number, limit: number, offset: number): Slice {
  const take = Math.min(limit, total - offset)
  const after = total - offset - take
  return after < offset
    ? { direction: 'asc', skip: after, take }
    : { direction: 'desc', skip: offset, take }
}

/** For ORDER BY. */
export const orderKeys = (order: SortOrder, direction: Slice['direction']): string =>
  order.map((column) => `apps.${column} ${direction}`).join(', ')

export const sortIds = (sql: Knex, ids: number[], order: SortOrder): Promise<number[]> =>
  sql('apps').whereIn('id', ids).orderByRaw(orderKeys(order, 'desc')).pluck('id')

/** Writes the current rows of these apps, which are new, into the indexes of names and of searches. */
export async function indexApps(
  runner: Pick<QueryRunner, 'sql' | 'search' | 'names'>,
  ids: number[],
): Promise<void> {
  const apps = await runner.sql('apps').whereIn('id', ids).select('id', 'name', 'package_name')
  await runner.names.index(apps.map(toIndexedName))
  await indexListedApps(runner, ids)
}

/**
 * Writes the current rows of these apps into the search index, without the apps that are not
 * listed.
 */
export async function indexListedApps(
  { sql, search }: Pick<QueryRunner, 'sql' | 'search'>,
  ids: number[],
): Promise<void> {
  const apps = await sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .whereRaw(listedCondition)
    .select('apps.*', 'developers.name as developer_name')
  await search.index(
    apps.map(({ developer_name, ...app }) => ({
      id: app.id,
      slug: app.slug,
      categoryId: app.category_id,
      ...toSearchDocument(app, developer_name),
    })),
  )
}
