import { accountStore } from '../accounts/account-store.ts'
import type { StateCounts } from '../catalogue/app-store.ts'
import { categoryStore } from '../catalogue/category-store.ts'
import type { Connection } from '../db/engine.ts'
import { listed } from '../db/listed-apps.ts'
import { bestMatches, cutNote, maxMatches, toQuery } from '../search/best-matches.ts'
import { hasTerms, queryTerms, type Term, toSearchDocument } from '../search/terms.ts'
import { required } from '../util/helpers.ts'

/** Finds apps for operators by state, developer, category and text. */

/** A field that is left out does not filter. `developer` is a name, `category` a slug. */
export type AppFilter = {
  developer?: string | undefined
  category?: string | undefined
  search?: string | undefined
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
const waitingSince = 'coalesce(apps.unreviewed_since, apps.created_at)'
const longestWaitingFirst = `${waitingSince}, apps.id`
// The comparison always holds. Without it, SQLite may count with a longer index of the listed apps.
const changed = `${listed} and apps.unreviewed_since is not null and ${waitingSince} > ''`
const newestFirst = 'apps.id desc'

export const queues = {
  pending: { where: pending, order: longestWaitingFirst, hasOwnIndex: true },
  changed: { where: changed, order: longestWaitingFirst, hasOwnIndex: true },
} satisfies Record<string, AppSet>

const anyState: AppSet = { where: 'true', order: newestFirst, hasOwnIndex: false }
export const states: Record<AppState, AppSet> = {
  // Its index has the order of the queue. Without the plus the planner would scan the whole table,
  // which has this order.
  pending: { where: pending, order: `+${newestFirst}`, hasOwnIndex: true },
  approved: { where: listed, order: newestFirst, hasOwnIndex: false },
  rejected: {
    where: "apps.status = 'rejected' and apps.deleted_at is null",
    order: newestFirst,
    hasOwnIndex: true,
  },
  deleted: { where: 'apps.deleted_at is not null', order: newestFirst, hasOwnIndex: true },
}
const unlisted = [states.pending, states.rejected, states.deleted]

/** `note` says why the list is incomplete. */
type Page = { ids: number[]; total: number; note?: string }
type Scope = {
  developerId: number | undefined
  categoryId: number | undefined
  terms: readonly Term[] | undefined
}

/**
 * A page of a set's apps, in its order, and the total. Throws an OperatorError if the developer or
 * category is missing.
 */
export async function findPage(
  connection: Connection,
  set: AppSet,
  filter: AppFilter,
  limit: number,
  offset: number,
): Promise<Page> {
  const scope = await resolveScope(connection, filter)
  if (scope.terms)
    return slicePage(
      cut(await findMatches(connection, set, scope, scope.terms), 'first'),
      limit,
      offset,
    )
  const apps = appsInScope(connection, set, scope)
  const [all] = await apps.clone().count({ total: '*' })
  const ids = await apps.orderByRaw(set.order).limit(limit).offset(offset).pluck('apps.id')
  return { ids, total: Number(required(all, 'the count').total) }
}

/**
 * A page of the apps in a state, or in any, newest first. With a search text and without a
 * developer, listed apps are found by the catalogue's search, best match first. That index has only
 * listed apps, so the texts of the others are read; those that match come first.
 */
export async function findPageInState(
  connection: Connection,
  state: AppState | undefined,
  filter: AppFilter,
  limit: number,
  offset: number,
): Promise<Page> {
  const set = state === undefined ? anyState : states[state]
  const scope = await resolveScope(connection, filter)
  if (!scope.terms || scope.developerId !== undefined || set.hasOwnIndex)
    return findPage(connection, set, filter, limit, offset)
  const others: number[] = []
  for (const one of state === undefined ? unlisted : [])
    others.push(...(await findMatches(connection, one, scope, scope.terms)))
  const matches = await bestMatches(
    connection.search,
    toQuery(filter.search ?? '', scope.categoryId),
  )
  return slicePage(cut([...others.toSorted((a, b) => b - a), ...matches], 'best'), limit, offset)
}

async function resolveScope(
  connection: Connection,
  { developer, category, search }: AppFilter,
): Promise<Scope> {
  return {
    developerId:
      developer === undefined
        ? undefined
        : (await accountStore(connection).requireDeveloper(developer)).id,
    categoryId:
      category === undefined
        ? undefined
        : (await categoryStore(connection).requireCategory(category)).id,
    terms: search?.trim() ? queryTerms(search) : undefined,
  }
}

const appsInScope = (
  { sql }: Connection,
  { where, hasOwnIndex }: AppSet,
  { developerId, categoryId }: Scope,
) =>
  sql('apps')
    .whereRaw(where)
    .modify((apps) => developerId !== undefined && apps.where('apps.developer_id', developerId))
    .modify(
      (apps) =>
        categoryId !== undefined &&
        apps.whereRaw(`${hasOwnIndex ? '+' : ''}apps.category_id = ?`, [categoryId]),
    )

/** Apps that are read at a time: some megabytes. */
const batchSize = 500

/**
 * The ids of the first of a set's apps that have the terms, one more than `maxMatches` if there are
 * more. Reads their texts.
 */
async function findMatches(
  connection: Connection,
  set: AppSet,
  scope: Scope,
  terms: readonly Term[],
) {
  const matches: number[] = []
  for (let offset = 0; ; offset += batchSize) {
    const apps = await appsInScope(connection, set, scope)
      .orderByRaw(set.order)
      .limit(batchSize)
      .offset(offset)
      .select(
        'apps.id',
        'apps.name',
        'apps.short_description',
        'apps.description',
        'apps.package_name',
      )
      .select(
        connection.sql.raw(
          '(select name from developers where id = apps.developer_id) as developer_name',
        ),
      )
    for (const { id, developer_name, ...app } of apps) {
      if (hasTerms(toSearchDocument(app, developer_name), terms)) matches.push(id)
    }
    if (apps.length < batchSize || matches.length > maxMatches)
      return matches.slice(0, maxMatches + 1)
  }
}

const cut = (ids: number[], which: 'best' | 'first') =>
  ids.length > maxMatches ? { ids: ids.slice(0, maxMatches), note: cutNote(which) } : { ids }

const slicePage = (
  { ids, ...page }: { ids: number[]; note?: string },
  limit: number,
  offset: number,
): Page => ({
  ...page,
  ids: ids.slice(offset, offset + limit),
  total: ids.length,
})
