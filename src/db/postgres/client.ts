import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import knex, { type Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import pg from 'pg'
import type { ServerUrl } from '../database-url.ts'
import { separateStatements } from '../error-meaning.ts'
import { breaksConnection, isQueryTimeout, isStaleStatement } from './errors.ts'

/** A connection of the driver, with what its types lack. */
type DriverConnection = pg.Client & {
  /** Of the backend process. */
  processID?: number
  /** knex replaces a connection that has this property. */
  __knex__disposed?: unknown
  /** The number of the event in which it last responded. */
  lastAnswer: number
  /** The names of prepared statements by their SQL. */
  prepared: LRUCache<string, string>
  connection: {
    /** The driver's record of them: those that the server knows by their names. */
    parsedStatements: Record<string, string>
    /** Sends the message Close, to which nothing waits for an answer. */
    close: (message: { type: 'S'; name: string }) => void
  }
}

// knex publishes no types for its PostgreSQL client, nor for the methods that are overridden here.
declare class KnexPgClient extends Knex.Client {
  _query(connection: DriverConnection, query: Query): Promise<Query>
  queryCompiler(builder: unknown, formatter?: unknown): LockCompiler
}
type Query = {
  sql: string
  options?: { query_timeout?: number; name?: string }
  response?: { command?: string }
}
type LockCompiler = { forUpdate: () => string; forNoKeyUpdate: () => string }
const PgClient: typeof KnexPgClient = createRequire(import.meta.url)(
  'knex/lib/dialects/postgres/index.js',
)

// knex does not type the transaction's inner method.
type InnerTransaction = { begin: (connection: DriverConnection) => Promise<unknown> }

/** Text compares by code point, whatever the database's locale. */
export const textType = 'text collate "C"'

/**
 * Milliseconds. Readers may be idle between statements for any time: an export may be slow to write
 * what it has read.
 */
const timeouts = { statement: 20_000, idle: 60_000 }

/**
 * Milliseconds. A server may disappear without closing its connections. Longer than the server's
 * own timeout.
 */
const queryTimeout = timeouts.statement + 5000

/**
 * Set on each new connection. A pooler in transaction mode applies them to any of its connections,
 * also to those that writers get (docs/scaling.md). JIT compilation takes longer than any statement
 * here. Each statement has an index; the planner would read small tables whole, once for each of
 * the thousand spellings that a search looks up.
 */
const writerSettings = ['set jit = off', 'set enable_seqscan = off']
const readerSettings = (lockTimeout: number) => [
  ...writerSettings,
  `set statement_timeout = ${timeouts.statement}`,
  `set lock_timeout = ${lockTimeout}`,
  'set default_transaction_read_only = on',
]

/** Milliseconds for a statement of a write, and for a lock. */
type WriterTimeouts = { writeTimeout: number; lockTimeout: number }

/** Set in each transaction, since a pooler's connection may have other settings. */
const beginWriting = ({ writeTimeout, lockTimeout }: WriterTimeouts) =>
  [
    'begin isolation level read committed, read write',
    `set local statement_timeout = ${writeTimeout * 0.8}`,
    `set local lock_timeout = ${lockTimeout}`,
    `set local idle_in_transaction_session_timeout = ${Math.min(timeouts.idle, writeTimeout)}`,
    // KiB, the minimum. Each search reads the list of pending index entries: this takes 0.1 ms, the
    // default of 4 MB would take 5. Without a list, an import takes four times as long.
    'set local gin_pending_list_limit = 64',
  ].join('; ')

/**
 * knex's client, extended. A test of test/db fails without any one of the overrides.
 */
class PostgresClient extends PgClient {
  override async _query(connection: DriverConnection, query: Query): Promise<Query> {
    // After 5 s knex would release the connection, though its transaction may not have ended.
    if (query.sql === 'ROLLBACK') query.options = { query_timeout: 4000 }
    if (query.options?.name === anyName) query.options = { name: nameOn(connection, query.sql) }
    const done = await runStatement(connection, () => super._query(connection, query))
    // After a caught error, COMMIT rolls the transaction back without an error.
    if (/^commit\b/i.test(query.sql) && done.response?.command !== 'COMMIT')
      throw new Error('nothing was committed')
    return done
  }

  override async validateConnection(connection: DriverConnection) {
    return connection.lastAnswer >= silentSince
  }

  /**
   * The weaker lock is enough, and other transactions can insert rows that refer to a locked one. A
   * removal locks its row itself.
   */
  override queryCompiler(builder: unknown, formatter?: unknown) {
    const compiler = super.queryCompiler(builder, formatter)
    return Object.assign(compiler, { forUpdate: () => compiler.forNoKeyUpdate() })
  }

  override columnCompiler(tableBuilder: unknown, column: unknown) {
    return Object.assign(super.columnCompiler(tableBuilder, column), { text: textType })
  }
}

/**
 * Statements and responses are numbered in their order. A clock may give two of them the same time.
 */
let lastEvent = 0

/**
 * The number of the last statement that timed out. Connections that have not responded since then
 * may be dead, too.
 */
let silentSince = 0

/**
 * Runs a statement. A broken connection is replaced; one whose statement times out is also closed.
 */
async function runStatement<T>(connection: DriverConnection, run: () => Promise<T>): Promise<T> {
  const sent = ++lastEvent
  try {
    const result = await run()
    connection.lastAnswer = ++lastEvent
    return result
  } catch (error) {
    if (breaksConnection(error)) connection.__knex__disposed ??= error
    if (isQueryTimeout(error)) {
      silentSince = Math.max(silentSince, sent)
      connection.connection.stream.destroy()
    }
    throw error
  }
}

/** Statements that stay prepared on each connection. There are more: lists of ids have any length. */
const maxPrepared = 200
/** Characters. A longer statement is a search of many terms and unlikely to come again. */
const maxPreparedLength = 8000

/** Stands for the name that a statement has on the connection that will run it. */
const anyName = 'prepared'

/**
 * The name of a statement on a connection. It is made from the statement, because old poolers may
 * run what another connection has prepared under the name.
 */
function nameOn({ prepared }: DriverConnection, statement: string): string {
  const known = prepared.get(statement)
  if (known !== undefined) return known
  // PostgreSQL's names have at most 63 characters.
  const name = `apps_${hash('sha256', statement).slice(0, 40)}`
  prepared.set(statement, name)
  return name
}

/** Those used last. Others are closed by a message before the next statement's. */
const preparedOn = ({ connection }: DriverConnection) =>
  new LRUCache<string, string>({
    max: maxPrepared,
    dispose(name) {
      connection.close({ type: 'S', name })
      delete connection.parsedStatements[name]
    },
  })

/**
 * The rows of a written-out statement, which is prepared: PostgreSQL would plan it again for each
 * request. It rejects text with NUL; null takes its place, since neither equals anything.
 */
export async function rowsOf<Row>(
  sql: Knex,
  statement: string,
  values: (string | number)[],
): Promise<Row[]> {
  const sendable = values.map((value) =>
    typeof value === 'string' && value.includes('\0') ? null : value,
  )
  const options = statement.length > maxPreparedLength ? {} : { name: anyName }
  const run = () => sql.raw<{ rows: Row[] }>(statement, sendable).options(options)
  const { rows } = await run().catch((error) => {
    if (sql.isTransaction || !isStaleStatement(error)) throw error
    return run()
  })
  return rows
}

const writerClient = (timeouts: WriterTimeouts) =>
  class extends PostgresClient {
    override transaction(container: unknown, config: unknown, outer: unknown) {
      const transaction = super.transaction(container, config, outer) as Knex.Transaction &
        InnerTransaction
      transaction.begin = (connection) => this.query(connection, beginWriting(timeouts))
      return transaction
    }
  }

// The driver returns int8 and numeric as text. All numbers here are safe integers or short decimals.
for (const type of [pg.types.builtins.INT8, pg.types.builtins.NUMERIC])
  pg.types.setTypeParser(type, Number)

/** Identifies this program's sessions in pg_stat_activity. */
export const applicationName = 'apps-service'

/** Milliseconds after which an unused connection is closed. */
const idleTimeout = 5 * 60_000

function open(
  url: ServerUrl,
  client: typeof Knex.Client,
  settings: string[],
  max: number,
  query_timeout: number,
): Knex {
  const connection: pg.ClientConfig = {
    connectionString: url.connectionString,
    application_name: applicationName,
    connectionTimeoutMillis: url.connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    query_timeout,
  }
  const sql = knex({
    client,
    // Otherwise knex asks for the version, and a name other than PostgreSQL's ends the process.
    version: '14',
    // knex passes all of these to the driver, and its types lack some.
    connection: connection as Knex.PgConnectionConfig,
    // Bound values, which are callers' data, stay out of error messages and so out of the log.
    compileSqlOnError: false,
    acquireConnectionTimeout: url.connectTimeout,
    // knex would print errors that it also throws.
    log: { warn: ignore, error: ignore, debug: ignore },
    pool: { min: 0, max, idleTimeoutMillis: idleTimeout, afterCreate },
  })
  return separateStatements(sql)

  function afterCreate(
    connection: DriverConnection,
    done: (error: Error, connection: DriverConnection) => void,
  ) {
    connection.lastAnswer = ++lastEvent
    connection.prepared = preparedOn(connection)
    connection.query(settings.join('; '), (error) => {
      // knex does not close a connection whose settings fail.
      if (error) connection.end(() => done(error, connection))
      else done(error, connection)
    })
  }
}

const ignore = () => {}

export const openWriter = (url: ServerUrl, max: number, timeouts: WriterTimeouts): Knex =>
  open(url, writerClient(timeouts), writerSettings, max, timeouts.writeTimeout)
export const openReader = (
  url: ServerUrl,
  max: number,
  { lockTimeout, readTimeout = queryTimeout }: { lockTimeout: number; readTimeout?: number },
): Knex => open(url, PostgresClient, readerSettings(lockTimeout), max, readTimeout)

/**
 * Whether a pooler is in front of the server: the process id that it reports is not the backend's.
 * Call it in a transaction.
 */
export async function isPooled(sql: Knex): Promise<boolean> {
  const { processID }: DriverConnection = await sql.client.acquireConnection()
  const { rows } = await sql.raw('select pg_backend_pid() as pid')
  return rows[0].pid !== processID
}
