import { hash } from 'node:crypto'
import type { Knex } from 'knex'
import { required } from '../../util/required.ts'
import type { Connection } from '../dialect.ts'
import { type DriverConnection, runStatement } from './connections.ts'
import { findViolatedColumn, isStaleStatement } from './errors.ts'

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

/** Inserts rows as one JSON text, which takes the types of the table. */
export const insertRows =
  (sql: Knex): Connection['insertRows'] =>
  async (table, rows) => {
    if (rows.length === 0) return []
    const greatest = rows.reduce((most, { id = 0 }) => Math.max(most, id), 0)
    await advanceIdsTo(sql)(table, greatest)
    const ids = await takeIds(sql, table, rows.filter(({ id }) => id === undefined).length)
    const inserted = rows.map((row) => ({ ...row, id: row.id ?? required(ids.shift(), 'an id') }))
    const columns = Object.keys(required(inserted[0], 'a row'))
    await sql.raw(
      `insert into ${table} (${columns.join(', ')})
       select ${columns.join(', ')} from json_populate_recordset(null::${table}, ?::json)`,
      [JSON.stringify(inserted)],
    )
    return inserted
  }

async function takeIds(sql: Knex, table: string, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await sql.raw(`select nextval('${table}_id_seq') as id from generate_series(1, ?::bigint)`, [count])
  return rows.map(({ id }: { id: number }) => id)
}

/** Up to this many ids are skipped one by one, which blocks nobody. */
const maxSkippedIds = 100_000

export const lastId =
  (sql: Knex): Connection['lastId'] =>
  async (table) => {
    const { rows } = await sql.raw(
      `select case when is_called then last_value else last_value - 1 end as last from ${table}_id_seq`,
    )
    return rows[0].last
  }

/**
 * A sequence ignores explicit ids. Setting it is safe only while nobody takes a number from it, so a large gap locks the table
 * against inserts.
 */
export const advanceIdsTo =
  (sql: Knex): Connection['advanceIdsTo'] =>
  async (table, id) => {
    if (id === 0) return
    const last = () => lastId(sql)(table)
    const missing = id - (await last())
    if (missing <= 0) return
    if (missing <= maxSkippedIds) {
      await sql.raw(`select max(nextval('${table}_id_seq')) from generate_series(1, ?::bigint)`, [missing])
    } else {
      await sql.raw(`lock table ${table} in share row exclusive mode`)
      if ((await last()) < id) await sql.raw(`select setval('${table}_id_seq', ?)`, [id])
    }
  }

export const jsonRows: Connection['jsonRows'] = (from, columns, orderBy) => {
  const fields = columns.map((column) => `'${column}', ${column}`)
  return `(select cast(coalesce(json_agg(json_build_object(${fields}) order by ${orderBy}), '[]') as text) from ${from})`
}

/** A statement that waits for a lock then reads the new version of the locked row, but old versions of the rows joined to it. */
export const lock =
  (sql: Knex): Connection['lock'] =>
  async (table, columns, values) => {
    // knex types one column and several differently. In the order of their ids, so that two transactions cannot deadlock.
    await sql(table)
      .whereIn(columns as string, values as string[])
      .orderBy('id')
      .forUpdate()
      .select('id')
  }

/** After an error a transaction can only continue from a savepoint. */
export const mapUniqueViolation =
  (sql: Knex): Connection['mapUniqueViolation'] =>
  async (statement, errors) => {
    await sql.raw('savepoint attempt')
    try {
      const result = await statement()
      await sql.raw('release savepoint attempt')
      return result
    } catch (error) {
      const mappedError = errors[findViolatedColumn(error) ?? '']
      if (!mappedError) throw error
      await sql.raw('rollback to savepoint attempt')
      throw mappedError()
    }
  }
