import type { Knex } from 'knex'
import { chunk } from '../../util/chunk.ts'
import { measure } from '../../util/timing.ts'
import type { Connection } from '../dialect.ts'
import { findViolatedColumn } from './errors.ts'
import { type DriverConnection, selectRows } from './statements.ts'

/** Past knex, which would look for placeholders of its own in the text, and copy the values, at each request. */
export const select =
  (sql: Knex): Connection['select'] =>
  async <Row>(statement: string, values: (string | number)[]) => {
    const connection: DriverConnection = await sql.client.acquireConnection()
    try {
      return await measure('sql', () => selectRows<Row>(connection, statement, values))
    } finally {
      sql.client.releaseConnection(connection)
    }
  }

/**
 * Rows in a statement. In case it fails SQLite keeps what each page was that it changes, in memory: of a large catalogue that is
 * nearly one for each row and index (https://sqlite.org/tempfiles.html#statement_journal_files).
 */
const maxRowsPerStatement = 250

/**
 * Rows go in as JSON texts, which costs a fraction of binding each value. `jsonb_each` reads one once, where `json_each`
 * would read each row again for each of its columns (https://sqlite.org/json1.html#the_jsonb_each_table_valued_function).
 */
export const insertRows =
  (sql: Knex): Connection['insertRows'] =>
  async (table, rows) => {
    // SQLite has one writer at a time, so nobody else takes these ids.
    let last = rows.reduce((greatest, { id = 0 }) => Math.max(greatest, id), await lastId(sql)(table))
    const inserted = rows.map((row) => ({ ...row, id: row.id ?? ++last }))
    const columns = Object.keys(inserted[0] ?? {})
    const values = columns.map((_, index) => `value->>${index}`)
    for (const batch of chunk(inserted, maxRowsPerStatement)) {
      await sql.raw(
        `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from jsonb_each(cast(? as text))`,
        [jsonArrayBytes(batch.map((row) => columns.map((column) => row[column])))],
      )
    }
    return inserted
  }

/**
 * A JSON array, to be bound and cast to text. Not one string: a single character beyond Latin-1 would make all of it twice as long
 * and ten times as slow to write as bytes.
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

/** How SQLite keeps it: https://sqlite.org/autoinc.html */
export const lastId =
  (sql: Knex): Connection['lastId'] =>
  async (table) => {
    const [sequence] = await sql.raw('select seq from sqlite_sequence where name = ?', [table])
    return sequence?.seq ?? 0
  }

export const advanceIdsTo =
  (sql: Knex): Connection['advanceIdsTo'] =>
  async (table, id) => {
    // It has no unique key, and a row only of a table that has had one.
    await sql.raw('delete from sqlite_sequence where name = ?', [table])
    await sql.raw('insert into sqlite_sequence (name, seq) values (?, ?)', [table, id])
  }

export const jsonRows: Connection['jsonRows'] = (from, columns, orderBy) => {
  const fields = columns.map((column) => `'${column}', ${column}`)
  return `(select json_group_array(json_object(${fields}) order by ${orderBy}) from ${from})`
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
