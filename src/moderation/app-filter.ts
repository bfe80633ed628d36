import { requireDeveloper } from '../accounts/account-store.ts'
import type { StateCounts } from '../catalogue/app-store.ts'
import { requireCategory } from '../catalogue/category-store.ts'
import { type QueryRunner, withoutIndex } from '../db/engine.ts'
import { listedCondition } from '../db/listed-apps.ts'
import { required } from '../util/helpers.ts'

/** Lists apps in any state, by developer and category. */

/** A field that is left out does not filter. `developer` is a name, `category` a slug. */
export type AppFilter = {
  developer?: string | undefined
  category?: string | undefined
}

/** The status of an app, or `deleted` whatever the status. */
export type AppState = keyof StateCounts

/**
 * A set of apps in an order, as literal SQL so that the query planner sees which partial index
 * applies. `hasOwnIndex`: the set has a short index, which the planner must prefer to the long
 * index of a category.
 */
type AppSet = Readonly<{ where: string; order: string; hasOwnIndex: boolean }>

const pending = "apps.status = 'pending' and apps.deleted_at is null"
export const waitingSince = 'coalesce(apps.unreviewed_since, apps.created_at)'
const longestWaitingFirst = `${waitingSince}, apps.id`
// The comparison always holds. Without it, SQLite may count with a longer index of the listed apps.
const changed = `${listedCondition} and apps.unreviewed_since is not null and ${waitingSince} > ''`
const newestFirst = 'apps.id desc'

export const queues = {
  pending: { where: pending, order: longestWaitingFirst, hasOwnIndex: true },
  changed: { where: changed, order: longestWaitingFirst, hasOwnIndex: true },
} satisfies Record<string, AppSet>
export type Queue = keyof typeof queues

export const states: Record<AppState | 'any', AppSet> = {
  any: { where: 'true', order: newestFirst, hasOwnIndex: false },
  // Its index has the order of the queue. With the index of the ids, the planner would read the
  // whole table.
  pending: { where: pending, order: `${withoutIndex('apps.id')} desc`, hasOwnIndex: true },
  approved: { where: listedCondition, order: newestFirst, hasOwnIndex: false },
  rejected: {
    where: "apps.status = 'rejected' and apps.deleted_at is null",
    order: newestFirst,
    hasOwnIndex: true,
  },
  deleted: { where: 'apps.deleted_at is not null', order: newestFirst, hasOwnIndex: true },
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
  const [all] = await apps.clone().count({ total: '*' })
  const ids = await apps.orderByRaw(set.order).limit(limit).offset(offset).pluck('apps.id')
  return { ids, total: Number(required(all, 'the count').total) }
}
