import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Connection } from '../db/dialect.ts'
import type { Database } from '../db/open.ts'
import type { AppRow, ReviewRow } from '../db/tables.ts'
import { onlySet } from '../only-set.ts'
import type { Line } from './line.ts'

type ExportedApp = AppRow & {
  developer_name: string
  category_name: string
  category_slug: string
  reviews: Omit<ReviewRow, 'app_id'>[]
}

/** Apps read at a time. */
const pageSize = 200

/**
 * Writes every app as a line of a catalogue file, deleted ones too, in the order of their ids; each as it is when it is read.
 * Returns how many there were.
 */
export async function exportCatalogue(database: Database, output: Writable): Promise<number> {
  let count = 0
  for (let after = 0; ; ) {
    const page = await database.read((connection) => appsAfter(connection, after))
    for (const app of page) {
      if (!output.write(`${JSON.stringify(lineOf(app))}\n`)) await once(output, 'drain')
    }
    count += page.length
    const last = page.at(-1)
    if (!last) return count
    after = last.id
  }
}

async function appsAfter({ sql, jsonRows, rowsOf }: Connection, id: number): Promise<ExportedApp[]> {
  const columns = ['id', 'reviewer_name', 'rating', 'comment', 'created_at']
  const reviews = sql('reviews').whereRaw('app_id = apps.id')
  const apps = await sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .join('categories', 'categories.id', 'apps.category_id')
    .where('apps.id', '>', id)
    .orderBy('apps.id')
    .limit(pageSize)
    .select(
      'apps.*',
      'developers.name as developer_name',
      'categories.name as category_name',
      'categories.slug as category_slug',
      jsonRows(reviews, columns, 'id', 'reviews'),
    )
  return apps.map((app) => ({ ...app, reviews: rowsOf(app.reviews) }))
}

const lineOf = (app: ExportedApp): Line =>
  onlySet<Line>({
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
    reviews: app.reviews,
  })
