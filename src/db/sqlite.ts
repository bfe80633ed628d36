import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import knex, { type Knex } from 'knex'

/**
 * All that is SQLite's own: how connections are opened, its errors, its full-text index and its triggers.
 * Nothing outside db/ names the driver or this file.
 */

// knex publishes no types for the dialect's own module; it is a Knex.Client.
const SqliteClient: typeof Knex.Client = createRequire(import.meta.url)('knex/lib/dialects/sqlite3/index.js')

/**
 * A plain BEGIN takes the write lock at the first write, and SQLite then refuses a transaction that has read
 * before, whatever busy_timeout says (https://sqlite.org/lang_transaction.html, section 2.2).
 */
class WritingClient extends SqliteClient {
  override transaction(container: unknown, config: unknown, outer: unknown) {
    // `begin` and `query` are the transaction's inner methods, which knex does not type.
    const transaction = super.transaction(container, config, outer) as Knex.Transaction & {
      begin: (connection: unknown) => Promise<void>
      query: (connection: unknown, sql: string) => Promise<void>
    }
    transaction.begin = (connection) => transaction.query(connection, 'BEGIN IMMEDIATE;')
    return transaction
  }
}

/** Every one is set on each new connection, in this order; a test reads them back. */
export const pragmas = {
  busy_timeout: 5000,
  journal_mode: 'wal',
  // FULL: what was acknowledged survives a power cut. NORMAL loses the last writes (https://sqlite.org/wal.html).
  synchronous: 2,
  foreign_keys: 1,
  // Negative: KiB. Four connections of 24 MiB.
  cache_size: -24_576,
  temp_store: 2,
  // Pages, 64 MiB. The default of 1000 makes an import write its pages to the database with every commit.
  wal_autocheckpoint: 16_000,
  // After a checkpoint a WAL that has grown beyond this is cut back.
  journal_size_limit: 64 * 1024 * 1024,
} as const

/** How long a query waits for a free connection, and so for the writers before it. */
const acquireTimeout = 5000

type ConnectionOptions = {
  connection: { filename: string; flags?: string[] }
  client: typeof Knex.Client
  max: number
  settings: Record<string, string | number>
}

function open({ connection, client, max, settings }: ConnectionOptions) {
  return knex({
    client,
    connection,
    useNullAsDefault: true,
    // Bound values, which are callers' data, stay out of error messages and so out of the log.
    compileSqlOnError: false,
    acquireConnectionTimeout: acquireTimeout,
    // knex would write to standard output what it also throws.
    log: { warn: ignore, error: ignore, debug: ignore },
    pool: {
      min: 0,
      max,
      // An idle connection is kept: opening one again costs more than it holds.
      idleTimeoutMillis: 2 ** 31 - 1,
      afterCreate: (
        connection: DriverConnection,
        done: (error: Error | null, connection: DriverConnection) => void,
      ) => {
        const sql = Object.entries(settings).map(([name, value]) => `PRAGMA ${name} = ${value};`)
        connection.exec(sql.join('\n'), (error) => done(error, connection))
      },
    },
  })
}

const ignore = () => {}

type DriverConnection = { exec: (sql: string, done: (error: Error | null) => void) => void }

/** One writer, and readers that cannot write: libuv's four threads then serve all of them at once. */
export const openWriter = (filename: string) =>
  open({ connection: { filename }, client: WritingClient, max: 1, settings: { ...pragmas, query_only: 0 } })
export const openReader = (filename: string) =>
  open({ connection: { filename }, client: SqliteClient, max: 3, settings: { ...pragmas, query_only: 1 } })

/**
 * A file that nobody writes, as it is without any other: `immutable` passes over a log or a journal beside it, and makes
 * none (https://sqlite.org/uri.html). Setting journal_mode would write to it.
 */
export const openCopy = (filename: string) =>
  open({
    connection: { filename: `${pathToFileURL(filename)}?mode=ro&immutable=1`, flags: ['OPEN_URI'] },
    client: SqliteClient,
    max: 1,
    settings: { cache_size: pragmas.cache_size, temp_store: pragmas.temp_store },
  })

