import { type Actor, auditStore, type NewAuditEntry } from '../audit/store.ts'
import { auditedDifference } from '../catalogue/store.ts'
import type { Problem } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import { indexListedApps } from '../db/index-apps.ts'
import type { AppRow } from '../db/tables.ts'
import { pauseForOthers } from '../db/write-pacing.ts'
import { popularity } from '../search/terms.ts'
import { ratingsAfter } from './columns.ts'
import { type CounterLine, problem, readCounterLine } from './line.ts'
import { readLines } from './read-lines.ts'

/** Lines per transaction. */
const batchSize = 500

const numbers = [
  'id',
  'total_downloads',
  'other_rating_sum',
  'other_rating_count',
  'rating_sum',
  'rating_count',
  'weighted_rating',
  'average_rating',
] as const
type Counters = Pick<AppRow, (typeof numbers)[number]>

/** Sets the downloads and ratings of apps from a file of counter lines. Does not change `updated_at`. Refused lines do not stop it. */
export async function setCounters(
  database: Database,
  source: AsyncIterable<Buffer>,
  actor: Actor,
  onReject: (problems: Problem[]) => void,
) {
  const summary = { lines: 0, updated: 0, unchanged: 0, rejected: 0 }
  let batch: CounterLine[] = []
  const pause = pauseForOthers(database)
  for await (const read of readLines(source)) {
    summary.lines++
    const line = 'problem' in read ? [problem('', read.problem)] : readCounterLine(read.text)
    if (Array.isArray(line)) reject(line)
    else batch.push(line)
    if (batch.length === batchSize) await writeBatch()
  }
  await writeBatch()
  await database.optimize({ isLast: true })
  return summary

  async function writeBatch() {
    if (batch.length === 0) return
    const outcomes = await database.write((connection) => writeLines(connection, batch, actor), {
      changesPublicData: (outcomes) => outcomes.includes('updated'),
    })
    batch = []
    for (const outcome of outcomes) {
      if (Array.isArray(outcome)) reject(outcome)
      else summary[outcome]++
    }
    await pause()
  }

  function reject(problems: Problem[]) {
    summary.rejected++
    onReject(problems)
  }
}

async function writeLines(connection: Connection, lines: CounterLine[], actor: Actor) {
  const { sql } = connection
  const at = new Date().toISOString()
  const slugs = lines.flatMap(({ slug }) => slug ?? [])
  const packageKeys = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
  const apps = await sql('apps')
    .where((named) => named.whereIn('slug', slugs).orWhereIn('package_key', packageKeys))
    .whereNull('deleted_at')
    .orderBy('id')
    .forUpdate()
    .select('slug', 'package_key', 'review_count', 'developer_id', ...numbers)
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byPackageKey = new Map(apps.map((app) => [app.package_key, app]))
  const changed = new Set<Counters>()
  const entries: NewAuditEntry[] = []
  const movedIds: number[] = []
  const outcomes: ('updated' | 'unchanged' | Problem[])[] = []
  for (const line of lines) {
    const { slug, package_name = '' } = line
    const app = slug === undefined ? byPackageKey.get(package_name.toLowerCase()) : bySlug.get(slug)
    if (!app) {
      outcomes.push([problem(slug === undefined ? '/package_name' : '/slug', 'belongs to no app')])
      continue
    }
    const { total_downloads = app.total_downloads } = line
    const changes = { total_downloads, ...ratingsAfter(line, app) }
    const isChanged = numbers.some((column) => column !== 'id' && app[column] !== changes[column])
    outcomes.push(isChanged ? 'updated' : 'unchanged')
    if (!isChanged) continue
    changed.add(app)
    const subject = { app_id: app.id, developer_id: app.developer_id }
    entries.push({ action: 'app counters', at, subject, ...auditedDifference(app, { ...app, ...changes }) })
    if (popularity(app.total_downloads) !== popularity(total_downloads)) movedIds.push(app.id)
    // A later line of the batch may be about the same app.
    Object.assign(app, changes)
  }
  if (changed.size > 0) await update(connection, [...changed], at)
  await auditStore(connection).record(entries, actor)
  // The search index stores the popularity.
  await indexListedApps(connection, movedIds)
  return outcomes
}

/** Updates all apps in one statement, which takes a third of the time. The values are numbers, so they need no escaping. */
async function update({ sql }: Connection, apps: Counters[], at: string) {
  const rows = apps.map((app) => `(${numbers.map((column) => app[column])})`)
  // SQLite and PostgreSQL both name the columns of `values` column1, column2 …
  const assignments = numbers.slice(1).map((column, index) => `${column} = given.column${index + 2}`)
  await sql.raw(
    `update apps set ${assignments}, changed_at = ? from (values ${rows}) as given where apps.id = given.column1`,
    [at],
  )
}
