import { accountStore } from '../accounts/account-store.ts'
import { type AuditEntry, auditStore, readNewest } from '../audit/audit-store.ts'
import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import { moderationStore } from './moderation-store.ts'

/** Finds entries of the audit log, for the command line and the moderation page. */

/** A field that is left out does not filter. `developer` is a name. */
export type EntryFilter = {
  /** The id of the only entry. */
  entry?: number | undefined
  app?: number | undefined
  developer?: string | undefined
  since?: string | undefined
}

/**
 * The newest entries, oldest first, and whether there are older ones; `read` and `toEntry` as in
 * `readNewest`. Throws an OperatorError if the app or the developer does not exist.
 */
export async function findEntries<Entry>(
  read: <T>(work: (runner: QueryRunner) => Promise<T>) => Promise<T>,
  filter: EntryFilter,
  limit: number,
  toEntry: (entry: AuditEntry) => Entry,
) {
  const ids = await read((runner) => toIds(runner, filter))
  return readNewest(read, ids, limit, toEntry)
}

/**
 * The first entries with ids after `after`, in their order, and whether there are newer ones. Waits
 * until no entry with a smaller id than the last of these can appear. Throws as `findEntries`.
 */
export async function findEntriesAfter(
  database: Database,
  filter: EntryFilter,
  after: number,
  limit: number,
) {
  const last = await database.read((runner) => auditStore(runner).lastId())
  await database.waitForSmallerIds()
  return database.snapshot(async (runner) =>
    auditStore(runner).listAfter(await toIds(runner, filter), { after, last }, limit),
  )
}

async function toIds(runner: QueryRunner, { entry, app, developer, since }: EntryFilter) {
  if (app !== undefined) await moderationStore(runner).requireApp(app)
  const owner =
    developer === undefined ? undefined : await accountStore(runner).requireDeveloper(developer)
  return { id: entry, appId: app, developerId: owner?.id, since }
}
