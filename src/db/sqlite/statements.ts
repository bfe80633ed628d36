import { LRUCache } from 'lru-cache'

/** What of the driver's connections and statements is used here. */
export type DriverConnection = {
  exec: (sql: string, done: (error: Error | null) => void) => void
  prepare: (sql: string, done: (error: Error | null) => void) => Statement
  /** How often the file had been found damaged when this connection last forgot what it had read. */
  damages?: number
  /** Told what goes wrong past knex. */
  notice?: (error: unknown) => void
}
type Done = (this: object, error: Error | null, rows?: unknown[]) => void
type Statement = {
  all: (values: readonly unknown[], done: Done) => void
  run: (values: readonly unknown[], done: Done) => void
  finalize: (done?: () => void) => void
}

/** How many of each connection are kept. Those of a running service are fewer; an operator's question may have a shape of its own. */
const mostKept = 200
/** Characters. What is longer holds a row for each of many, and is hardly asked twice. */
const longestKept = 10_000

const keptStatements = new WeakMap<DriverConnection, LRUCache<string, Promise<Statement>>>()

/** A statement of the connection, prepared once: the driver by itself would prepare it anew each time, in a turn of a thread of its own. */
export function prepared(connection: DriverConnection, sql: string): Promise<Statement> {
  const kept = statementsOf(connection)
  const known = kept.get(sql)
  if (known) return known
  const preparing = prepare(connection, sql)
  kept.set(sql, preparing)
  preparing.catch(() => kept.delete(sql))
  return preparing
}

export async function rowsFrom<Row>(
  connection: DriverConnection,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const statement = await prepared(connection, sql)
  return new Promise((resolve, reject) => {
    // What a statement's rows are is for its caller to know.
    statement.all(values, (error, rows = []) => {
      if (!error) return resolve(rows as Row[])
      connection.notice?.(error)
      reject(error)
    })
  })
}

export const isKept = (sql: string) => sql.length <= longestKept

function statementsOf(connection: DriverConnection) {
  const known = keptStatements.get(connection)
  if (known) return known
  const made = new LRUCache<string, Promise<Statement>>({ max: mostKept, dispose: finalize })
  keptStatements.set(connection, made)
  return made
}

const prepare = (connection: DriverConnection, sql: string) =>
  new Promise<Statement>((resolve, reject) => {
    const statement = connection.prepare(plannedOnce(sql), (error) => (error ? reject(error) : resolve(statement)))
  })

/**
 * A parameter that is all of a LIMIT has SQLite plan the statement again at each execution, which for a page of the list takes
 * as long as finding it: the plan depends on how much is wanted (computeLimitRegisters in https://sqlite.org/src/file/src/select.c).
 */
const plannedOnce = (sql: string) => sql.replaceAll(/\blimit \?/gi, 'limit ?+0')

const finalize = (preparing: Promise<Statement>) =>
  preparing.then(
    (statement) => new Promise<void>((resolve) => statement.finalize(resolve)),
    () => {},
  )

/** A connection with a statement that is not finalized does not close. */
export async function finalizeAll(connection: DriverConnection) {
  const kept = [...statementsOf(connection).values()]
  keptStatements.delete(connection)
  await Promise.all(kept.map(finalize))
}
