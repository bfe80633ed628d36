import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AuditRow } from '../db/rows.ts'
import { required } from '../util/helpers.ts'

/**
 * An entry as it is read. Either `operator` or `key_id` is set. Slugs and names are the current
 * ones; null if removed.
 */
export type AuditEntry = Omit<StoredEntry, 'before' | 'after'> & {
  before: Record<string, unknown> | null
  after: Record<string, unknown>
}
type StoredEntry = AuditRow & {
  app_slug: string | null
  app_name: string | null
  developer_name: string | null
  category_slug: string | null
}

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

const maxReasons = 10

/** The newest matching entries, newest first. */
export async function findNewestEntries(
  runner: QueryRunner,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEntry[]> {
  const ids = await newestIds(runner, filter, limit)
  if (ids.length === 0) return []
  const rows = await entriesOf(runner).whereIn('audit.id', ids)
  const entries = new Map(rows.map((row) => [row.id, parseEntry(row)]))
  return ids.map((id) => required(entries.get(id), `the entry ${id}`))
}

/**
 * The ids of the newest matching entries, newest first: in the order of their times, those of an
 * app in that of their ids. The two differ only if clocks do.
 */
const newestIds = (runner: QueryRunner, filter: AuditFilter, limit: number): Promise<number[]> =>
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

/** Undefined if there is no such entry. */
export async function findEntry(runner: QueryRunner, id: number): Promise<AuditEntry | undefined> {
  const row = await entriesOf(runner).where('audit.id', id).first()
  return row && parseEntry(row)
}

/** The reasons of the last rejections, each once. */
export async function findRejectionReasons({ sql }: QueryRunner): Promise<string[]> {
  const rows = await sql('audit')
    // Literal, so that the index applies.
    .whereRaw("action = 'app reject'")
    .orderBy('id', 'desc')
    .limit(100)
    .select('after')
  const reasons = rows.map(({ after }): string => JSON.parse(after).rejection_reason)
  return [...new Set(reasons)].slice(0, maxReasons)
}

/** The greatest id of an entry; 0 if there is none. */
export async function findLastEntryId({ sql }: QueryRunner): Promise<number> {
  const last = await sql('audit').max({ id: 'id' }).first()
  return last?.id ?? 0
}

/** The entry with the greatest id, of all or of those up to a time; undefined if there is none. */
export async function findLastEntry(
  { sql }: QueryRunner,
  time?: string,
): Promise<Pick<AuditRow, 'id' | 'at'> | undefined> {
  const query = sql('audit').orderBy('id', 'desc').first('id', 'at')
  return time === undefined ? query : query.where('at', '<=', time)
}

/**
 * Entries that are read at a time. One can have 200 KB, and a driver makes the texts of all rows
 * without a pause.
 */
const batchSize = 16

/**
 * The newest matching entries, oldest first, and whether there are older ones. `toEntry` makes what
 * is kept of an entry, such as its beginning. Each batch is a `read`, so that no other reader waits
 * for all; entries never change.
 */
export async function readNewest<Entry>(
  read: Database['read'],
  filter: AuditFilter,
  limit: number,
  toEntry: (entry: AuditEntry) => Entry,
): Promise<{ entries: Entry[]; hasOlder: boolean }> {
  const entries: Entry[] = []
  let { before } = filter
  for (;;) {
    const size = Math.min(batchSize, limit + 1 - entries.length)
    const batch = await read((runner) => findNewestEntries(runner, { ...filter, before }, size))
    before = batch.at(-1)?.id
    entries.push(...batch.map(toEntry))
    if (batch.length < size || entries.length > limit)
      return { entries: entries.slice(0, limit).reverse(), hasOlder: entries.length > limit }
  }
}

/**
 * The entries with ids after `after` and up to `last`, in their order. Each batch is a `read`, as in
 * `readNewest`.
 */
export async function* readAfter(
  read: Database['read'],
  { after, last }: { after: number; last: number },
): AsyncGenerator<AuditEntry> {
  for (let previous = after; ; ) {
    const batch = await read((runner) =>
      entriesOf(runner)
        .where('audit.id', '>', previous)
        .where('audit.id', '<=', last)
        .orderBy('audit.id')
        .limit(batchSize),
    )
    for (const row of batch) yield parseEntry(row)
    previous = batch.at(-1)?.id ?? last
    if (batch.length < batchSize) return
  }
}

const entriesOf = ({ sql }: QueryRunner) =>
  sql('audit')
    .leftJoin('apps', 'apps.id', 'audit.app_id')
    .leftJoin('developers', 'developers.id', 'audit.developer_id')
    .leftJoin('categories', 'categories.id', 'audit.category_id')
    .select('audit.*', 'apps.slug as app_slug', 'apps.name as app_name')
    .select('developers.name as developer_name', 'categories.slug as category_slug')

const parseEntry = ({ before, after, ...entry }: StoredEntry): AuditEntry => ({
  ...entry,
  before: before === null ? null : parseValues(before),
  after: parseValues(after),
})

/** The columns of an entry. Keywords, a JSON text in their column, become a list. */
const parseValues = (text: string) =>
  JSON.parse(text, (column, value) => (column === 'keywords' && value ? JSON.parse(value) : value))
