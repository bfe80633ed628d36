import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { importedColumns, isPublicField } from '../catalogue/app-columns.ts'
import {
  type AppWithReviews,
  type NamedAppRow,
  namedApps,
  reviewColumns,
} from '../catalogue/app-store.ts'
import { parseKeywords } from '../catalogue/keywords.ts'
import { type QueryRunner, readBatches } from '../db/engine.ts'
import { listedCondition } from '../db/listed-apps.ts'
import type { DatabaseWithTools } from '../db/tools.ts'
import { chunk, pick } from '../util/helpers.ts'
import { type Line, lineFields, type ParsedLine, type RemovedApp } from './line.ts'

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
  database: DatabaseWithTools,
  output: Writable,
  { since = '', isPublic = false }: ExportOptions = {},
): Promise<{ apps: number; removed: number; categories: number; next: string }> {
  const next = new Date((await database.committedBefore()).getTime() - maxClockSkew).toISOString()
  const write = async (line: Line | ParsedLine) => {
    // A destroyed stream never drains.
    if (output.destroyed) throw output.errored ?? new Error('the output of the export was closed')
    if (!output.write(`${JSON.stringify(line)}\n`)) await once(output, 'drain')
  }
  return database.snapshot(async (runner) => {
    const categories = await runner
      .sql('categories')
      .where('changed_at', '>=', since)
      .orderBy('id')
      .select('id', 'slug', 'name', 'created_at')
    for (const category of categories) await write({ category })
    let removed = 0
    // Before the apps, which may have got the package names of removed ones.
    if (isPublic && since !== '') {
      for await (const ids of changedAppIds(runner, since)) {
        const unlisted = await findUnlistedApps(runner, ids)
        for (const app of unlisted) await write({ removed: app })
        removed += unlisted.length
      }
    }
    let apps = 0
    for await (const ids of changedAppIds(runner, since)) {
      const found = await readApps(runner, ids, isPublic)
      for (const app of found) await write(isPublic ? toPublicLine(app) : toLine(app))
      apps += found.length
    }
    return { apps, removed, categories: categories.length, next }
  })
}

/** Ids of apps that have changed, or whose developer or category has, a page at a time. */
export async function* changedAppIds(
  { sql }: QueryRunner,
  since: string,
): AsyncGenerator<number[]> {
  const changedIds = (table: 'developers' | 'categories') =>
    sql(table).where('changed_at', '>=', since).select('id')
  const all = sql('apps').select('id')
  const changed =
    since === ''
      ? all
      : all
          .where('changed_at', '>=', since)
          .union([
            sql('apps').whereIn('developer_id', changedIds('developers')).select('id'),
            sql('apps').whereIn('category_id', changedIds('categories')).select('id'),
          ])
  const apps = sql(changed.as('changed'))
  for await (const batch of readBatches<{ id: number }>(apps, 'id', idBatchSize)) {
    const ids = batch.map(({ id }) => id)
    yield* chunk(ids, pageSize)
  }
}

/**
 * Unlisted apps that may have been listed before. The ids of apps that were never approved are not
 * public either.
 */
const findUnlistedApps = ({ sql }: QueryRunner, ids: number[]): Promise<RemovedApp[]> =>
  sql('apps')
    .whereIn('id', ids)
    .whereNotNull('approved_at')
    .whereRaw(`not (${listedCondition})`)
    .orderBy('id')
    .select('id', 'created_at')

async function readApps(
  runner: QueryRunner,
  ids: number[],
  isPublic: boolean,
): Promise<AppWithReviews[]> {
  const own = '(select * from reviews where app_id = apps.id) as own'
  const reviews = runner.jsonRows(own, reviewColumns, 'id')
  const rows: (NamedAppRow & { reviews: string })[] = await namedApps(runner, ids)
    .whereRaw(isPublic ? listedCondition : 'true')
    .select(runner.sql.raw(`${reviews} as reviews`))
  return rows.map((row) => ({ ...row, reviews: JSON.parse(row.reviews) }))
}

/** Has every field of a line; null if it is not set. */
function toLine(app: AppWithReviews): Required<Line> {
  const { other_rating_sum: sum, other_rating_count: count } = app
  const line = {
    ...pick(app, ...importedColumns),
    keywords: parseKeywords(app.keywords),
    category: { id: app.category_id, slug: app.category_slug, name: app.category_name },
    developer_name: app.developer_name,
    average_rating: count === 0 ? null : sum / (100 * count),
    rating_count: count === 0 ? null : count,
    reviews: app.reviews,
  }
  return pick(line, ...lineFields)
}

/** Has what everybody sees of a listed app. */
const toPublicLine = (app: AppWithReviews): Line => pick(toLine(app), ...publicFields)

const publicFields = lineFields.filter(isPublicField)
