import { requireDeveloper } from '../accounts/account-store.ts'
import type { AppSet } from '../catalogue/app-states.ts'
import { requireCategory } from '../catalogue/category-store.ts'
import { countRows, type QueryRunner, withoutIndex } from '../db/engine.ts'

/** Lists apps in any state, by developer and category. */

/** A field that is left out does not filter. `developer` is a name, `category` a slug. */
export type AppFilter = {
  developer?: string | undefined
  category?: string | undefined
}

/** A filter by columns: the ids of what an `AppFilter` names. */
export type ColumnFilter = { developerId: number | undefined; categoryId: number | undefined }

/** Throws an OperatorError if the developer or the category is missing. */
export async function resolveColumns(
  runner: QueryRunner,
  { developer, category }: AppFilter,
): Promise<ColumnFilter> {
  const owner = developer === undefined ? undefined : await requireDeveloper(runner, developer)
  const found = category === undefined ? undefined : await requireCategory(runner, category)
  return { developerId: owner?.id, categoryId: found?.id }
}

/** A query for the apps of a set, in no order. */
export function appsIn(
  { sql }: QueryRunner,
  { where, hasOwnIndex }: AppSet,
  { developerId, categoryId }: ColumnFilter,
) {
  const apps = sql('apps').whereRaw(where)
  if (developerId !== undefined) apps.where('apps.developer_id', developerId)
  const column = 'apps.category_id'
  if (categoryId !== undefined)
    apps.whereRaw(`${hasOwnIndex ? withoutIndex(column) : column} = ?`, [categoryId])
  return apps
}

/**
 * A page of a set's apps, in its order, and the total. Throws an OperatorError if the developer or
 * category is missing.
 */
export async function findPage(
  runner: QueryRunner,
  set: AppSet,
  filter: AppFilter,
  limit: number,
  offset: number,
): Promise<{ ids: number[]; total: number }> {
  const apps = appsIn(runner, set, await resolveColumns(runner, filter))
  const total = await countRows(apps)
  const ids = await apps.orderByRaw(set.order).limit(limit).offset(offset).pluck('apps.id')
  return { ids, total }
}
