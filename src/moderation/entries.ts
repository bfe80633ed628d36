import { requireDeveloper } from '../accounts/account-store.ts'
import {
  type AuditEntry,
  type AuditFilter,
  findLastEntryId,
  readAfter,
  readNewest,
} from '../audit/read-entries.ts'
import { OperatorError, UsageError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { DatabaseWithTools } from '../db/tools.ts'
import { requireApp } from './app-details.ts'

/** Finds entries of the audit log, for the command line and the moderation page. */

/**
 * Entries of all, or of one: an app, a developer or a moderator. `until`, `before` and `since` as in
 * `AuditFilter`.
 */
export type EntryFilter = Omit<AuditFilter, 'appId' | 'developerId' | 'operatorIds'> & {
  app?: number | undefined
  /** A name. */
  developer?: string | undefined
  /** A name. Finds what this moderator did on the moderation page, with any key of theirs. */
  moderator?: string | undefined
}

/**
 * The newest entries, oldest first, and whether there are older ones; `read` and `toEntry` as in
 * `readNewest`. Throws an OperatorError if the app, the developer or the moderator does not exist,
 * or several of them are given.
 */
export async function findEntries<Entry>(
  read: DatabaseWithTools['read'],
  { app, developer, moderator, ...range }: EntryFilter,
  limit: number,
  toEntry: (entry: AuditEntry) => Entry,
): Promise<{ entries: Entry[]; hasOlder: boolean }> {
  const given = [app, developer, moderator].filter((one) => one !== undefined)
  if (given.length > 1)
    throw new UsageError(
      'choose one of app, developer and moderator; an app has the fewest entries',
    )
  const ids = await read(async (runner) => {
    if (app !== undefined) await requireApp(runner, app)
    const owner = developer === undefined ? undefined : await requireDeveloper(runner, developer)
    const operatorIds =
      moderator === undefined ? undefined : await requireModeratorKeys(runner, moderator)
    return { appId: app, developerId: owner?.id, operatorIds }
  })
  return readNewest(read, { ...ids, ...range }, limit, toEntry)
}

/**
 * The entries with ids after `after`, in their order. First waits until no entry with a smaller id
 * than the last of these can appear.
 */
export async function* entriesAfter(
  database: DatabaseWithTools,
  after: number,
): AsyncGenerator<AuditEntry> {
  const last = await database.read(findLastEntryId)
  if (last <= after) return
  await database.waitForSmallerIds()
  yield* readAfter(database.read, { after, last })
}

/** The first of `entriesAfter`, and whether there are newer ones. */
export async function findEntriesAfter(
  database: DatabaseWithTools,
  after: number,
  limit: number,
): Promise<{ entries: AuditEntry[]; hasNewer: boolean }> {
  const entries: AuditEntry[] = []
  for await (const entry of entriesAfter(database, after)) {
    if (entries.length === limit) return { entries, hasNewer: true }
    entries.push(entry)
  }
  return { entries, hasNewer: false }
}

/** The current names of what the values of entries refer to, by id. */
export type NamesById = Record<'app' | 'category' | 'developer', ReadonlyMap<string, string>>

type EntryWithChanges = {
  app_id: number | null
  changes: { column: string; before?: string | null; after: string | null }[]
}

/** The names of the apps of entries, and of the categories and developers in their values. */
export async function namesInEntries(
  { sql }: QueryRunner,
  entries: EntryWithChanges[],
): Promise<NamesById> {
  const valuesOf = (column: string) =>
    entries.flatMap(({ changes }) =>
      changes
        .filter((change) => change.column === column)
        .flatMap(({ before, after }) => [before, after])
        .map(Number)
        .filter(Number.isSafeInteger),
    )
  const appIds = entries.flatMap(({ app_id }) => app_id ?? [])
  const namesOf = async (table: 'apps' | 'categories' | 'developers', ids: number[]) => {
    const rows = await sql(table)
      .whereIn('id', [...new Set(ids)])
      .select('id', 'name')
    return new Map(rows.map(({ id, name }) => [String(id), name]))
  }
  return {
    app: await namesOf('apps', appIds),
    category: await namesOf('categories', valuesOf('category_id')),
    developer: await namesOf('developers', valuesOf('developer_id')),
  }
}

const maxNames = 100

/** The names of moderators, also of former ones; at most 100. */
export const moderatorNames = ({ sql }: QueryRunner): Promise<string[]> =>
  sql('operators').distinct('name').orderBy('name').limit(maxNames).pluck('name')

/** Names that an error message suggests, at most. */
const maxSuggested = 10

/** The ids of a moderator's keys. Throws an OperatorError if no moderator has exactly this name. */
async function requireModeratorKeys(runner: QueryRunner, name: string): Promise<string[]> {
  const keys: string[] = await runner.sql('operators').where({ name: name.trim() }).pluck('id')
  if (keys.length > 0) return keys
  const names = await moderatorNames(runner)
  const areSuggested = names.length > 0 && names.length <= maxSuggested
  throw new OperatorError(
    `there is no moderator ${JSON.stringify(name.trim())}${areSuggested ? `; there are: ${names.join(', ')}` : ''}`,
  )
}
