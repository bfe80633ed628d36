import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { parseUnreviewed } from '../catalogue/policy.ts'
import { type AppReview, reviewColumns } from '../catalogue/store.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import type { AppRow } from '../db/tables.ts'
import { chunk, pick, required } from '../util/helpers.ts'
import type { CategoryLine, Line, LineCategory } from './line.ts'

type ExportedApp = AppRow & { developer_name: string; reviews: AppReview[] }
type Categories = Map<number, LineCategory>

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
    const categories = new Map(all.map((category) => [category.id, pick(category, 'id', 'slug', 'name')]))
    const changed = all.filter(({ changed_at }) => changed_at >= since)
    for (const category of changed) await write({ category: pick(category, 'id', 'slug', 'name', 'created_at') })
    let apps = 0
    for await (const ids of changedAppIds(connection, since)) {
      for (const app of await readApps(connection, ids)) await write(toLine(app, categories))
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

async function readApps({ sql, jsonRows }: Connection, ids: number[]): Promise<ExportedApp[]> {
  const reviews = jsonRows('(select * from reviews where app_id = apps.id) as own', reviewColumns, 'id')
  const rows: (AppRow & { developer_name: string; reviews: string })[] = await sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .orderBy('apps.id')
    .select('apps.*', 'developers.name as developer_name', sql.raw(`${reviews} as reviews`))
  return rows.map((row) => ({ ...row, reviews: JSON.parse(row.reviews) }))
}

/** Has every field of a line; null if it is not set. */
const toLine = (app: ExportedApp, categories: Categories): Required<Line> => ({
  ...pick(app, 'id', 'name', 'short_description', 'description', 'version', 'package_name', 'slug'),
  category: required(categories.get(app.category_id), 'the category of an app'),
  ...pick(app, 'developer_name', 'status', 'rejection_reason', 'total_downloads'),
  average_rating: app.other_rating_count === 0 ? null : app.other_rating_sum / (100 * app.other_rating_count),
  rating_count: app.other_rating_count === 0 ? null : app.other_rating_count,
  ...pick(app, 'created_at', 'updated_at', 'approved_at', 'deleted_at', 'unreviewed_since'),
  unreviewed_changes: app.unreviewed_since === null ? null : toLineChanges(app, categories),
  reviews: app.reviews,
})

function toLineChanges(app: ExportedApp, categories: Categories) {
  const { category_id, ...texts } = parseUnreviewed(app)
  const category = category_id === undefined ? undefined : categories.get(category_id)
  // An operator may have removed the former category.
  return category === undefined ? texts : { ...texts, category: category.slug }
}
