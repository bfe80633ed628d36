import type { Knex } from 'knex'
import { demandDirect } from './snapshots.ts'

/**
 * Puts copies of all tables, as they are at one moment, before the tables themselves, on this connection alone: temporary ones,
 * which are found first, take no lock that others wait for, and are gone with the connection. A transaction that only reads
 * may write them and no others (https://www.postgresql.org/docs/current/sql-set-transaction.html).
 */
export async function copyTables(sql: Knex) {
  await sql.raw('set statement_timeout = 0')
  await sql.transaction(
    async (copying) => {
      // Before anything else is asked in it.
      await copying.raw('set transaction read write')
      await demandDirect(copying)
      const tables: { name: string; schema: string }[] = await rowsFrom(
        copying,
        'select tablename as name, schemaname as schema from pg_tables where schemaname = current_schema() order by tablename',
      )
      for (const { name, schema } of tables) await copyTable(copying, schema, name)
    },
    { isolationLevel: 'repeatable read' },
  )
  await sql.raw('analyze')
}

async function rowsFrom<Row>(sql: Knex, statement: string, values: string[] = []): Promise<Row[]> {
  const { rows }: { rows: Row[] } = await sql.raw(statement, values)
  return rows
}

async function copyTable(sql: Knex, schema: string, name: string) {
  const [source, target] = [`${quoted(schema)}.${quoted(name)}`, `pg_temp.${quoted(name)}`]
  await sql.raw(
    `create temp table ${quoted(name)} (like ${source} including defaults including constraints including storage)`,
  )
  await sql.raw(`insert into ${target} select * from ${source}`)
  const indexes: { definition: string }[] = await rowsFrom(
    sql,
    'select indexdef as definition from pg_indexes where schemaname = ? and tablename = ?',
    [schema, name],
  )
  for (const { definition } of indexes) await sql.raw(definition.replace(/ ON \S+ USING /, ` ON ${target} USING `))

  const columns: { column: string; sequence: string }[] = await rowsFrom(
    sql,
    `select column_name as column, pg_get_serial_sequence(?, column_name) as sequence
     from information_schema.columns where table_schema = ? and table_name = ?`,
    [source, schema, name],
  )
  for (const { column, sequence } of columns.filter(({ sequence }) => sequence !== null)) {
    const own = `${name}_${column}_seq`
    await sql.raw(`create temp sequence ${quoted(own)}`)
    await sql.raw(`select setval('pg_temp.${quoted(own)}', last_value, is_called) from ${sequence}`)
    await sql.raw(`alter table ${target} alter column ${quoted(column)} set default nextval('pg_temp.${quoted(own)}')`)
  }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
