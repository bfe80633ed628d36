import { type Actor, type NewAuditEntry, recordEntries } from '../audit/audit-store.ts'
import { auditedDifference } from '../catalogue/app-side-effects.ts'
import { counterColumns, hasChanges, saveCounters } from '../catalogue/app-store.ts'
import type { QueryRunner } from '../db/engine.ts'
import { indexListedApps } from '../db/listed-apps.ts'
import { popularity } from '../search/terms.ts'
import type { LineWork } from './import-lines.ts'
import { type ImportLine, problem, readCounterLine } from './line.ts'
import { ratingsAfter } from './line-to-row.ts'

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
    .select('slug', 'package_key', 'status', 'deleted_at', 'review_count', 'developer_id')
    .select(...counterColumns)
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byPackageKey = new Map(apps.map((app) => [app.package_key, app]))
  const changed = new Set<(typeof apps)[number]>()
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
  await saveCounters(runner, [...changed], at)
  await recordEntries(
    runner,
    entries.map((entry) => ({ ...entry, actor })),
  )
  // The search index stores the popularity.
  await indexListedApps(runner, reindexedIds)
}
