import type { Knex } from 'knex'
import { chunk } from '../../util/chunk.ts'
import { measure } from '../../util/timing.ts'
import type { Connection, NewRow } from '../dialect.ts'
import type { AppRow } from '../tables.ts'
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
 * Nobody else writes meanwhile, so what has been looked up is not refused: of several statements none has to be taken back.
 */
export const prepareInsert =
  (sql: Knex): Connection['prepareInsert'] =>
  (table, rows) => {
    const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== 'id')
    const values = ['id', ...columns].map((_, index) => `value->>${index}`)
    const texts = [...chunk(explicitIdsFirst(rows), maxRowsPerStatement)].map((some) =>
      jsonArrayBytes(some.map((row) => rowValues(row, columns))),
    )
    return async () => {
      for (const json of texts) {
        await sql.raw(
          `insert into ${table} (id, ${columns.join(', ')}) select ${values.join(', ')} from jsonb_each(cast(? as text))`,
          [json],
        )
      }
    }
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

function rowValues(row: NewRow, columns: string[]) {
  const values: unknown[] = [row.id]
  for (const column of columns) values.push(row[column])
  return values
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

/** An id that the table gives could be one that a later row names; one after the greatest that was ever there is not. */
const explicitIdsFirst = (rows: NewRow[]) =>
  rows.toSorted((a, b) => Number(a.id === undefined) - Number(b.id === undefined))

/** The ids that the table would give: whoever writes is alone at it, so they need not be asked back. */
export const allocateIds =
  (sql: Knex): Connection['allocateIds'] =>
  async (table, requested) => {
    let last = requested.reduce<number>((greatest, id = 0) => Math.max(greatest, id), await lastId(sql)(table))
    return requested.map((id) => id ?? ++last)
  }

export const jsonSubquery: Connection['jsonSubquery'] = (from, columns, order) => {
  const object = Object.entries(columns).map(([name, expression]) => `'${name}', ${integerIfWhole(expression)}`)
  return `(select cast(json_group_array(json_object(${object.join(', ')}) ${order}) as blob) from ${from})`
}

/** The one column whose numbers may have a fraction. */
const fractionalColumn: `apps.${keyof AppRow}` = 'apps.average_rating'

/** Of 4.0 SQLite's JSON is 4.0; any other's here, and so an answer's tag, is of 4. */
function integerIfWhole(expression: string): string {
  if (expression !== fractionalColumn) return expression
  const whole = `cast(${expression} as integer)`
  return `iif(${expression} = ${whole}, ${whole}, ${expression})`
}

export const parseJsonRows: Connection['parseJsonRows'] = (column) => JSON.parse(String(column))

/** A statement that fails changes nothing, and the transaction stays as it was (https://sqlite.org/lang_conflict.html, ABORT). */
export const mapUniqueViolation: Connection['mapUniqueViolation'] = async (statement, errors) => {
  try {
    return await statement()
  } catch (error) {
    const mappedError = errors[findViolatedColumn(error) ?? '']
    throw mappedError ? mappedError() : error
  }
}