/** SQLite's result codes (https://sqlite.org/rescode.html) that pass by themselves or when an operator acts. */
const unavailableCodes = new Set([
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_CANTOPEN',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_PROTOCOL',
  'SQLITE_NOMEM',
])

/** Whether the database could not be reached or used, rather than being asked something wrong. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string') return unavailableCodes.has(error.code)
  // knex: no connection came free in time, or the pool is closed.
  return error.name === 'KnexTimeoutError' || error.message.startsWith('Unable to acquire a connection')
}

/** What SQLite itself says in an error of its own, if it is one. */
export const sqliteMessage = (error: unknown): string | undefined =>
  error instanceof Error ? /SQLITE_[A-Z]+: (.+)/.exec(error.message)?.[1] : undefined

/** `table.column` of the unique constraint that the error says was violated, if it says that. */
export function violatedUnique(error: unknown): string | undefined {
  return error instanceof Error ? /UNIQUE constraint failed: ([\w.]+)/.exec(error.message)?.[1] : undefined
}

/**
 * Inserts rows that all have the same columns: as one JSON text, which costs a fraction of binding each value. Returns each
 * row's id by its value in the column `by`, where one is named.
 */
export async function insertRows(
  sql: Knex,
  table: string,
  rows: Record<string, string | number | null>[],
  by = 'id',
): Promise<Map<unknown, number>> {
  const columns = Object.keys(rows[0] ?? {})
  if (columns.length === 0) return new Map()
  const values = columns.map((column) => `value->>'$.${column}'`)
  const inserted: Record<string, number>[] = await sql.raw(
    `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from json_each(?) returning id, ${by} as name`,
    [JSON.stringify(rows)],
  )
  return new Map(inserted.map(({ id, name }) => [name, id ?? 0]))
}

/**
 * Copies the database, as it is when this begins, into an empty file. It reads one snapshot and takes no lock that a writer
 * waits for; while it lasts the log only grows. The copy is packed and not in WAL mode, so it needs no file beside it
 * (https://sqlite.org/lang_vacuum.html). A connection of its own, since query_only refuses this to readers.
 */
export async function copyDatabase(filename: string, copy: string) {
  const source = openWriter(filename)
  try {
    await source.raw('vacuum into ?', [copy])
  } finally {
    await source.destroy()
  }
}

