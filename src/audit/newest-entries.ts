import { type QueryRunner, withoutIndex } from '../db/engine.ts'

/** Finds the ids of audit entries by the indexes of the audit log. */

/** A field that is left out does not filter. */
export type AuditFilter = {
  id?: number | undefined
  appId?: number | undefined
  developerId?: number | undefined
  /** The sign-in keys of a moderator. */
  operatorIds?: readonly string[] | undefined
  since?: string | undefined
  /** Exclusive. */
  until?: string | undefined
}

/** `before`: an id, which the entries must be older than. */
export type NewestFilter = AuditFilter & { before?: number | undefined }

/** The ids of the newest matching entries, newest first. */
export const newestIds = (
  runner: QueryRunner,
  filter: NewestFilter,
  limit: number,
): Promise<number[]> =>
  filter.id === undefined && filter.appId === undefined
    ? newestOfSets(runner, filter, limit)
    : newestOfApp(runner, filter, limit)

/**
 * A query of `audit` for the matching entries. An app has few entries, so its index is the only one
 * to use if there is an app.
 */
export function matchingEntries(
  { sql }: QueryRunner,
  { id, appId, developerId, operatorIds, since, until }: AuditFilter,
) {
  const query = sql('audit')
  if (id !== undefined) query.where('audit.id', id)
  if (appId !== undefined) query.where('audit.app_id', appId)
  const indexed = (column: string) => (appId === undefined ? column : withoutIndex(column))
  if (developerId !== undefined)
    query.whereRaw(`${indexed('audit.developer_id')} = ?`, [developerId])
  if (operatorIds !== undefined)
    query.whereRaw(`coalesce(audit.operator_id, '') in (${operatorIds.map(() => '?')})`, [
      ...operatorIds,
    ])
  if (since !== undefined) query.where('audit.at', '>=', since)
  if (until !== undefined) query.where('audit.at', '<', until)
  return query
}

async function newestOfApp(
  runner: QueryRunner,
  { before, ...filter }: NewestFilter,
  limit: number,
): Promise<number[]> {
  const query = matchingEntries(runner, filter).orderBy('audit.id', 'desc').limit(limit)
  if (before !== undefined) query.where('audit.id', '<', before)
  return query.pluck('audit.id')
}

/** Entries that an index has in order. */
type EntrySet = {
  /** The first column of the index, and its value in all entries of the set. */
  column?: 'developer_id' | 'operator_id'
  value?: number | string
  /** A further condition, and its value. */
  where?: string
  whereValue?: number
}

/** Entries in an order, from `start` to before `end`, both as values of these columns. */
type Range = {
  order: readonly ('at' | 'id')[]
  start: (number | string)[]
  end: (number | string)[]
}

/**
 * In the order of the ids, or of the times if they or a moderator are part of the filter: no index
 * has the ids in a range of times. The two differ only if clocks do.
 */
async function newestOfSets(
  runner: QueryRunner,
  filter: NewestFilter,
  limit: number,
): Promise<number[]> {
  const { operatorIds, since, until } = filter
  const hasTime = [operatorIds, since, until].some((value) => value !== undefined)
  const range = hasTime ? await rangeOfTimes(runner, filter) : rangeOfIds(filter)
  if (range === undefined) return []
  const found: { id: number; at: string }[] = []
  for (const set of entrySets(filter)) found.push(...(await newestOf(runner, set, range, limit)))
  // Only a moderator with several keys has several sets.
  if (operatorIds !== undefined)
    found.sort((a, b) => (a.at === b.at ? b.id - a.id : a.at < b.at ? 1 : -1))
  return found.slice(0, limit).map(({ id }) => id)
}

const rangeOfIds = ({ before = Number.MAX_SAFE_INTEGER }: NewestFilter): Range => ({
  order: ['id'],
  start: [0],
  end: [before],
})

/** Greater than each time. */
const endOfTime = '~'

/**
 * Undefined if no entry has an id up to `before`. The last of these has the time at which the range
 * ends.
 */
async function rangeOfTimes(
  { sql }: QueryRunner,
  { since = '', until = endOfTime, before }: NewestFilter,
): Promise<Range | undefined> {
  const range: Range = { order: ['at', 'id'], start: [since, 0], end: [until, 0] }
  if (before === undefined) return range
  const entry = await sql('audit').where('id', '<=', before).orderBy('id', 'desc').first('at')
  if (!entry) return undefined
  return entry.at < until ? { ...range, end: [entry.at, before] } : range
}

/** Several if a moderator has several keys. */
function entrySets({ developerId, operatorIds }: AuditFilter): EntrySet[] {
  if (operatorIds === undefined)
    return [developerId === undefined ? {} : { column: 'developer_id', value: developerId }]
  // Literal, as in the partial index. That index also has the developers.
  const isSignedIn = 'operator_id is not null'
  const further =
    developerId === undefined
      ? { where: isSignedIn }
      : {
          where: `${isSignedIn} and ${withoutIndex('developer_id')} = ?`,
          whereValue: developerId,
        }
  return operatorIds.map((value) => ({ column: 'operator_id', value, ...further }))
}

/**
 * Reads part of an index. It compares and orders by all of its columns, also by the one that has a
 * single value: otherwise PostgreSQL may walk an index of more entries in the same order.
 */
function newestOf(
  { rows }: QueryRunner,
  { column, value, where = 'true', whereValue }: EntrySet,
  { order, start, end }: Range,
  limit: number,
): Promise<{ id: number; at: string }[]> {
  const columns = [...(column === undefined ? [] : [column]), ...order]
  const prefix = value === undefined ? [] : [value]
  const marks = columns.map(() => '?')
  return rows(
    `select id, at from audit
     where (${columns}) >= (${marks}) and (${columns}) < (${marks}) and ${where}
     order by ${columns.map((one) => `${one} desc`)} limit ?`,
    [
      ...[...prefix, ...start],
      ...[...prefix, ...end],
      ...(whereValue === undefined ? [] : [whereValue]),
      limit,
    ],
  )
}
