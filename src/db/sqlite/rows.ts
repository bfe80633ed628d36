import type { Knex } from 'knex'
import { spending } from '../../spent.ts'
import type { Connection, NewRow } from '../dialect.ts'
import { violatedUnique } from './errors.ts'
import { type DriverConnection, rowsFrom } from './statements.ts'

/** Past knex, which would look for placeholders of its own in the text, and copy the values, at each request. */
export const select =
  (sql: Knex): Connection['select'] =>
  async <Row>(statement: string, values: (string | number)[]) => {
    const connection: DriverConnection = await sql.client.acquireConnection()
    try {
      return await spending('sql', () => rowsFrom<Row>(connection, statement, values))
    } finally {
      sql.client.releaseConnection(connection)
    }
  }

/**
 * Rows go in as one JSON text, which costs a fraction of binding each value. `jsonb_each` reads it once, where `json_each`
 * would read each row again for each of its columns (https://sqlite.org/json1.html#the_jsonb_each_table_valued_function).
 */
export const insertRows =
  (sql: Knex): Connection['insertRows'] =>
  async (table, rows, by) => {
    const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== 'id')
    if (columns.length === 0) return new Map()
    const sorted = namedIdsFirst(rows)
    const ids = by === undefined ? sorted.map(({ id }) => id) : await idsOf(sql, table, sorted)
    const values = ['id', ...columns].map((_, index) => `value->>${index}`)
    await sql.raw(`insert into ${table} (id, ${columns.join(', ')}) select ${values.join(', ')} from jsonb_each(?)`, [
      JSON.stringify(sorted.map((row, index) => [ids[index], ...columns.map((column) => row[column])])),
    ])
    return new Map(by === undefined ? [] : sorted.map((row, index) => [row[by], ids[index] ?? 0]))
  }

/** How SQLite keeps it: https://sqlite.org/autoinc.html */
export const lastId =
  (sql: Knex): Connection['lastId'] =>
  async (table) => {
    const [sequence] = await sql.raw('select seq from sqlite_sequence where name = ?', [table])
    return sequence?.seq ?? 0
  }

export const giveIdsBehind =
  (sql: Knex): Connection['giveIdsBehind'] =>
  async (table, id) => {
    // It has no unique key, and a row only of a table that has had one.
    await sql.raw('delete from sqlite_sequence where name = ?', [table])
    await sql.raw('insert into sqlite_sequence (name, seq) values (?, ?)', [table, id])
  }

/** An id that the table gives could be one that a later row names; one after the greatest that was ever there is not. */
const namedIdsFirst = (rows: NewRow[]) =>
  rows.toSorted((a, b) => Number(a.id === undefined) - Number(b.id === undefined))

/** The ids that the table gives: whoever writes is alone at it, so they need not be asked back. */
async function idsOf(sql: Knex, table: string, namedFirst: NewRow[]): Promise<number[]> {
  let last = await lastId(sql)(table)
  return namedFirst.map(({ id = last + 1 }) => {
    last = Math.max(last, id)
    return id
  })
}

export const jsonRows: Connection['jsonRows'] = (from, columns, order) => {
  const object = Object.entries(columns).map(([name, expression]) => `'${name}', ${expression}`)
  return `(select json_group_array(json_object(${object.join(', ')}) ${order}) from ${from})`
}

export const rowsOf: Connection['rowsOf'] = (column) => JSON.parse(String(column))

/** A statement that fails changes nothing, and the transaction stays as it was (https://sqlite.org/lang_conflict.html, ABORT). */
export const attempt: Connection['attempt'] = async (statement, meanings) => {
  try {
    return await statement()
  } catch (error) {
    const meaning = meanings[violatedUnique(error) ?? '']
    throw meaning ? meaning() : error
  }
}
