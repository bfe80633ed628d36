import type { Knex } from 'knex'
import type { AppSummary, Sort } from '../contract.ts'
import type { Connection } from '../db/open.ts'
import type { AppRow } from '../db/tables.ts'
import { nameKey, queryTerms } from './terms.ts'

/** The public list: pages of the listed apps, in an order or by what a search finds. */

export type AppFilter = Readonly<{
  page: number
  limit: number
  /** Slug of a category. */
  category?: string | undefined
  search?: string | undefined
  sort?: Sort | undefined
}>

/** Where a list looks, and how many listed apps there are. */
type Scope = { categoryId: number | undefined; listed: number }

/** Each order is an index of the first migration, read backwards. */
const orders: Record<Sort, readonly (keyof AppRow)[]> = {
  latest: ['approved_at', 'id'],
  popular: ['total_downloads', 'id'],
  rating: ['average_rating', 'review_count', 'id'],
}

const ordered = (sort: Sort, order: 'asc' | 'desc') =>
  orders[sort].map((column) => ({ column: `apps.${column}`, order }))

/** Passing an app on the way costs about a sixteenth of fetching and sorting a match: measured by the benchmark in test/bench. */
const walkedForFetched = 16

/** Part of an ordered whole, from the end that is nearer: no page skips more than half. */
type Slice = { direction: 'asc' | 'desc'; skip: number; take: number }

function sliceOf(total: number, limit: number, offset: number): Slice {
  const take = Math.min(limit, total - offset)
  const behind = total - offset - take
  return behind < offset ? { direction: 'asc', skip: behind, take } : { direction: 'desc', skip: offset, take }
}

export const catalogueStore = ({ sql, search }: Connection) => {
  /** How many apps a filter's category lists; undefined where there is no such category. Counts are kept, never counted. */
  async function listedIn(slug: string | undefined): Promise<Scope | undefined> {
    if (slug) {
      const category = await sql('categories').where({ slug }).first('id', 'listed_apps')
      return category && { categoryId: category.id, listed: category.listed_apps }
    }
    const [all] = await sql('categories').sum({ listed: 'listed_apps' })
    return { categoryId: undefined, listed: Number(all?.listed ?? 0) }
  }

  /** Literals, not bound values: only so does SQLite see that the partial indexes apply (https://sqlite.org/partialindex.html). */
  function listedApps(categoryId: number | undefined) {
    const query = sql('apps').whereRaw("apps.status = 'approved' and apps.deleted_at is null")
    return categoryId === undefined ? query : query.where('apps.category_id', categoryId)
  }

  /** The ids of a page, from the index of its order alone. */
  function pageOf(query: Knex.QueryBuilder, sort: Sort, { direction, skip, take }: Slice) {
    return query.select('apps.id').orderBy(ordered(sort, direction)).limit(take).offset(skip)
  }

  async function listedPage({ categoryId, listed }: Scope, sort: Sort, limit: number, offset: number) {
    if (offset >= listed) return []
    return summaries(pageOf(listedApps(categoryId), sort, sliceOf(listed, limit, offset)), sort)
  }

  /** A page of what a search finds, and how much that is: each rank's matches stand before the next one's. */
  async function foundPage(text: string, scope: Scope, sort: Sort | undefined, limit: number, offset: number) {
    const { categoryId, listed } = scope
    const terms = queryTerms(text)
    const ranks = terms.length === 0 ? [] : search.ranks({ terms, nameKey: nameKey(text), categoryId }, !sort)
    const order = sort ?? 'popular'
    const apps: AppSummary[] = []
    let total = 0
    for (const { match, upTo } of ranks) {
      const matches = (await search.count(upTo)) - total
      const skipped = Math.max(0, offset - total)
      if (apps.length < limit && skipped < matches) {
        const slice = sliceOf(matches, limit - apps.length, skipped)
        const walked = ((slice.skip + slice.take) * listed) / matches
        const query = search.narrow(listedApps(categoryId), match, walked < matches * walkedForFetched)
        apps.push(...(await summaries(pageOf(query, order, slice), order)))
      }
      total += matches
    }
    return { apps, total }
  }

  /** Joins only the rows of the page: skipping joined rows is what makes late pages slow. */
  function summaries(page: Knex.QueryBuilder, sort: Sort): Promise<AppSummary[]> {
    return sql(page.as('page'))
      .join('apps', 'apps.id', 'page.id')
      .join('developers', 'developers.id', 'apps.developer_id')
      .join('categories', 'categories.id', 'apps.category_id')
      .orderBy(ordered(sort, 'desc'))
      .select(
        'apps.id',
        'apps.name',
        'apps.slug',
        'apps.description',
        'developers.name as developer_name',
        'categories.name as category_name',
        'apps.total_downloads',
        'apps.average_rating',
      )
  }

  return {
    /** A page of the listed apps, and how many the filter lets through in all. */
    async list({
      page,
      limit,
      category,
      search: text,
      sort,
    }: AppFilter): Promise<{ apps: AppSummary[]; total: number }> {
      const scope = await listedIn(category)
      if (!scope) return { apps: [], total: 0 }
      const offset = (page - 1) * limit
      if (text) return foundPage(text, scope, sort, limit, offset)
      return { apps: await listedPage(scope, sort ?? 'latest', limit, offset), total: scope.listed }
    },
  }
}
