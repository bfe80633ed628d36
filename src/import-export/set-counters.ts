import { type Actor, auditStore, type NewAuditEntry } from '../audit/audit-store.ts'
import { auditedDifference, hasChanges } from '../catalogue/app-store.ts'
import type { QueryRunner } from '../db/engine.ts'
import { indexListedApps } from '../db/listed-apps.ts'
import type { AppRow } from '../db/rows.ts'
import { popularity } from '../search/terms.ts'
import type { LineWork } from './import-lines.ts'
import { type ImportLine, problem, readCounterLine } from './line.ts'
import { ratingsAfter } from './line-to-row.ts'

const counterColumns = [
  'id',
  'total_downloads',
  'other_rating_sum',
  'other_rating_count',
  'rating_sum',
  'rating_count',
  'weighted_rating',
  'average_rating',
] as const
type Counters = Pick<AppRow, (typeof counterColumns)[number]>

/** Sets the downloads and ratings of apps. Does not change `updated_at`. */
export const counterLines = (actor: Actor): LineWork => ({
  parse: readCounterLine,
  write: (runner, lines) => setCounters(runner, lines, actor),
})

async function setCounters(runner: QueryRunner, batch: ImportLine[], actor: Actor) {
  const { sql } = runner
  const at = new Date().toISOString()
  const lines = batch.flatMap((line) => (line.counters ? [{ line, ...line.counters }] : []))
  const slugs = lines.flatMap(({ slug }) => slug ?? [])
  const packageKeys = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
  const apps = await sql('apps')
    .where((named) => named.whereIn('slug', slugs).orWhereIn('package_key', packageKeys))
    .whereNull('deleted_at')
    .orderBy('id')
    .forUpdate()
    .select('slug', 'package_key', 'review_count', 'developer_id', ...counterColumns)
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byPackageKey = new Map(apps.map((app) => [app.package_key, app]))
  const changed = new Set<Counters>()
  const entries: NewAuditEntry[] = []
  const reindexedIds: number[] = []
  for (const { line, slug, package_name = '', ...given } of lines) {
    const app = slug === undefined ? byPackageKey.get(package_name.toLowerCase()) : bySlug.get(slug)
    if (!app) {
      line.outcome = [problem(slug === undefined ? '/package_name' : '/slug', 'belongs to no app')]
      continue
    }
    const { total_downloads = app.total_downloads } = given
    const changes = { total_downloads, ...ratingsAfter(given, app) }
    line.outcome = hasChanges(app, changes) ? 'updated' : 'unchanged'
    if (line.outcome === 'unchanged') continue
    changed.add(app)
    entries.push({
      action: 'app counters',
      at,
      app_id: app.id,
      developer_id: app.developer_id,
      ...auditedDifference(app, { ...app, ...changes }),
    })
    if (popularity(app.total_downloads) !== popularity(total_downloads)) reindexedIds.push(app.id)
    // A later line of the batch may be about the same app.
    Object.assign(app, changes)
  }
  if (changed.size > 0) await update(runner, [...changed], at)
  await auditStore(runner).record(actor, ...entries)
  // The search index stores the popularity.
  await indexListedApps(runner, reindexedIds)
}

/**
 * Updates all apps in one statement, which takes a third of the time. The values are numbers, so
 * they need no escaping.
 */
async function update({ sql }: QueryRunner, apps: Counters[], at: string) {
  const rows = apps.map((app) => `(${counterColumns.map((column) => app[column])})`)
  // SQLite and PostgreSQL both name the columns of `values` column1, column2 …
  const assignments = counterColumns
    .slice(1)
    .map((column, index) => `${column} = given.column${index + 2}`)
  await sql.raw(
    `update apps set ${assignments}, changed_at = ? from (values ${rows}) as given where apps.id = given.column1`,
    [at],
  )
}
