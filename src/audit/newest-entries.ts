import type { QueryRunner } from '../db/engine.ts'

/** Finds the ids of the newest audit entries by the indexes of the audit log. */

/** Entries of all, or of one: an app, a developer, or the sign-in keys of a moderator. */
export type AuditFilter = {
  appId?: number | undefined
  developerId?: number | undefined
  operatorIds?: readonly string[] | undefined
  /** Entries begin before this time. */
  until?: string | undefined
  /** Instead of `until`: the id of an entry, which the others are older than. */
  before?: number | undefined
  /** Entries stop at this time. */
  since?: string | undefined
}

/**
 * The ids of the newest matching entries, newest first: in the order of their times, those of an
 * app in that of their ids. The two differ only if clocks do.
 */
export const newestIds = (
  runner: QueryRunner,
  filter: AuditFilter,
  limit: number,
): Promise<number[]> =>
  filter.appId === undefined
    ? newestByTime(runner, filter, limit)
    : newestOfApp(runner, filter.appId, filter, limit)

/** No index has the entries of an app in the order of their times, because an app has few. */
function newestOfApp(
  { sql }: QueryRunner,
  app_id: number,
  { until, before, since }: AuditFilter,
  limit: number,
): Promise<number[]> {
  const query = sql('audit').where({ app_id }).orderBy('id', 'desc').limit(limit)
  if (before !== undefined) query.where('id', '<', before)
  else if (until !== undefined) query.where('at', '<', until)
  if (since !== undefined) query.where('at', '>=', since)
  return query.pluck('id')
}

/** The index of a column, the times and the ids at a value, or the index of the times and the ids. */
type IndexPart = [column: 'developer_id' | 'operator_id', value: number | string] | []

/** The time and the id of an entry. */
type Place = [at: string, id: number]

/** Greater than each time. */
const endOfTime = '~'

async function newestByTime(
  runner: QueryRunner,
  { developerId, operatorIds, until = endOfTime, before, since = '' }: AuditFilter,
  limit: number,
): Promise<number[]> {
  const end = before === undefined ? ([until, 0] as Place) : await placeBefore(runner, before)
  if (end === undefined) return []
  const parts: IndexPart[] = operatorIds?.map((id) => ['operator_id', id]) ?? [
    developerId === undefined ? [] : ['developer_id', developerId],
  ]
  const found: { at: string; id: number }[] = []
  for (const part of parts) found.push(...(await newestIn(runner, part, [since, 0], end, limit)))
  // Only of a moderator with several keys they are not in order yet.
  found.sort((a, b) => (a.at === b.at ? b.id - a.id : a.at < b.at ? 1 : -1))
  return found.slice(0, limit).map(({ id }) => id)
}

/** Undefined if there is no entry up to this id. */
async function placeBefore({ sql }: QueryRunner, before: number): Promise<Place | undefined> {
  const entry = await sql('audit').where('id', '<=', before).orderBy('id', 'desc').first('at')
  return entry && [entry.at, before]
}

/**
 * Compares and orders by all columns of the index, also by the one that has a single value:
 * otherwise PostgreSQL may walk an index of more entries in the same order.
 */
function newestIn(
  { rows }: QueryRunner,
  [column, value]: IndexPart,
  start: Place,
  end: Place,
  limit: number,
): Promise<{ id: number; at: string }[]> {
  const columns = [column ?? [], 'at', 'id'].flat()
  const values = value === undefined ? [] : [value]
  const marks = columns.map(() => '?')
  // Literal, as in the partial index of moderators.
  const condition = column === 'operator_id' ? 'operator_id is not null' : 'true'
  return rows(
    `select id, at from audit
     where (${columns}) >= (${marks}) and (${columns}) < (${marks}) and ${condition}
     order by ${columns.map((one) => `${one} desc`)} limit ?`,
    [...values, ...start, ...values, ...end, limit],
  )
}
