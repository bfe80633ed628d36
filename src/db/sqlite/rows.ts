import type { Knex } from 'knex'
import { chunk } from '../../util/chunk.ts'
import { required } from '../../util/required.ts'
import type { Connection, NewRow } from '../dialect.ts'
import { findViolatedColumn } from './errors.ts'

/**
 * Rows in a statement. SQLite keeps the former content of each page that the statement changes in memory: in a large catalogue
 * nearly one page for each row and index (https://sqlite.org/tempfiles.html#statement_journal_files).
 */
const maxRowsPerStatement = 250

/** Rows with an id come first, so that the ids which the table gives to the others are greater. */
export const insertRows =
  (sql: Knex): Connection['insertRows'] =>
  async (table, rows) => {
    await insertBatches(
      sql,
      table,
      rows.filter(({ id }) => id !== undefined),
    )
    const inserted = await insertBatches(
      sql,
      table,
      rows.filter(({ id }) => id === undefined).map(({ id, ...row }) => row),
    )
    const ids = inserted.toSorted((a, b) => a - b).values()
    return rows.map((row) => ({ ...row, id: row.id ?? required(ids.next().value, 'an id') }))
  }

/**
 * Inserts rows as JSON texts, which costs a fraction of binding each value, and returns their ids. `jsonb_each` parses a text
 * once; `json_each` would parse each row again for each column
 * (https://sqlite.org/json1.html#the_jsonb_each_table_valued_function).
 */
async function insertBatches(sql: Knex, table: string, rows: NewRow[]): Promise<number[]> {
  const columns = Object.keys(rows[0] ?? {})
  const values = columns.map((_, index) => `value->>${index}`)
  const ids: number[] = []
  for (const batch of chunk(rows, maxRowsPerStatement)) {
    const inserted: { id: number }[] = await sql.raw(
      `insert into ${table} (${columns}) select ${values} from jsonb_each(cast(? as text)) returning id`,
      [jsonArrayBytes(batch.map((row) => columns.map((column) => row[column])))],
    )
    for (const { id } of inserted) ids.push(id)
  }
  return ids
}

/**
 * A JSON array, to be bound and cast to text. Not joined as a string: a single character beyond Latin-1 would make it twice as
 * long and ten times as slow to encode.
 */
export function jsonArrayBytes(values: unknown[]): Buffer {
  const texts = values.map((value) => JSON.stringify(value))
  const bytes = Buffer.allocUnsafeSlow(texts.reduce((length, text) => length + Buffer.byteLength(text) + 1, 2))
  let end = bytes.write('[')
  for (const [index, text] of texts.entries()) {
    if (index > 0) end += bytes.write(',', end)
    end += bytes.write(text, end)
  }
  end += bytes.write(']', end)
  return bytes.subarray(0, end)
}

/** https://sqlite.org/autoinc.html */
export const lastId =
  (sql: Knex): Connection['lastId'] =>
  async (table) => {
    const [sequence] = await sql.raw('select seq from sqlite_sequence where name = ?', [table])
    return sequence?.seq ?? 0
  }

export const advanceIdsTo =
  (sql: Knex): Connection['advanceIdsTo'] =>
  async (table, id) => {
    // The table has no unique key, and a row only for tables that have had rows.
    await sql.raw('delete from sqlite_sequence where name = ?', [table])
    await sql.raw('insert into sqlite_sequence (name, seq) values (?, ?)', [table, id])
  }

/** A statement that fails changes nothing, and the transaction stays as it was (https://sqlite.org/lang_conflict.html, ABORT). */
export const mapUniqueViolation: Connection['mapUniqueViolation'] = async (statement, errors) => {
  try {
    return await statement()
  } catch (error) {
    const mappedError = errors[findViolatedColumn(error) ?? '']
    throw mappedError ? mappedError() : error
  }
}
