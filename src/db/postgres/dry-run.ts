import type { Knex } from 'knex'

/**
 * Runs the work on a snapshot of all tables, copied into temporary tables that hide the real ones. All of it is one transaction,
 * which is rolled back; the work's own transactions are savepoints in it. It blocks nobody: a read-only transaction can write
 * temporary tables and no others (https://www.postgresql.org/docs/current/sql-set-transaction.html).
 */
export async function withTemporaryCopy<T>(pool: Knex, work: (sql: Knex) => Promise<T>): Promise<T> {
  const sql = await pool.transaction(undefined, { isolationLevel: 'repeatable read' })
  try {
    // Must be the transaction's first statement.
    await sql.raw('set transaction read write')
    await sql.raw('set local statement_timeout = 0')
    await sql.raw('set local idle_in_transaction_session_timeout = 0')
    const tables: { name: string; schema: string }[] = await selectRows(
      sql,
      'select tablename as name, schemaname as schema from pg_tables where schemaname = current_schema() order by tablename',
    )
    for (const { name, schema } of tables) await copyTable(sql, schema, name)
    await sql.raw('set transaction read only')
    return await work(sql)
  } finally {
    await sql.rollback()
  }
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
  await sql.raw(`analyze ${target}`)
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`
