import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { parseUnreviewed } from '../catalogue/policy.ts'
import { type AppReview, type NamedAppRow, reviewColumns } from '../catalogue/store.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import { chunk, required } from '../util/helpers.ts'
import type { CategoryLine, Line } from './line.ts'

type ExportedApp = NamedAppRow & { reviews: AppReview[] }

/** `next`: the `since` of an export that continues this one. */
export type ExportResult = { apps: number; categories: number; next: string }

/** Apps read at a time. */
const pageSize = 200
/** Ids found at a time. Each search for changed apps goes through all of them. */
const idBatchSize = 20_000

/** Milliseconds by which the clocks of writers may differ. */
const maxClockSkew = 60_000

/**
 * Writes the catalogue of one moment: its categories, then its apps by id, including deleted ones. With `since`, writes what
 * has changed since that time, and possibly more.
 */
export async function exportCatalogue(database: Database, output: Writable, since = ''): Promise<ExportResult> {
  const next = new Date((await database.committedBefore()).getTime() - maxClockSkew).toISOString()
  const write = async (line: Line | CategoryLine) => {
    // A destroyed stream never drains.
    if (output.destroyed) throw output.errored ?? new Error('the output of the export was closed')
    if (!output.write(`${JSON.stringify(line)}\n`)) await once(output, 'drain')
  }
  return database.snapshot(async (connection) => {
    const all = await connection
      .sql('categories')
      .orderBy('id')
      .select('id', 'slug', 'name', 'created_at', 'changed_at')
    const slugs = new Map(all.map(({ id, slug }) => [id, slug]))
    const changed = all.filter(({ changed_at }) => changed_at >= since)
    for (const { id, slug, name, created_at } of changed) await write({ category: { id, slug, name, created_at } })
    let apps = 0
    for await (const ids of changedAppIds(connection, since)) {
      for (const app of await readApps(connection, ids)) await write(toLine(app, slugs))
      apps += ids.length
    }
    return { apps, categories: changed.length, next }
  })
}

/** Ids of apps that have changed, or whose developer or category has, a page at a time. */
async function* changedAppIds({ sql }: Connection, since: string): AsyncGenerator<number[]> {
  const changedIds = (table: 'developers' | 'categories') => sql(table).where('changed_at', '>=', since).select('id')
  const appIds = () => {
    if (since === '') return sql('apps').select('id').as('changed')
    return sql('apps')
      .where('changed_at', '>=', since)
      .select('id')
      .union([
        sql('apps').whereIn('developer_id', changedIds('developers')).select('id'),
        sql('apps').whereIn('category_id', changedIds('categories')).select('id'),
      ])
      .as('changed')
  }
  for (let last = 0; ; ) {
    const found: number[] = await sql(appIds()).where('id', '>', last).orderBy('id').limit(idBatchSize).pluck('id')
    yield* chunk(found, pageSize)
    if (found.length < idBatchSize) return
    last = required(found.at(-1), 'the last id of a batch')
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

/** Has every field of a line; null if it is not set. */
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
  if (category_id === undefined) return texts
  return { ...texts, category: required(categorySlugs.get(category_id), 'the category of a change') }
}
