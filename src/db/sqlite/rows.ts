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

/** Rows go in as one JSON text, which costs a fraction of binding each value. */
export const insertRows =
  (sql: Knex): Connection['insertRows'] =>
  async (table, rows, by = 'id') => {
    const sorted = namedIdsFirst(rows)
    const columns = Object.keys(sorted[0] ?? {})
    if (columns.length === 0) return new Map()
    const values = columns.map((column) => `value->>'$.${column}'`)
    const inserted: Record<string, number>[] = await sql.raw(
      `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from json_each(?) returning id, ${by} as name`,
      [JSON.stringify(sorted)],
    )
    return new Map(inserted.map(({ id, name }) => [name, id ?? 0]))
  }

/** An id that the table gives could be one that a later row names; one after the greatest that was ever there is not. */
const namedIdsFirst = (rows: NewRow[]) =>
  rows.toSorted((a, b) => Number(a.id === undefined) - Number(b.id === undefined))

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
