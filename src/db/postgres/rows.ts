import { hash } from 'node:crypto'
import type { Knex } from 'knex'
import { Json } from '../../util/json.ts'
import { spending } from '../../util/timing.ts'
import type { Connection } from '../dialect.ts'
import { type DriverConnection, disposeIfBroken } from './connections.ts'
import { isStale, violatedUnique } from './errors.ts'

/**
 * A statement as the driver has it: its placeholders numbered, and the name that it is prepared by. The name is of the text alone:
 * through a pooler a backend can have what another process has prepared, which must not be another statement.
 */
type Prepared = { text: string; name?: string }

/** How many have a name, and so stay prepared on each connection: more than a running service has. The others are planned each time. */
const mostPrepared = 200
/** Characters. What is longer is a search of many terms, and hardly asked twice; eight pages that are read together have fewer. */
const longestPrepared = 8000

const prepared = new Map<string, Prepared>()

function preparedOf(statement: string): Prepared {
  const known = prepared.get(statement)
  if (known) return known
  let number = 0
  const text = statement.replaceAll('?', () => `$${++number}`)
  if (prepared.size >= mostPrepared || text.length > longestPrepared) return { text }
  const made = { text, name: nameOf(text) }
  prepared.set(statement, made)
  return made
}

export const nameOf = (text: string) => `apps_${hash('sha256', text).slice(0, 32)}`

/**
 * Past knex, which would build the statement anew and have it planned at each request. PostgreSQL has no text with NUL, and asked
 * for it is an error: nothing is equal to it, as nothing is to null.
 */
export const select =
  (sql: Knex): Connection['select'] =>
  async <Row>(statement: string, values: (string | number)[]) => {
    const sendable = values.map((value) => (typeof value === 'string' && value.includes('\0') ? null : value))
    try {
      return await selectOnce<Row>(sql, preparedOf(statement), sendable)
    } catch (error) {
      if (sql.isTransaction || !isStale(error)) throw error
      return await selectOnce<Row>(sql, preparedOf(statement), sendable)
    }
  }

async function selectOnce<Row>(sql: Knex, statement: Prepared, values: (string | number | null)[]): Promise<Row[]> {
  const connection: DriverConnection = await sql.client.acquireConnection()
  try {
    const { rows } = await spending('sql', () => connection.query({ ...statement, values }))
    // What a statement's rows are is for its caller to know.
    return rows as Row[]
  } catch (error) {
    disposeIfBroken(connection, error)
    throw error
  } finally {
    sql.client.releaseConnection(connection)
  }
}

/** Rows go in as one JSON text, whose types are the table's: one statement, however many they are. */
export const insertion =
  (sql: Knex): Connection['insertion'] =>
  (table, rows) => {
    const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== 'id')
    const greatest = rows.reduce((most, { id = 0 }) => Math.max(most, id), 0)
    const json = JSON.stringify(rows)
    return async () => {
      if (rows.length === 0) return
      await giveIdsBehind(sql)(table, greatest)
      await sql.raw(
        `insert into ${table} (id, ${columns.join(', ')})
         select coalesce(id, nextval('${table}_id_seq')), ${columns.join(', ')}
         from json_populate_recordset(null::${table}, ?::json)`,
        [json],
      )
    }
  }

export const newIds =
  (sql: Knex): Connection['newIds'] =>
  async (table, wanted) => {
    await giveIdsBehind(sql)(
      table,
      wanted.reduce<number>((greatest, id = 0) => Math.max(greatest, id), 0),
    )
    const count = wanted.filter((id) => id === undefined).length
    if (count === 0) return wanted.map((id) => id ?? 0)
    const { rows } = await sql.raw(`select nextval('${table}_id_seq') as id from generate_series(1, ?::bigint)`, [
      count,
    ])
    const given: number[] = rows.map(({ id }: { id: number }) => id)
    return wanted.map((id) => id ?? given.shift() ?? 0)
  }

/** Up to here ids that are passed over are taken one by one, which stops nobody. */
const mostPassed = 100_000

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
export const giveIdsBehind =
  (sql: Knex): Connection['giveIdsBehind'] =>
  async (table, id) => {
    if (id === 0) return
    const last = () => lastId(sql)(table)
    const missing = id - (await last())
    if (missing <= 0) return
    if (missing <= mostPassed) {
      await sql.raw(`select max(nextval('${table}_id_seq')) from generate_series(1, ?::bigint)`, [missing])
    } else {
      await sql.raw(`lock table ${table} in share row exclusive mode`)
      if ((await last()) < id) await sql.raw(`select setval('${table}_id_seq', ?)`, [id])
    }
  }

export const jsonRows: Connection['jsonRows'] = (from, columns, order) => {
  const object = Object.entries(columns).map(([name, expression]) => `'${name}', ${expression}`)
  return `(select coalesce(json_agg(json_build_object(${object.join(', ')}) ${order}), '[]') from ${from})`
}

/** The driver has parsed it. */
export const rowsOf: Connection['rowsOf'] = <Row>(column: unknown) => column as Row[]
export const jsonOf: Connection['jsonOf'] = (column) => new Json(Buffer.from(JSON.stringify(column)))

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
export const attempt =
  (sql: Knex): Connection['attempt'] =>
  async (statement, meanings) => {
    await sql.raw('savepoint attempt')
    try {
      const result = await statement()
      await sql.raw('release savepoint attempt')
      return result
    } catch (error) {
      const meaning = meanings[violatedUnique(error) ?? '']
      if (!meaning) throw error
      await sql.raw('rollback to savepoint attempt')
      throw meaning()
    }
  }
