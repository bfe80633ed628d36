import type { Knex } from 'knex'
import type { Actor } from '../actor.ts'
import { type Action, auditStore } from '../audit/store.ts'
import type { AppSummary, Sort } from '../contract.ts'
import { type Connection, jsonRows, rethrowViolation, type SearchDocument } from '../db/open.ts'
import type { AppRow, ReviewRow } from '../db/tables.ts'
import { ServiceError } from '../errors.ts'
import { numbered, slugOf } from './slug.ts'
import { indexTokens, nameKey, queryTerms } from './terms.ts'

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

/** An app with the names that its ids stand for, and its newest reviews. */
export type FoundApp = AppRow & {
  developer_name: string
  category_name: string
  category_slug: string
  reviews: Omit<ReviewRow, 'app_id'>[]
}

/** A row before it has an id; what is left out is the table's default. */
export type NewAppRow = Omit<
  AppRow,
  'id' | 'deleted_at' | 'unreviewed_since' | 'slug' | 'package_key' | 'average_rating' | 'review_count'
>

/** What an app's owner or an operator can change; the rest follows from it. */
export type AppRowChanges = Partial<Pick<AppRow, AuditedColumn | 'approved_at' | 'unreviewed_since'>>

/** Columns whose changes the audit keeps. */
const auditedColumns = [
  'name',
  'short_description',
  'description',
  'version',
  'package_name',
  'category_id',
  'status',
  'rejection_reason',
  'deleted_at',
  'developer_id',
] as const satisfies (keyof AppRow)[]
type AuditedColumn = (typeof auditedColumns)[number]

/** Columns whose text search knows, or that its index keeps beside. */
const indexedColumns = [
  'name',
  'short_description',
  'description',
  'package_name',
  'category_id',
  'developer_id',
] as const

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

const isListed = (app: AppRow | undefined) => app?.status === 'approved' && app.deleted_at === null

