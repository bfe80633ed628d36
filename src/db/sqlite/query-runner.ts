import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Knex } from 'knex'
import { chunk } from '../../util/helpers.ts'
import type { EngineQueryRunner, NewRow } from '../engine.ts'
import { jsonArrayBytes, jsonRows, rowsOf } from './client.ts'
import { nameIndex, searchIndex } from './search.ts'

export const queryRunnerOf = (sql: Knex): EngineQueryRunner => ({
  sql,
  async describe() {
    const [row] = await sql.raw(
      `select sqlite_version() as version, page_count * page_size as bytes, file
       from pragma_page_count, pragma_page_size, pragma_database_list where name = 'main'`,
    )
    const { bavail, bsize } = await statfs(dirname(row.file))
    return { engine: `SQLite ${row.version}`, bytes: row.bytes, free_bytes: bavail * bsize }
  },
  rows: rowsOf(sql),
  search: searchIndex(sql),
  names: nameIndex(sql),
  jsonRows,
  insert: (...args) => insertBatches(sql, ...args),
})

/**
 * Rows in a statement. SQLite keeps the former content of each page that the statement changes in
 * memory: in a large catalogue nearly one page for each row and index
 * (https://sqlite.org/tempfiles.html#statement_journal_files).
 */
const maxRowsPerStatement = 250

/**
 * Inserts rows as JSON texts, which costs a fraction of binding each value.
 * `jsonb_each` parses a text once; `json_each` would parse each row again for each column
 * (https://sqlite.org/json1.html#the_jsonb_each_table_valued_function).
 */
async function insertBatches<Returned>(
  sql: Knex,
  table: string,
  rows: NewRow[],
  end: string,
): Promise<Returned[]> {
  const columns = Object.keys(rows[0] ?? {})
  const values = columns.map((column, index) => `value->>${index} as ${column}`)
  const returned: Returned[] = []
  for (const batch of chunk(rows, maxRowsPerStatement)) {
    const inserted = await rowsOf(sql)<Returned>(
      `insert into ${table} (${columns})
       select * from (select ${values} from jsonb_each(cast(? as text))) as given ${end}`,
      [jsonArrayBytes(batch.map((row) => columns.map((column) => row[column])))],
    )
    for (const row of inserted) returned.push(row)
  }
  return returned
}