/** How large a copy may become. */
export async function copySize(sql: Knex): Promise<number> {
  const [row] = await sql.raw(
    `select (page_count - freelist_count) * page_size as bytes
     from pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )
  return row.bytes
}

/**
 * The first thing that is wrong with the file or what refers to what in it. `integrity_check` looks into the full-text index
 * too, whose own 'integrity-check' would have to write (https://sqlite.org/pragma.html#pragma_integrity_check); that it
 * holds the listed apps, no more and no fewer, only a comparison tells.
 */
export async function findDamage(sql: Knex): Promise<string | undefined> {
  const [check] = await sql.raw('pragma integrity_check(1)')
  if (check.integrity_check !== 'ok') return check.integrity_check.replaceAll('\n', ' ')
  const [orphan] = await sql.raw('select * from pragma_foreign_key_check limit 1')
  if (orphan) return `a row of ${orphan.table} refers to a row of ${orphan.parent} that is not there`
  const listed = `select id from apps where status = 'approved' and deleted_at is null`
  const indexed = 'select rowid from app_search'
  const [strays] = await sql.raw(
    `select (select count(*) from (${listed} except ${indexed})) as missing,
            (select count(*) from (${indexed} except ${listed})) as extra`,
  )
  if (strays.missing + strays.extra === 0) return undefined
  return `the search index lacks ${strays.missing} of the listed apps, and has ${strays.extra} that are not listed`
}

/** A column that holds a subquery's rows as a JSON array of objects: what belongs together comes in one statement. */
export const jsonRows = (sql: Knex, rows: Knex.QueryBuilder, columns: string[], order: string, name: string) =>
  sql.raw(
    `(select json_group_array(json_object(${columns.map((column) => `'${column}', ${column}`).join(', ')}) order by ${order}) from ?) as ??`,
    [rows.as('rows'), name],
  )

/** Makes a table refuse to change or forget its rows. */
export async function makeAppendOnly(sql: Knex, table: string) {
  for (const change of ['update', 'delete']) {
    await sql.raw(
      `create trigger ${table}_refuses_${change} before ${change} on ${table}
       begin select raise(abort, '${table} is append-only'); end`,
    )
  }
}

/** What the index knows of one app's texts: their tokens, with spaces between. */
export type SearchDocument = { name: string; text: string; nameKey: string }

/** What a search asks: all terms; `nameKey` is that of the whole search text. */
export type SearchQuestion = { terms: readonly (readonly string[])[]; nameKey: string; categoryId?: number | undefined }

/**
 * Holds the listed apps alone, by their ids, and no text of theirs. Tokens come cut and folded, so the tokenizer only has
 * to split at spaces: `ascii` takes every other character as it is. Short prefixes have an index of their own:
 * without it a search for one letter merges a quarter of the vocabulary.
 */
export const createSearchIndex = (sql: Knex) =>
  sql.raw(
    `create virtual table app_search using fts5(name, text, exact, category,
       content='', contentless_delete=1, tokenize='ascii', prefix='1 2')`,
  )

/** The full-text index (https://sqlite.org/fts5.html), through the connection it is given. */
export const searchIndex = (sql: Knex) => ({
  async put(documents: (SearchDocument & { id: number; categoryId: number })[]) {
    if (documents.length === 0) return
    const rows = documents.map(({ id, name, text, nameKey, categoryId }) => [
      id,
      name,
      text,
      exactToken(nameKey),
      categoryToken(categoryId),
    ])
    await sql.raw(
      `insert or replace into app_search (rowid, name, text, exact, category)
       select value->>0, value->>1, value->>2, value->>3, value->>4 from json_each(?)`,
      [JSON.stringify(rows)],
    )
  },

  async remove(ids: number[]) {
    if (ids.length > 0) await sql('app_search').whereIn('rowid', ids).delete()
  },

  /**
   * FTS5 expressions for what the question asks, best rank first; one where rank does not matter. `match` is a rank's own,
   * sharing no app with the others; `upTo` is the same with all better ones, and quicker to count.
   */
  ranks({ terms, nameKey, categoryId }: SearchQuestion, ranked: boolean): { match: string; upTo: string }[] {
    const category = categoryId === undefined ? '' : `({category} : "${categoryToken(categoryId)}") AND `
    const all = terms.map((term) => `"${term.join(' ')}" *`).join(' AND ')
    const exact = `${category}({exact} : "${exactToken(nameKey)}")`
    const inName = `${category}({name} : (${all}))`
    const anywhere = `${category}({name text} : (${all}))`
    if (!ranked) return [{ match: anywhere, upTo: anywhere }]
    return [
      { match: exact, upTo: exact },
      { match: `(${inName}) NOT (${exact})`, upTo: inName },
      { match: `(${anywhere}) NOT (${inName})`, upTo: anywhere },
    ]
  },

  async count(match: string): Promise<number> {
    const [row] = await sql.raw('select count(*) as matches from app_search where app_search match ?', [match])
    return row.matches
  },

  /**
   * Narrows a query on apps to those that match. Where many do, the query's own index is walked and each app looked up
   * among the matches; where few do, the matches are fetched and sorted. The unary plus and the cross join keep
   * the planner to that (https://sqlite.org/optoverview.html).
   */
  narrow(query: Knex.QueryBuilder, match: string, many: boolean): Knex.QueryBuilder {
    const matches = '(select rowid from app_search where app_search match ?)'
    return many
      ? query.whereRaw(`+apps.id in ${matches}`, [match])
      : query.from(sql.raw(`${matches} as matched cross join apps on apps.id = matched.rowid`, [match]))
  },
})

// A whole name and a category become one word each, so that the index itself can ask for them.
const exactToken = (nameKey: string) => hash('sha256', nameKey).slice(0, 16)
const categoryToken = (categoryId: number) => `c${categoryId}`
