import type { Knex } from 'knex'
import { chunk } from '../../util/helpers.ts'
import type { Connection, NewRow } from '../engine.ts'
import { insertWithIds } from '../insert-rows.ts'
import { jsonArrayBytes, jsonRows, select } from './client.ts'
import { searchIndex } from './search.ts'

/** Creates the stores' interface to the reader, the writer, or a transaction of one. */
export const connectionOf = (sql: Knex): Connection => ({
  sql,
  async describe() {
    const [row] = await sql.raw(
      'select sqlite_version() as version, page_count * page_size as bytes from pragma_page_count, pragma_page_size',
    )
    return { engine: `SQLite ${row.version}`, bytes: row.bytes }
  },
  select: select(sql),
  search: searchIndex(sql),
  jsonRows,
  insertRows: insertWithIds((table, rows) => insertBatches(sql, table, rows)),
  async insertUnlessTaken(table, row, unique) {
    // A conflict would use up an id, and there is one writer, so looking first is safe.
    const columns = Object.keys(row)
    const isFree = unique.map(
      (column) =>
        `not exists (select 1 from ${table} where ${column} = value->>${columns.indexOf(column)})`,
    )
    const [id] = await insertBatches(sql, table, [row], `where ${isFree.join(' and ')}`)
    return id
  },
})

/**
 * Rows in a statement. SQLite keeps the former content of each page that the statement changes in
 * memory: in a large catalogue nearly one page for each row and index
 * (https://sqlite.org/tempfiles.html#statement_journal_files).
 */
const maxRowsPerStatement = 250

/**
 * Inserts rows as JSON texts, which costs a fraction of binding each value, and returns their ids.
 * `jsonb_each` parses a text once; `json_each` would parse each row again for each column
 * (https://sqlite.org/json1.html#the_jsonb_each_table_valued_function).
 */
async function insertBatches(
  sql: Knex,
  table: string,
  rows: NewRow[],
  condition = '',
): Promise<number[]> {
  const columns = Object.keys(rows[0] ?? {})
  const values = columns.map((_, index) => `value->>${index}`)
  const ids: number[] = []
  for (const batch of chunk(rows, maxRowsPerStatement)) {
    const inserted = await select(sql)<{ id: number }>(
      `insert into ${table} (${columns}) select ${values} from jsonb_each(cast(? as text)) ${condition} returning id`,
      [jsonArrayBytes(batch.map((row) => columns.map((column) => row[column])))],
    )
    for (const { id } of inserted) ids.push(id)
  }
  return ids
}