export const appStore = (connection: Connection) => {
  const { sql, search } = connection

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

  const isSlugTaken = async (slug: string) => (await sql('apps').where({ slug }).first('id')) !== undefined

  async function freeSlug(name: string): Promise<string> {
    const slug = slugOf(name)
    if (!(await isSlugTaken(slug))) return slug
    for (;;) {
      const rows = await sql('slug_numbers')
        .insert({ slug, last: 2 })
        .onConflict('slug')
        .merge({ last: sql.raw('slug_numbers.last + 1') })
        .returning('last')
      // A name may itself end in a number, so one that is next may be taken.
      const candidate = numbered(slug, Number(rows[0]?.last))
      if (!(await isSlugTaken(candidate))) return candidate
    }
  }

  async function addToListed(categoryId: number, count: 1 | -1) {
    await sql('categories').where({ id: categoryId }).increment('listed_apps', count)
  }

  async function keepCounts(before: AppRow | undefined, after: AppRow) {
    const from = before && isListed(before) ? before.category_id : undefined
    const to = isListed(after) ? after.category_id : undefined
    if (from === to) return
    if (from !== undefined) await addToListed(from, -1)
    if (to !== undefined) await addToListed(to, 1)
  }

  async function keepIndex(before: AppRow | undefined, after: AppRow) {
    if (!isListed(after)) {
      if (isListed(before)) await search.remove(after.id)
      return
    }
    if (isListed(before) && indexedColumns.every((column) => before?.[column] === after[column])) return
    const developer = await sql('developers').where({ id: after.developer_id }).first('name')
    await search.put(after.id, searchDocument(after, developer?.name ?? ''))
  }

  async function keepAudit(action: Action, before: AppRow | undefined, after: AppRow, actor: Actor, at: string) {
    const changed = auditedColumns.filter((column) => before?.[column] !== after[column])
    const pick = (row: AppRow) => Object.fromEntries(changed.map((column) => [column, row[column]]))
    const subject = { app_id: after.id, developer_id: after.developer_id }
    await auditStore(connection).record(
      action,
      subject,
      actor,
      { ...(before && { before: pick(before) }), after: pick(after) },
      at,
    )
  }

  /** All that follows from a change of an app, in the same transaction. */
  async function follow(action: Action, before: AppRow | undefined, after: AppRow, actor: Actor, at: string) {
    await keepCounts(before, after)
    await keepIndex(before, after)
    await keepAudit(action, before, after, actor, at)
  }

  const packageNameTaken = (error: unknown, name: string | null | undefined) =>
    rethrowViolation(error, {
      'apps.package_key': () =>
        new ServiceError('package_name_taken', `The package name ${name} is taken; choose another.`, {
          errors: [{ in: 'body', field: '/package_name', message: 'is taken by another app' }],
        }),
    })

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

    /** Whether there is no app at all, not even a deleted one. */
    async isEmpty(): Promise<boolean> {
      return (await sql('apps').first('id')) === undefined
    },

    /** An app that is not deleted, whatever its status, with its newest 100 reviews. */
    async find(id: number): Promise<FoundApp | undefined> {
      const newest = [
        { column: 'created_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ]
      const reviews = sql('reviews').whereRaw('app_id = apps.id').orderBy(newest).limit(100)
      const columns = ['id', 'reviewer_name', 'rating', 'comment', 'created_at']
      const row = await sql('apps')
        .join('developers', 'developers.id', 'apps.developer_id')
        .join('categories', 'categories.id', 'apps.category_id')
        .where('apps.id', id)
        .whereNull('apps.deleted_at')
        .first(
          'apps.*',
          'developers.name as developer_name',
          'categories.name as category_name',
          'categories.slug as category_slug',
          jsonRows(sql, reviews, columns, 'created_at desc, id desc', 'reviews'),
        )
      return row && { ...row, reviews: JSON.parse(row.reviews) }
    },

    /** Gives the app its slug and id. Throws `package_name_taken`. */
    async insert(app: NewAppRow, actor: Actor): Promise<AppRow> {
      const row = { ...app, slug: await freeSlug(app.name), package_key: packageKey(app.package_name) }
      const rows = await sql('apps')
        .insert(row)
        .returning('*')
        .catch((error: unknown) => packageNameTaken(error, app.package_name))
      const [inserted] = rows
      if (!inserted) throw new Error('the insert returned no app')
      await follow('app create', undefined, inserted, actor, app.created_at)
      return inserted
    },

    /** Writes what really changes; nothing where nothing does. Throws `package_name_taken`. */
    async save(action: Action, before: AppRow, changes: AppRowChanges, actor: Actor) {
      const after: AppRow = { ...before, ...changes }
      if (auditedColumns.every((column) => before[column] === after[column])) return
      after.package_key = packageKey(after.package_name)
      after.updated_at = laterThan(before.updated_at)
      await sql('apps')
        .where({ id: after.id })
        .update({ ...changes, package_key: after.package_key, updated_at: after.updated_at })
        .catch((error: unknown) => packageNameTaken(error, after.package_name))
      await follow(action, before, after, actor, after.updated_at)
    },

    /** Adds reviews and keeps the app's average, the mean to two decimals, and their count. */
    async addReviews(appId: number, reviews: Omit<ReviewRow, 'id' | 'app_id'>[]) {
      for (const review of reviews) await sql('reviews').insert({ ...review, app_id: appId })
      const [mean] = await sql('reviews').where({ app_id: appId }).avg({ rating: 'rating' }).count({ reviews: '*' })
      const average_rating = Math.round(Number(mean?.rating ?? 0) * 100) / 100
      await sql('apps')
        .where({ id: appId })
        .update({ average_rating, review_count: Number(mean?.reviews ?? 0) })
    },
  }
}

/** What the search index is told of an app. */
export function searchDocument(app: AppRow, developerName: string): SearchDocument {
  const texts = [app.short_description, app.description, developerName, app.package_name]
  return {
    name: indexTokens(app.name),
    text: texts.flatMap((text) => indexTokens(text ?? '')),
    nameKey: nameKey(app.name),
    categoryId: app.category_id,
  }
}

const packageKey = (name: string | null) => name?.toLowerCase() ?? null

/** Now, or a millisecond after the time given where that is not past: each change of an app has a time, and so an ETag, of its own. */
const laterThan = (time: string) => new Date(Math.max(Date.now(), Date.parse(time) + 1)).toISOString()
