import type { Knex } from 'knex'
import { required } from '../../util/helpers.ts'
import type { EngineQueryRunner, NewRow } from '../engine.ts'
import { rowsOf } from './client.ts'
import { nameIndex, searchIndex } from './search.ts'

export const queryRunnerOf = (sql: Knex): EngineQueryRunner => ({
  sql,
  async describe() {
    const { rows } = await sql.raw(
      `select current_setting('server_version') as version, pg_database_size(current_database()) as bytes`,
    )
    return { engine: `PostgreSQL ${rows[0].version}`, bytes: rows[0].bytes, free_bytes: null }
  },
  rows: (statement, values) => rowsOf(sql, statement, values),
  search: searchIndex(sql),
  names: nameIndex(sql),
  jsonRows(from, columns, orderBy) {
    const row = `(select row_to_json(fields) from (select ${columns}) as fields)`
    return `(select cast(coalesce(json_agg(${row} order by ${orderBy}), '[]') as text) from ${from})`
  },
  insert: (...args) => insertBatch(sql, ...args),
})

/**
 * Inserts rows in one statement. They are bound as one JSON text; PostgreSQL converts its values to
 * the types of the table's columns.
 */
async function insertBatch<Returned>(
  sql: Knex,
  table: string,
  rows: NewRow[],
  end: string,
): Promise<Returned[]> {
  if (rows.length === 0) return []
  const columns = Object.keys(required(rows[0], 'a row'))
  await advanceIds(sql, table, rows)
  return rowsOf<Returned>(
    sql,
    `insert into ${table} (${columns})
     select ${columns} from json_populate_recordset(null::${table}, ?::json) as given ${end}`,
    [JSON.stringify(rows)],
  )
}

/**
 * Advances the sequence of ids beyond the explicit ids of the rows, so that it never generates one
 * of them. A small gap is skipped id by id, which takes no lock. For a large gap the sequence is
 * set. That is safe only while no other transaction uses it, so the table is locked against
 * inserts.
 */
async function advanceIds(sql: Knex, table: string, rows: NewRow[]) {
  const id = rows.reduce((greatest, { id = 0 }) => Math.max(greatest, id), 0)
  if (id === 0) return
  const gap = id - (await lastId(sql, table))
  if (gap <= 0) return
  if (gap <= maxSkippedIds) {
    await sql.raw(`select max(nextval('${table}_id_seq')) from generate_series(1, ?::bigint)`, [
      gap,
    ])
  } else {
    await sql.raw(`lock table ${table} in share row exclusive mode`)
    if ((await lastId(sql, table)) < id) await sql.raw(`select setval('${table}_id_seq', ?)`, [id])
  }
}

const maxSkippedIds = 100_000

/** The last id that the sequence generated; 0 if none. */
async function lastId(sql: Knex, table: string): Promise<number> {
  const { rows } = await sql.raw(
    `select case when is_called then last_value else last_value - 1 end as last from ${table}_id_seq`,
  )
  return rows[0].last
}
