import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { categoryStore } from '../catalogue/categories.ts'
import { type AppReview, type NamedAppRow, reviewColumns } from '../catalogue/store.ts'
import { parseUnreviewed } from '../catalogue/unreviewed-changes.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import { chunk } from '../util/chunk.ts'
import type { CategoryLine, Line } from './line.ts'

type ExportedApp = NamedAppRow & { reviews: AppReview[] }

export type ExportResult = {
  apps: number
  categories: number
  /** What the next export is given to write what has changed since this one. */
  next: string
}

/** Apps read at a time. */
const pageSize = 200
/** Ids of changed apps found at a time: each time all that have changed are gone through. */
const idBatchSize = 20_000

/** Milliseconds by which the clocks of those who write may differ, or one may be set back. */
const maxClockSkew = 60_000

/**
 * Writes the catalogue as a file of its lines: its categories, then its apps, deleted ones too, in the order of their ids. With
 * `since`, those alone that have changed since that time; more may be among them. All of it is of one moment.
 */
export async function exportCatalogue(database: Database, output: Writable, since?: string): Promise<ExportResult> {
  const next = new Date((await database.committedBefore()).getTime() - maxClockSkew).toISOString()
  const write = async (line: Line | CategoryLine) => {
    // Whoever closed it is told of why: it drains no more.
    if (output.destroyed) throw output.errored ?? new Error('what the export is written to was closed')
    if (!output.write(`${JSON.stringify(line)}\n`)) await once(output, 'drain')
  }
  return database.snapshot(async (connection) => {
    const all = await categoryStore(connection).all()
    const slugs = new Map(all.map(({ id, slug }) => [id, slug]))
    const categories = await changedCategories(connection, since)
    for (const category of categories) await write({ category })
    let apps = 0
    for await (const ids of appIdPages(connection, since)) {
      const rows = await readApps(connection, ids)
      apps += rows.length
      for (const app of rows) await write(toLine(app, slugs))
    }
    return { apps, categories: categories.length, next }
  })
}

const changedCategories = ({ sql }: Connection, since = '') =>
  sql('categories').where('changed_at', '>=', since).orderBy('id').select('id', 'slug', 'name', 'created_at')

/** Ids of apps, by pages. */
async function* appIdPages({ sql }: Connection, since: string | undefined): AsyncGenerator<number[]> {
  const ids = () => {
    if (since === undefined) return sql('apps').select('id').as('wanted')
    const renamed = (table: 'developers' | 'categories') => sql(table).where('changed_at', '>=', since).select('id')
    return sql('apps')
      .where('changed_at', '>=', since)
      .select('id')
      .union([
        sql('apps').whereIn('developer_id', renamed('developers')).select('id'),
        sql('apps').whereIn('category_id', renamed('categories')).select('id'),
      ])
      .as('wanted')
  }
  for (let last = 0; ; ) {
    const found: number[] = await sql(ids()).where('id', '>', last).orderBy('id').limit(idBatchSize).pluck('id')
    yield* chunk(found, pageSize)
    if (found.length < idBatchSize) return
    last = found.at(-1) ?? 0
  }
}

async function readApps({ sql }: Connection, ids: number[]): Promise<ExportedApp[]> {
  const apps = await sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .join('categories', 'categories.id', 'apps.category_id')
    .whereIn('apps.id', ids)
    .orderBy('apps.id')
    .select(
      'apps.*',
      'developers.name as developer_name',
      'categories.name as category_name',
      'categories.slug as category_slug',
    )
  const reviews = Map.groupBy(
    await sql('reviews')
      .whereIn('app_id', ids)
      .orderBy('id')
      .select('app_id', ...reviewColumns),
    ({ app_id }) => app_id,
  )
  return apps.map((app) => ({ ...app, reviews: (reviews.get(app.id) ?? []).map(({ app_id, ...review }) => review) }))
}

/** All that a line can say: what is not set is null. */
const toLine = (app: ExportedApp, categorySlugs: Map<number, string>): Required<Line> => ({
  id: app.id,
  name: app.name,
  short_description: app.short_description,
  description: app.description,
  version: app.version,
  package_name: app.package_name,
  slug: app.slug,
  category: { id: app.category_id, slug: app.category_slug, name: app.category_name },
  developer_name: app.developer_name,
  status: app.status,
  rejection_reason: app.rejection_reason,
  total_downloads: app.total_downloads,
  average_rating: app.other_rating_count === 0 ? null : app.other_rating_sum / (100 * app.other_rating_count),
  rating_count: app.other_rating_count === 0 ? null : app.other_rating_count,
  created_at: app.created_at,
  updated_at: app.updated_at,
  approved_at: app.approved_at,
  deleted_at: app.deleted_at,
  unreviewed_since: app.unreviewed_since,
  unreviewed_changes: app.unreviewed_since === null ? null : toLineChanges(app, categorySlugs),
  reviews: app.reviews,
})

function toLineChanges(app: ExportedApp, categorySlugs: Map<number, string>) {
  const { category_id, ...texts } = parseUnreviewed(app)
  return { ...texts, ...(category_id !== undefined && { category: categorySlugs.get(category_id) ?? null }) }
}
