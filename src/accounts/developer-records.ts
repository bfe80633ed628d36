import type { QueryRunner } from '../db/engine.ts'
import type { AppStatus } from '../db/rows.ts'

/** A developer's number of apps by status. Deleted apps do not count. */
export type DeveloperRecord = Record<AppStatus, number>

const noApps: DeveloperRecord = { approved: 0, rejected: 0, pending: 0 }

/**
 * Apps of a developer that are counted, the last changed ones. No index has those of each status
 * together.
 */
export const maxCounted = 1000

/**
 * A range of the index of migration 0018, which has the status, in the order of its columns: in a
 * large catalogue, PostgreSQL would sort all rows of a developer who has few by its estimate. The
 * literals are those of the index.
 */
const lastChanged = `(
  select status from apps
  where (developer_id, updated_at) > (developers.id, '') and (developer_id, updated_at) < (developers.id, '~')
    and deleted_at is null and updated_at > ''
  order by developer_id desc, updated_at desc, id desc limit ${maxCounted}) as last_changed`
const statuses = `(select status, count(*) as count from ${lastChanged} group by status) as statuses`

/**
 * The records of the developers with these ids, in one statement. If a developer has more than 1,000
 * apps, only those that changed last count, so that the numbers add up to 1,000.
 */
export async function developerRecords(
  { rows, jsonRows }: QueryRunner,
  ids: number[],
): Promise<Map<number, DeveloperRecord>> {
  if (ids.length === 0) return new Map()
  const counted = await rows<{ id: number; counts: string }>(
    `select id, ${jsonRows(statuses, ['status', 'count'], 'status')} as counts
     from developers where id in (${ids.map(() => '?')})`,
    ids,
  )
  return new Map(counted.map(({ id, counts }) => [id, toRecord(counts)]))
}

function toRecord(json: string): DeveloperRecord {
  const counts: { status: AppStatus; count: number }[] = JSON.parse(json)
  const record = { ...noApps }
  for (const { status, count } of counts) record[status] = count
  return record
}
