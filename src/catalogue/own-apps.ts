import type { Caller, Input } from '../contract/contract.ts'
import type { Database } from '../db/database.ts'
import { required } from '../util/helpers.ts'
import { findNamedApps, type NamedAppRow } from './app-store.ts'

/** A page of the caller's apps in any state but deleted, the last changed first, and their number. */
export function findOwnApps(
  database: Database,
  { developerId }: Caller,
  { page, limit, status }: Input<'listOwnApps'>['query'],
  signal: AbortSignal,
): Promise<{ apps: NamedAppRow[]; total: number }> {
  // Expensive, because a developer may have many apps, all of which are counted.
  const options = { isExpensive: true, signal }
  return database.snapshot(async (runner) => {
    const ownApps = runner
      .sql('apps')
      .where({ developer_id: developerId, ...(status && { status }) })
      // Literal, as in the index of migration 0018.
      .whereRaw("deleted_at is null and updated_at > ''")
    const [all] = await ownApps.clone().count({ total: '*' })
    const ids = await ownApps
      .orderBy([
        { column: 'updated_at', order: 'desc' },
        { column: 'id', order: 'desc' },
      ])
      .limit(limit)
      .offset((page - 1) * limit)
      .pluck('id')
    return {
      apps: await findNamedApps(runner, ids),
      total: Number(required(all, 'the count').total),
    }
  }, options)
}
