import type { Knex } from 'knex'
import { assertDirectConnection } from './snapshots.ts'

/**
 * Copies a snapshot of all tables into temporary tables of this connection, which hide the real ones and are dropped when it
 * closes. They block nobody. A read-only transaction may write them and no others
 * (https://www.postgresql.org/docs/current/sql-set-transaction.html).
 */
export async function copyToTemporaryTables(sql: Knex) {
  await sql.raw('set statement_timeout = 0')
  await sql.transaction(
    async (copying) => {
      // Must be the transaction's first statement.
      await copying.raw('set transaction read write')
      await assertDirectConnection(copying)
      const tables: { name: string; schema: string }[] = await selectRows(
        copying,
        'select tablename as name, schemaname as schema from pg_tables where schemaname = current_schema() order by tablename',
      )
      for (const { name, schema } of tables) await copyTable(copying, schema, name)
    },
    { isolationLevel: 'repeatable read' },
  )
  await sql.raw('analyze')
}

async function selectRows<Row>(sql: Knex, statement: string, values: string[] = []): Promise<Row[]> {
  const { rows }: { rows: Row[] } = await sql.raw(statement, values)
  return rows
}

async function copyTable(sql: Knex, schema: string, name: string) {
  const [source, target] = [`${quoteIdentifier(schema)}.${quoteIdentifier(name)}`, `pg_temp.${quoteIdentifier(name)}`]
  await sql.raw(
    `create temp table ${quoteIdentifier(name)} (like ${source} including defaults including constraints including storage)`,
  )
  await sql.raw(`insert into ${target} select * from ${source}`)
  const indexes: { definition: string }[] = await selectRows(
    sql,
    'select indexdef as definition from pg_indexes where schemaname = ? and tablename = ?',
    [schema, name],
  )
  for (const { definition } of indexes) await sql.raw(definition.replace(/ ON \S+ USING /, ` ON ${target} USING `))

  const columns: { column: string; sequence: string }[] = await selectRows(
    sql,
    `select column_name as column, pg_get_serial_sequence(?, column_name) as sequence
     from information_schema.columns where table_schema = ? and table_name = ?`,
    [source, schema, name],
  )
  for (const { column, sequence } of columns.filter(({ sequence }) => sequence !== null)) {
    const own = `${name}_${column}_seq`
    await sql.raw(`create temp sequence ${quoteIdentifier(own)}`)
    await sql.raw(`select setval('pg_temp.${quoteIdentifier(own)}', last_value, is_called) from ${sequence}`)
    await sql.raw(
      `alter table ${target} alter column ${quoteIdentifier(column)} set default nextval('pg_temp.${quoteIdentifier(own)}')`,
    )
  }
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`
