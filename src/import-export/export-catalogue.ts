import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { type AppReview, reviewColumns } from '../catalogue/app-store.ts'
import type { App } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/engine.ts'
import { listed } from '../db/listed-apps.ts'
import type { AppRow } from '../db/tables.ts'
import { chunk, pick, required } from '../util/helpers.ts'
import type { Line, LineCategory, ParsedLine, RemovedApp } from './line.ts'

type ExportedApp = AppRow & { developer_name: string; reviews: AppReview[] }
type Categories = Map<number, LineCategory>

export type ExportOptions = {
  /** Exports what has changed since that time, and possibly more. */
  since?: string | undefined
  /**
   * Exports listed apps, as everyone sees them. With `since`, also which apps are no longer listed.
   */
  isPublic?: boolean | undefined
}

/** Apps read at a time. */
const pageSize = 200
/** Ids found at a time. Each search for changed apps goes through all of them. */
const idBatchSize = 20_000

/** Milliseconds by which the clocks of writers may differ. */
const maxClockSkew = 60_000

/**
 * Writes the catalogue of one moment: its categories, then its apps by id, including deleted ones.
 * Returns their numbers, and `next`, the `since` of an export that continues this one.
 */
export async function exportCatalogue(
  database: Database,
  output: Writable,
  { since = '', isPublic = false }: ExportOptions = {},
) {
  const next = new Date((await database.committedBefore()).getTime() - maxClockSkew).toISOString()
  const write = async (line: Line | ParsedLine) => {
    // A destroyed stream never drains.
    if (output.destroyed) throw output.errored ?? new Error('the output of the export was closed')
    if (!output.write(`${JSON.stringify(line)}\n`)) await once(output, 'drain')
  }
  return database.snapshot(async (connection) => {
    const all = await connection.sql('categories').orderBy('id')
    const categories = new Map(
      all.map((category) => [category.id, pick(category, 'id', 'slug', 'name')]),
    )
    const changed = all.filter(({ changed_at }) => changed_at >= since)
    for (const category of changed)
      await write({ category: pick(category, 'id', 'slug', 'name', 'created_at') })
    let removed = 0
    // Before the apps, which may have got the package names of removed ones.
    if (isPublic && since !== '') {
      for await (const ids of changedAppIds(connection, since)) {
        const unlisted = await findUnlistedApps(connection, ids)
        for (const app of unlisted) await write({ removed: app })
        removed += unlisted.length
      }
    }
    let apps = 0
    for await (const ids of changedAppIds(connection, since)) {
      const found = await readApps(connection, ids, isPublic)
      for (const app of found)
        await write(isPublic ? toPublicLine(app, categories) : toLine(app, categories))
      apps += found.length
    }
    return { apps, removed, categories: changed.length, next }
  })
}

/** Ids of apps that have changed, or whose developer or category has, a page at a time. */
async function* changedAppIds({ sql }: Connection, since: string): AsyncGenerator<number[]> {
  const changedIds = (table: 'developers' | 'categories') =>
    sql(table).where('changed_at', '>=', since).select('id')
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
    const found: number[] = await sql(appIds())
      .where('id', '>', last)
      .orderBy('id')
      .limit(idBatchSize)
      .pluck('id')
    yield* chunk(found, pageSize)
    if (found.length < idBatchSize) return
    last = required(found.at(-1), 'the last id of a batch')
  }
}

/**
 * Unlisted apps that may have been listed before. The ids of apps that were never approved are not
 * public either.
 */
const findUnlistedApps = ({ sql }: Connection, ids: number[]): Promise<RemovedApp[]> =>
  sql('apps')
    .whereIn('id', ids)
    .whereNotNull('approved_at')
    .whereRaw(`not (${listed})`)
    .orderBy('id')
    .select('id', 'created_at')

async function readApps(
  { sql, jsonRows }: Connection,
  ids: number[],
  isPublic: boolean,
): Promise<ExportedApp[]> {
  const reviews = jsonRows(
    '(select * from reviews where app_id = apps.id) as own',
    reviewColumns,
    'id',
  )
  const rows: (AppRow & { developer_name: string; reviews: string })[] = await sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .whereIn('apps.id', ids)
    .whereRaw(isPublic ? listed : 'true')
    .orderBy('apps.id')
    .select('apps.*', 'developers.name as developer_name', sql.raw(`${reviews} as reviews`))
  return rows.map((row) => ({ ...row, reviews: JSON.parse(row.reviews) }))
}

/** Has every field of a line; null if it is not set. */
const toLine = (app: ExportedApp, categories: Categories): Required<Line> => ({
  ...pick(app, 'id', 'name', 'short_description', 'description', 'version', 'package_name', 'slug'),
  category: required(categories.get(app.category_id), 'the category of an app'),
  ...pick(app, 'developer_name', 'status', 'rejection_reason', 'total_downloads'),
  average_rating:
    app.other_rating_count === 0 ? null : app.other_rating_sum / (100 * app.other_rating_count),
  rating_count: app.other_rating_count === 0 ? null : app.other_rating_count,
  ...pick(app, 'created_at', 'updated_at', 'approved_at', 'deleted_at'),
  reviews: app.reviews,
})

/**
 * Has what the API shows of a listed app, and `deleted_at`, which is null: it brings back an app
 * that was hidden before.
 */
const toPublicLine = (
  app: ExportedApp,
  categories: Categories,
): Required<Pick<Line, keyof Line & Exclude<keyof App, 'rejection_reason'>>> & Line =>
  pick(
    toLine(app, categories),
    'id',
    'name',
    'short_description',
    'description',
    'version',
    'package_name',
    'slug',
    'category',
    'developer_name',
    'status',
    'total_downloads',
    'average_rating',
    'rating_count',
    'created_at',
    'updated_at',
    'approved_at',
    'deleted_at',
    'reviews',
  )
