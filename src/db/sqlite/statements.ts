import { LRUCache } from 'lru-cache'

/** What of the driver's connections and statements is used here. */
export type DriverConnection = {
  exec: (sql: string, done: (error: Error | null) => void) => void
  prepare: (sql: string, done: (error: Error | null) => void) => Statement
  /** How often the file had been found damaged when this connection last forgot what it had read. */
  damageCount?: number
  /** Told what goes wrong past knex. */
  recordError?: (error: unknown) => void
}
type Done = (this: object, error: Error | null, rows?: unknown[]) => void
type Statement = {
  all: (values: readonly unknown[], done: Done) => void
  run: (values: readonly unknown[], done: Done) => void
  finalize: (done?: () => void) => void
}

/** How many of each connection are kept. Those of a running service are fewer; an operator's question may have a shape of its own. */
const maxCached = 200
/** Characters. What is longer holds a row for each of many, and is hardly asked twice. */
const maxCachedLength = 10_000

const statementCaches = new WeakMap<DriverConnection, LRUCache<string, Promise<Statement>>>()

/** A statement of the connection, prepared once: the driver by itself would prepare it anew each time, in a turn of a thread of its own. */
export function prepareCached(connection: DriverConnection, sql: string): Promise<Statement> {
  const cache = statementCacheOf(connection)
  const known = cache.get(sql)
  if (known) return known
  const preparing = prepare(connection, sql)
  cache.set(sql, preparing)
  preparing.catch(() => cache.delete(sql))
  return preparing
}

export async function selectRows<Row>(
  connection: DriverConnection,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const statement = await prepareCached(connection, sql)
  return new Promise((resolve, reject) => {
    // What a statement's rows are is for its caller to know.
    statement.all(values, (error, rows = []) => {
      if (!error) return resolve(rows as Row[])
      connection.recordError?.(error)
      reject(error)
    })
  })
}

export const isCacheable = (sql: string) => sql.length <= maxCachedLength

function statementCacheOf(connection: DriverConnection) {
  const known = statementCaches.get(connection)
  if (known) return known
  const made = new LRUCache<string, Promise<Statement>>({ max: maxCached, dispose: finalize })
  statementCaches.set(connection, made)
  return made
}

const prepare = (connection: DriverConnection, sql: string) =>
  new Promise<Statement>((resolve, reject) => {
    const statement = connection.prepare(withoutReplanning(sql), (error) =>
      error ? reject(error) : resolve(statement),
    )
  })

/**
 * A parameter that is all of a LIMIT has SQLite plan the statement again at each execution, which for a page of the list takes
 * as long as finding it: the plan depends on how much is wanted (computeLimitRegisters in https://sqlite.org/src/file/src/select.c).
 */
const withoutReplanning = (sql: string) => sql.replaceAll(/\blimit \?/gi, 'limit ?+0')

const finalize = (preparing: Promise<Statement>) =>
  preparing.then(
    (statement) => new Promise<void>((resolve) => statement.finalize(resolve)),
    () => {},
  )

/** A connection with a statement that is not finalized does not close. */
export async function finalizeAll(connection: DriverConnection) {
  const cache = [...statementCacheOf(connection).values()]
  statementCaches.delete(connection)
  await Promise.all(cache.map(finalize))
}
