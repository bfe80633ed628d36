import { type Action, type Actor, difference, recordEntries } from '../audit/audit-store.ts'
import type { QueryRunner } from '../db/engine.ts'
import { indexListedApps, listedCondition } from '../db/listed-apps.ts'
import type { AppRow } from '../db/rows.ts'
import {
  popularity,
  type SearchDocument,
  searchedTexts,
  toIndexedName,
  toSearchDocument,
} from '../search/terms.ts'
import { chunk, required } from '../util/helpers.ts'
import { auditedColumns } from './app-columns.ts'
import { isListed } from './policy.ts'

/** What is written besides the rows when apps change, or the name of their developer. */

/** An app that was inserted, or changed if there is a `before`. */
export type AppChange = {
  before?: AppRow
  after: AppRow
  at: string
  actor: Actor
  /** Made from `after` if missing. */
  document?: SearchDocument | undefined
}

/**
 * Applies changes of apps to the indexes of names and of searches, the categories' counts, the audit
 * log and the version of the public data.
 */
export async function applySideEffects(
  runner: QueryRunner,
  action: Action,
  changes: AppChange[],
): Promise<void> {
  if (changes.some(({ before, after }) => isListed(after) || (before && isListed(before))))
    runner.markPublicChange()
  const renamed = changes.filter(
    ({ before, after }) =>
      before?.name !== after.name || before.package_name !== after.package_name,
  )
  await runner.names.index(renamed.map(({ after }) => toIndexedName(after)))
  await updateSearchIndex(runner, changes)
  await updateCategoryCounts(runner, changes)
  const entries = changes.map(({ before, after, at, actor }) => ({
    action,
    at,
    actor,
    app_id: after.id,
    developer_id: after.developer_id,
    ...auditedDifference(before, after),
  }))
  await recordEntries(runner, entries)
}

async function updateSearchIndex(runner: QueryRunner, changes: AppChange[]): Promise<void> {
  const unlisted = changes.filter(
    ({ before, after }) => before && isListed(before) && !isListed(after),
  )
  await runner.search.remove(unlisted.map(({ after }) => after.id))
  const stale = changes.filter(
    ({ before, after }) =>
      isListed(after) && !(before && isListed(before) && hasSameDocument(before, after)),
  )
  const names = await lockDeveloperNames(
    runner,
    stale.filter(({ document }) => !document).map(({ after }) => after.developer_id),
  )
  await runner.search.index(
    stale.map(({ after, document }) => ({
      id: after.id,
      slug: after.slug,
      categoryId: after.category_id,
      ...(document ??
        toSearchDocument(after, required(names.get(after.developer_id), 'the developer'))),
    })),
  )
}

async function lockDeveloperNames(
  { sql }: QueryRunner,
  ids: number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  // Locked, so that no name changes until this transaction has indexed it.
  const rows = await sql('developers').whereIn('id', ids).forShare().select('id', 'name')
  return new Map(rows.map(({ id, name }) => [id, name]))
}

async function updateCategoryCounts({ sql }: QueryRunner, changes: AppChange[]): Promise<void> {
  const differences = new Map<number, number>()
  const add = (app: AppRow | undefined, difference: number) => {
    if (app && isListed(app))
      differences.set(app.category_id, (differences.get(app.category_id) ?? 0) + difference)
  }
  for (const { before, after } of changes) {
    add(before, -1)
    add(after, 1)
  }
  // In the order of their ids, so that two transactions cannot deadlock.
  for (const [id, difference] of [...differences].toSorted(([a], [b]) => a - b)) {
    if (difference !== 0) await sql('categories').where({ id }).increment('listed_apps', difference)
  }
}

/** The columns that the search index depends on, besides the downloads. */
const searchedColumns = [...searchedTexts, 'slug', 'category_id', 'developer_id'] as const

/**
 * Whether the search index needs no update. It stores the popularity that follows from the
 * downloads, not their number.
 */
const hasSameDocument = (before: AppRow, after: AppRow) =>
  searchedColumns.every((column) => before[column] === after[column]) &&
  popularity(before.total_downloads) === popularity(after.total_downloads)

export const auditedDifference = (
  before: Partial<AppRow> | undefined,
  after: Partial<AppRow>,
): { before?: Partial<AppRow>; after: Partial<AppRow> } => difference(before, after, auditedColumns)

/** Apps per statement that reads them for the search index. */
const reindexBatchSize = 100

/**
 * Indexes a developer's listed apps again, after the developer was renamed. Returns their number.
 */
export async function reindexAppsOf(
  runner: QueryRunner,
  developerId: number,
  onProgress: (done: number, total: number) => void,
): Promise<number> {
  const ids: number[] = await runner
    .sql('apps')
    .where({ developer_id: developerId })
    .whereRaw(listedCondition)
    .pluck('id')
  let done = 0
  for (const batch of chunk(ids, reindexBatchSize)) {
    await indexListedApps(runner, batch)
    done += batch.length
    onProgress(done, ids.length)
  }
  return ids.length
}
