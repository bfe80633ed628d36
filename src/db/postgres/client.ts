import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import knex, { type Knex } from 'knex'
import pg from 'pg'
import { measure } from '../../util/helpers.ts'
import type { Connection } from '../dialect.ts'
import { breaksConnection, isQueryTimeout, isStaleStatement } from './errors.ts'
import { storeProcessId } from './snapshots.ts'
import type { ServerUrl } from './url.ts'

/** What of the driver's connections is used here. */
type DriverConnection = pg.Client & {
  /** Of the server's process; the driver's types lack it. */
  processID?: number
  /** knex replaces a connection that has it. */
  __knex__disposed?: unknown
  /** When it last answered, by `performance.now()`. */
  lastAnswerAt: number
}

// knex publishes no types for the dialect's own module, nor for what it calls to run and to compile what it has built.
declare class KnexPgClient extends Knex.Client {
  _query(connection: DriverConnection, query: Query): Promise<Query>
  queryCompiler(builder: unknown, formatter?: unknown): LockCompiler
}
type Query = { sql: string; options?: { query_timeout: number }; response?: { command?: string } }
type LockCompiler = { forUpdate: () => string; forNoKeyUpdate: () => string }
const PgClient: typeof KnexPgClient = createRequire(import.meta.url)('knex/lib/dialects/postgres/index.js')

// knex does not type the transaction's inner method.
type InnerTransaction = { begin: (connection: DriverConnection) => Promise<unknown> }

/** Text compares by code point, whatever the database's locale. */
export const textType = 'text collate "C"'

/**
 * How long what goes wrong may last. Milliseconds. Readers have no limit between statements: what an export has read may be
 * slow to be written.
 */
const timeouts = { statement: 20_000, lock: 5000, idle: 60_000 }

/** A server may be gone without a word. Somewhat longer than the server itself waits. */
const queryTimeout = timeouts.statement + 5000

/**
 * Set on each new connection, as far as it is one: through a pooler in transaction mode they reach this or that one, where
 * writers find them, too (docs/operating.md). Compiling a plan takes longer than any statement here.
 */
const readerSettings = `set jit = off; set statement_timeout = ${timeouts.statement}; set default_transaction_read_only = on;`
const writerSettings = 'set jit = off;'

/** Set anew in each transaction: whatever the connection has from others, it writes, and is cut short by these alone. */
const beginWriting = (writeTimeout: number) =>
  [
    'begin isolation level read committed, read write',
    `set local statement_timeout = ${writeTimeout * 0.8}`,
    `set local lock_timeout = ${timeouts.lock}`,
    `set local idle_in_transaction_session_timeout = ${Math.min(timeouts.idle, writeTimeout)}`,
    // The least that there is, in KiB: some thirty apps wait to be put into the index of search, and are read by each search.
    'set local gin_pending_list_limit = 64',
  ].join('; ')

class PostgresClient extends PgClient {
  override async acquireConnection() {
    return measure('waiting', () => super.acquireConnection())
  }

  override async _query(connection: DriverConnection, query: Query): Promise<Query> {
    // After 5 s knex would release the connection, though its transaction may not have ended.
    if (query.sql === 'ROLLBACK') query.options = { query_timeout: 4000 }
    const done = await runStatement(connection, () => super._query(connection, query))
    // What failed within the transaction was caught, and then all of it is rolled back without an error.
    if (/^commit\b/i.test(query.sql) && done.response?.command !== 'COMMIT') throw new Error('nothing was committed')
    return done
  }

  override async validateConnection(connection: DriverConnection) {
    if (connection.lastAnswerAt < silentSince) connection.connection.stream.destroy()
    return connection.lastAnswerAt >= silentSince
  }

  /** No row is deleted and no key changed but by `update` itself: what refers to a row that is being changed may do so meanwhile. */
  override queryCompiler(builder: unknown, formatter?: unknown) {
    const compiler = super.queryCompiler(builder, formatter)
    return Object.assign(compiler, { forUpdate: () => compiler.forNoKeyUpdate() })
  }

  override columnCompiler(tableBuilder: unknown, column: unknown) {
    return Object.assign(super.columnCompiler(tableBuilder, column), { text: textType })
  }
}

/** When a statement was sent that was never answered. Connections that have not answered since may hang, too. */
let silentSince = 0

/** Runs a statement. A connection that breaks is replaced; one that does not answer in time is closed as well. */
async function runStatement<T>(connection: DriverConnection, run: () => Promise<T>): Promise<T> {
  const sent = performance.now()
  try {
    const answer = await measure('sql', run)
    connection.lastAnswerAt = performance.now()
    return answer
  } catch (error) {
    if (breaksConnection(error)) connection.__knex__disposed ??= error
    if (isQueryTimeout(error)) {
      silentSince = Math.max(silentSince, sent)
      connection.connection.stream.destroy()
    }
    throw error
  }
}

