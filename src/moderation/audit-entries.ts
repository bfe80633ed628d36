import { accountStore } from '../accounts/account-store.ts'
import { type AuditEntry, auditStore, readAfter, readNewest } from '../audit/audit-store.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import { moderationStore } from './moderation-store.ts'

/** Finds entries of the audit log, for the command line and the moderation page. */

/** A field that is left out does not filter. `developer` and `moderator` are names. */
export type EntryFilter = {
  /** The id of the only entry. */
  entry?: number | undefined
  app?: number | undefined
  developer?: string | undefined
  /** Finds what this moderator did on the moderation page, with any key of theirs. */
  moderator?: string | undefined
  since?: string | undefined
  /** Exclusive. */
  until?: string | undefined
  /** The id of an entry, which the others must be older than. */
  before?: number | undefined
}

/**
 * The newest entries, oldest first, and whether there are older ones; `read` and `toEntry` as in
 * `readNewest`. Throws an OperatorError if the app, the developer or the moderator does not exist.
 */
export async function findEntries<Entry>(
  read: <T>(work: (runner: QueryRunner) => Promise<T>) => Promise<T>,
  filter: EntryFilter,
  limit: number,
  toEntry: (entry: AuditEntry) => Entry,
) {
  const ids = await read((runner) => toIds(runner, filter))
  return readNewest(read, { ...ids, before: filter.before }, limit, toEntry)
}

/**
 * The entries with ids after `after`, in their order. First waits until no entry with a smaller id
 * than the last of these can appear. Throws as `findEntries`.
 */
export async function* entriesAfter(
  database: Database,
  filter: Omit<EntryFilter, 'before'>,
  after: number,
): AsyncGenerator<AuditEntry> {
  const last = await database.read((runner) => auditStore(runner).lastId())
  await database.waitForSmallerIds()
  const ids = await database.read((runner) => toIds(runner, filter))
  yield* readAfter(database.read, ids, { after, last })
}

/** The first of `entriesAfter`, and whether there are newer ones. */
export async function findEntriesAfter(
  database: Database,
  filter: Omit<EntryFilter, 'before'>,
  after: number,
  limit: number,
) {
  const entries: AuditEntry[] = []
  for await (const entry of entriesAfter(database, filter, after)) {
    if (entries.length === limit) return { entries, hasNewer: true }
    entries.push(entry)
  }
  return { entries, hasNewer: false }
}

async function toIds(
  runner: QueryRunner,
  { entry, app, developer, moderator, since, until }: EntryFilter,
) {
  if (app !== undefined) await moderationStore(runner).requireApp(app)
  const owner =
    developer === undefined ? undefined : await accountStore(runner).requireDeveloper(developer)
  const operatorIds =
    moderator === undefined ? undefined : await requireModeratorKeys(runner, moderator)
  return { id: entry, appId: app, developerId: owner?.id, operatorIds, since, until }
}

const maxNames = 100

/** The names of moderators, also of former ones; at most 100. */
export const moderatorNames = ({ sql }: QueryRunner): Promise<string[]> =>
  sql('operators').distinct('name').orderBy('name').limit(maxNames).pluck('name')

/** Names that an error message lists, at most. */
const maxListed = 10

/** The ids of a moderator's keys. Throws an OperatorError if no moderator has exactly this name. */
async function requireModeratorKeys(runner: QueryRunner, name: string): Promise<string[]> {
  const keys: string[] = await runner.sql('operators').where({ name: name.trim() }).pluck('id')
  if (keys.length > 0) return keys
  const names = await moderatorNames(runner)
  const isListed = names.length > 0 && names.length <= maxListed
  throw new OperatorError(
    `there is no moderator ${JSON.stringify(name.trim())}${isListed ? `; there are: ${names.join(', ')}` : ''}`,
  )
}
