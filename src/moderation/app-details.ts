import { type AuditEntry, readNewest } from '../audit/read-entries.ts'
import { type OwnerColumn, ownerColumns } from '../catalogue/app-columns.ts'
import { type NamedAppRow, namedApps } from '../catalogue/app-store.ts'
import { findCategories } from '../catalogue/category-store.ts'
import { readableValue } from '../catalogue/keywords.ts'
import { findLookAlikes, type LookAlike } from '../catalogue/look-alikes.ts'
import { parseUnreviewed } from '../catalogue/policy.ts'
import { OperatorError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow } from '../db/rows.ts'

/** Everything that a decision on an app may need. */

/**
 * A field that the owner has changed since the last decision. The value of `category` is its slug.
 */
export type Change = { field: string; before: string | null; after: string | null }

export type AppDetails<Entry = AuditEntry> = {
  app: NamedAppRow
  lookAlikes: LookAlike[]
  changes: Change[]
  /** The newest audit entries, oldest first. */
  history: Entry[]
  hasOlderHistory: boolean
}

/** `toEntry` as in `readNewest`. Throws an OperatorError if there is no such app. */
export async function findAppDetails<Entry>(
  runner: QueryRunner,
  id: number,
  historyLimit: number,
  toEntry: (entry: AuditEntry) => Entry,
): Promise<AppDetails<Entry>> {
  const app = await requireApp(runner, id)
  const { entries, hasOlder } = await readNewest(
    (work) => work(runner),
    { appId: id },
    historyLimit,
    toEntry,
  )
  return {
    app,
    lookAlikes: (await findLookAlikes(runner, [app])).flat(),
    changes: ownerChanges(app, await readCategorySlugs(runner)),
    history: entries,
    hasOlderHistory: hasOlder,
  }
}

/** Finds deleted apps, too. Throws an OperatorError if there is no such app. */
export async function requireApp(runner: QueryRunner, id: number): Promise<NamedAppRow> {
  const [app]: NamedAppRow[] = await namedApps(runner, [id])
  if (!app) throw new OperatorError(`there is no app ${id}`)
  return app
}

/** The newest other apps of an app's developer, in any state. */
export const findOtherApps = (
  { sql }: QueryRunner,
  { id, developer_id }: Pick<AppRow, 'id' | 'developer_id'>,
  limit: number,
): Promise<Pick<AppRow, 'id' | 'name' | 'status' | 'deleted_at'>[]> =>
  sql('apps')
    .where({ developer_id })
    .whereNot({ id })
    .orderBy('id', 'desc')
    .limit(limit)
    .select('id', 'name', 'status', 'deleted_at')

/** The slugs of all categories by their ids. */
export async function readCategorySlugs(runner: QueryRunner): Promise<Map<unknown, string>> {
  const categories = await findCategories(runner)
  return new Map(categories.map(({ id, slug }) => [id, slug]))
}

/** The owner's changes since the last decision, without those that were undone. */
export function ownerChanges(
  app: Pick<AppRow, 'unreviewed_changes' | OwnerColumn>,
  categorySlugs: Map<unknown, string>,
): Change[] {
  const before = parseUnreviewed(app)
  const textOf = (column: OwnerColumn, value: unknown) => {
    const shown = column === 'category_id' ? categorySlugs.get(value) : readableValue(column, value)
    return shown === null || shown === undefined ? null : String(shown)
  }
  return ownerColumns
    .filter((column) => column in before && before[column] !== app[column])
    .map((column) => ({
      field: column === 'category_id' ? 'category' : column,
      before: textOf(column, before[column]),
      after: textOf(column, app[column]),
    }))
}
