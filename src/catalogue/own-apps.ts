import type { Caller, Input } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import { countRows } from '../db/engine.ts'
import { findNamedApps, type NamedAppRow } from './app-store.ts'
import { waitsSince } from './policy.ts'

/** `waiting_since` is null unless the app waits for a decision, `decided_at` while it does. */
type OwnAppRow = NamedAppRow & { waiting_since: string | null }

/** A page of the caller's apps in any state but deleted, the last changed first, and their number. */
export function findOwnApps(
  database: Database,
  { developerId, appId }: Caller,
  { page, limit, status }: Input<'listOwnApps'>['query'],
  signal: AbortSignal,
): Promise<{ apps: OwnAppRow[]; total: number }> {
  // Expensive, because a developer may have many apps, all of which are counted.
  const options = { isExpensive: true, signal }
  return database.snapshot(async (runner) => {
    const ownApps = runner
      .sql('apps')
      .where({ developer_id: developerId, ...(appId && { id: appId }), ...(status && { status }) })
      // Literal, as in the index of migration 0025.
      .whereRaw("deleted_at is null and updated_at > ''")
    const total = await countRows(ownApps)
    const ids = await ownApps
      .orderBy([
        { column: 'updated_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset((page - 1) * limit)
      .pluck('id')
    const apps = await findNamedApps(runner, ids)
    return { apps: apps.map(withDecision), total }
  }, options)
}

function withDecision(app: NamedAppRow): OwnAppRow {
  const waiting_since = waitsSince(app)
  // Of an earlier decision, the first approval is all that the row has.
  const decided_at = app.decided_at ?? (app.status === 'approved' ? app.approved_at : null)
  return { ...app, waiting_since, decided_at: waiting_since === null ? decided_at : null }
}
