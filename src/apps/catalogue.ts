import type { Knex } from 'knex'
import type { AppSummary, Sort } from '../contract.ts'
import type { Connection, Order } from '../db/dialect.ts'
import type { Database } from '../db/open.ts'
import { idsOf, ordered, sliceOf } from '../db/page.ts'
import { listed } from '../db/tables.ts'
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

/** A page of the listed apps, and how many the filter lets through in all. */
export type AppPage = { apps: AppSummary[]; total: number }

/** Each is an index of the first migration, read backwards. */
const orders: Record<Sort, Order> = {
  latest: ['approved_at', 'id'],
  popular: ['total_downloads', 'id'],
  rating: ['average_rating', 'review_count', 'id'],
}

/** Up to here a page is reached from the front, whatever there is behind it: passing so few ids costs less than a statement. */
const near = 1000

/** All of a page is of one moment. */
export function listApps(database: Database, { page, limit, category, search, sort }: AppFilter): Promise<AppPage> {
  const offset = (page - 1) * limit
  if (search) return database.snapshot((connection) => foundPage(connection, search, category, sort, limit, offset))
  const order = orders[sort ?? 'latest']
  return offset <= near
    ? database.read((connection) => nearPage(connection, category, order, limit, offset))
    : database.snapshot((connection) => farPage(connection, category, order, limit, offset))
}

/** How many apps a filter's category lists, or all do; no row where there is no such category. Counts are kept, never counted. */
function scopeOf({ sql }: Connection, category: string | undefined): Knex.QueryBuilder {
  return category
    ? sql('categories').where({ slug: category }).select('id', 'listed_apps as listed')
    : sql('categories').select(sql.raw('null as id'), sql.raw('coalesce(sum(listed_apps), 0) as listed'))
}

type Scope = { id: number | null; listed: number }

function listedApps({ sql }: Connection, categoryId: number | Knex.QueryBuilder | null): Knex.QueryBuilder {
  const query = sql('apps').whereRaw(listed)
  return categoryId === null ? query : query.where('apps.category_id', categoryId)
}

/** The page and the total by one statement. */
async function nearPage(
  connection: Connection,
  category: string | undefined,
  order: Order,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const { sql } = connection
  const inCategory = category ? sql('categories').where({ slug: category }).select('id') : null
  const ids = idsOf(listedApps(connection, inCategory), order, { direction: 'desc', skip: offset, take: limit })
  const shown = summaries(connection, ids).select(order.map((column) => `apps.${column} as order_${column}`))
  const rows: ({ listed: number } & (AppSummary | { id: null }))[] = await sql(
    scopeOf(connection, category).as('scope'),
  )
    .leftJoin(shown.as('shown'), sql.raw('true'))
    .orderBy(order.map((column) => ({ column: `shown.order_${column}`, order: 'desc' })))
    .select('scope.listed', ...summaryFields.map((field) => `shown.${field}`))
  const apps = rows.flatMap(({ listed: _, ...app }) => (app.id === null ? [] : [app]))
  return { apps, total: Number(rows[0]?.listed ?? 0) }
}

async function farPage(
  connection: Connection,
  category: string | undefined,
  order: Order,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const scope: Scope | undefined = await scopeOf(connection, category).first()
  const total = Number(scope?.listed ?? 0)
  if (!scope || offset >= total) return { apps: [], total }
  const ids = idsOf(listedApps(connection, scope.id), order, sliceOf(total, limit, offset))
  return { apps: await summaries(connection, ids).orderBy(ordered(order, 'desc')), total }
}

/** Where no sort is asked for, apps are ranked by how well they match. */
async function foundPage(
  connection: Connection,
  text: string,
  category: string | undefined,
  sort: Sort | undefined,
  limit: number,
  offset: number,
): Promise<AppPage> {
  const terms = queryTerms(text)
  const scope: Scope | undefined = terms.length === 0 ? undefined : await scopeOf(connection, category).first()
  if (!scope) return { apps: [], total: 0 }
  const question = { terms, nameKey: nameKey(text), categoryId: scope.id ?? undefined, listed: Number(scope.listed) }
  const order = orders[sort ?? 'popular']
  const { ids, total } = await connection.search.page(question, order, sort === undefined, limit, offset)
  if (ids.length === 0) return { apps: [], total }
  const found = await summaries(connection, connection.sql('apps').whereIn('apps.id', ids).select('apps.id'))
  const apps = new Map(found.map((app) => [app.id, app]))
  return { apps: ids.flatMap((id) => apps.get(id) ?? []), total }
}

/** What the list shows of the apps whose ids a query gives. Only the rows of the page join: skipping joined rows makes late pages slow. */
const summaries = ({ sql }: Connection, ids: Knex.QueryBuilder): Knex.QueryBuilder<AppSummary, AppSummary[]> =>
  sql(ids.as('page'))
    .join('apps', 'apps.id', 'page.id')
    .join('developers', 'developers.id', 'apps.developer_id')
    .join('categories', 'categories.id', 'apps.category_id')
    .select(Object.entries(summaryColumns).map(([field, column]) => `${column} as ${field}`))

const summaryColumns: Record<keyof AppSummary, string> = {
  id: 'apps.id',
  name: 'apps.name',
  slug: 'apps.slug',
  description: 'apps.description',
  developer_name: 'developers.name',
  category_name: 'categories.name',
  total_downloads: 'apps.total_downloads',
  average_rating: 'apps.average_rating',
}
const summaryFields = Object.keys(summaryColumns)
