import { hash } from 'node:crypto'
import type { Knex } from 'knex'
import { required } from '../../util/required.ts'
import type { Connection } from '../dialect.ts'
import { type DriverConnection, runStatement } from './connections.ts'
import { findViolatedColumn, isStaleStatement } from './errors.ts'

/**
 * A statement as the driver has it: its placeholders numbered, and the name that it is prepared by. The name is of the text alone:
 * through a pooler a backend can have what another process has prepared, which must not be another statement.
 */
type Prepared = { text: string; name?: string }

/** How many have a name, and so stay prepared on each connection: more than a running service has. The others are planned each time. */
const maxPrepared = 200
/** Characters. What is longer is a search of many terms, and hardly asked twice; eight pages that are read together have fewer. */
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
 * Past knex, which would build the statement anew and have it planned at each request. PostgreSQL has no text with NUL, and asked
 * for it is an error: nothing is equal to it, as nothing is to null.
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
    // What a statement's rows are is for its caller to know.
    return rows as Row[]
  } finally {
    sql.client.releaseConnection(connection)
  }
}

/** Rows go in as one JSON text, whose types are the table's: one statement, however many they are. */
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

/** Up to here ids that are passed over are taken one by one, which stops nobody. */
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
 * A sequence does not see the ids that rows name. To set it is safe only while nobody takes a number from it: others who insert
 * wait meanwhile, which happens where a catalogue's ids have a great gap.
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

/** A statement that waits for a lock has of the locked row what is there then, but of those joined to it what was there before. */
export const lock =
  (sql: Knex): Connection['lock'] =>
  async (table, columns, values) => {
    // knex types one column or several differently; both take a list of what they are compared with. In one order, so that
    // of two who lock the same none waits for the other in a circle.
    await sql(table)
      .whereIn(columns as string, values as string[])
      .orderBy('id')
      .forUpdate()
      .select('id')
  }

/** After an error nothing more can be done in a transaction, but from a savepoint on. */
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