/**
 * A statement for the driver, with numbered placeholders and the name of the prepared statement. The name is a hash of the text,
 * since through a pooler another process may have prepared a statement of that name.
 */
type Prepared = { text: string; name?: string }

/** Statements that stay prepared on each connection: more than a running service has. Others are planned each time. */
const maxPrepared = 200
/** Characters. A longer statement is a search of many terms and unlikely to come again. */
const maxPreparedLength = 8000

const prepared = new Map<string, Prepared>()

function prepare(statement: string): Prepared {
  const known = prepared.get(statement)
  if (known) return known
  let number = 0
  const text = statement.replaceAll('?', () => `$${++number}`)
  if (prepared.size >= maxPrepared || text.length > maxPreparedLength) return { text }
  const made = { text, name: statementName(text) }
  prepared.set(statement, made)
  return made
}

export const statementName = (text: string) => `apps_${hash('sha256', text).slice(0, 32)}`

/**
 * Runs a statement without knex, which would build it, and have it planned, for each request. PostgreSQL rejects text with NUL;
 * null takes its place, since neither equals anything.
 */
export const select =
  (sql: Knex): Connection['select'] =>
  async <Row>(statement: string, values: (string | number)[]) => {
    const sendable = values.map((value) => (typeof value === 'string' && value.includes('\0') ? null : value))
    try {
      return await selectOnce<Row>(sql, prepare(statement), sendable)
    } catch (error) {
      if (sql.isTransaction || !isStaleStatement(error)) throw error
      return await selectOnce<Row>(sql, prepare(statement), sendable)
    }
  }

async function selectOnce<Row>(sql: Knex, statement: Prepared, values: (string | number | null)[]): Promise<Row[]> {
  const connection: DriverConnection = await sql.client.acquireConnection()
  try {
    const { rows } = await runStatement(connection, () => connection.query({ ...statement, values }))
    // The caller knows the type of the statement's rows.
    return rows as Row[]
  } finally {
    sql.client.releaseConnection(connection)
  }
}

export const jsonRows: Connection['jsonRows'] = (from, columns, orderBy) => {
  const fields = columns.map((column) => `'${column}', ${column}`)
  return `(select cast(coalesce(json_agg(json_build_object(${fields}) order by ${orderBy}), '[]') as text) from ${from})`
}

const clientWith = (settings: string): typeof PostgresClient =>
  class extends PostgresClient {
    override async acquireRawConnection() {
      const connection: DriverConnection = await super.acquireRawConnection()
      connection.lastAnswerAt = performance.now()
      try {
        await connection.query(`${settings} ${storeProcessId(connection.processID)}`)
      } catch (error) {
        await this.destroyRawConnection(connection)
        throw error
      }
      return connection
    }
  }

const writerClient = (writeTimeout: number) =>
  class extends clientWith(writerSettings) {
    override transaction(container: unknown, config: unknown, outer: unknown) {
      const transaction = super.transaction(container, config, outer) as Knex.Transaction & InnerTransaction
      transaction.begin = (connection) => this.query(connection, beginWriting(writeTimeout))
      return transaction
    }
  }

/** int8 and numeric, which the driver gives as text. No number here is beyond those that JavaScript has. */
const numericTypes = new Set<number>([20, 1700])
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    numericTypes.has(oid) ? Number : pg.types.getTypeParser(oid, format),
}

/** By which a server's sessions are known. */
export const applicationName = 'apps-service'

export const clientConfig = ({ connectionString, ssl, connectTimeout }: ServerUrl): pg.ClientConfig => ({
  connectionString,
  ssl,
  types,
  application_name: applicationName,
  connectionTimeoutMillis: connectTimeout,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
})

/** Milliseconds after which a connection that nobody uses is closed. */
const idleTimeout = 5 * 60_000

const open = (url: ServerUrl, client: typeof Knex.Client, max: number, query_timeout: number) =>
  knex({
    client,
    connection: { ...clientConfig(url), query_timeout } as Knex.PgConnectionConfig,
    // Bound values, which are callers' data, stay out of error messages and so out of the log.
    compileSqlOnError: false,
    acquireConnectionTimeout: url.connectTimeout,
    // knex would write to standard output what it also throws.
    log: { warn: ignore, error: ignore, debug: ignore },
    pool: { min: 0, max, idleTimeoutMillis: idleTimeout },
  })

const ignore = () => {}

export const openWriter = (url: ServerUrl, max: number, writeTimeout: number) =>
  open(url, writerClient(writeTimeout), max, writeTimeout)
export const openReader = (url: ServerUrl, max: number, readTimeout = queryTimeout) =>
  open(url, clientWith(readerSettings), max, readTimeout)
