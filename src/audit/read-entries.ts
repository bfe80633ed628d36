import type { QueryRunner } from '../db/engine.ts'
import type { AuditRow } from '../db/rows.ts'
import { required } from '../util/helpers.ts'
import { type AuditFilter, newestIds } from './newest-entries.ts'

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
  read: <T>(work: (runner: QueryRunner) => Promise<T>) => Promise<T>,
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
  read: <T>(work: (runner: QueryRunner) => Promise<T>) => Promise<T>,
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
  before: before === null ? null : JSON.parse(before),
  after: JSON.parse(after),
})
