import type { Knex } from 'knex'
import type { Connection } from '../dialect.ts'

type Definition = { table: string; name: string; definition: string }

/**
 * Without indexes that no constraint has, and without foreign keys: made at once, both take a small part of what they take row
 * by row. Definitions are PostgreSQL's own (https://www.postgresql.org/docs/current/functions-info.html).
 */
export const bulkLoad =
  (sql: Knex): Connection['bulkLoad'] =>
  async (work) => {
    const keys = await findDefinitions(`select conrelid::regclass as table, quote_ident(conname) as name,
        pg_get_constraintdef(oid) as definition
      from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace order by 1, 2`)
    const indexes = await findDefinitions(`select indrelid::regclass as table, indexrelid::regclass as name,
        pg_get_indexdef(indexrelid) as definition
      from pg_index join pg_class on pg_class.oid = indexrelid
      where relnamespace = current_schema()::regnamespace
        and not exists (select from pg_constraint where conindid = indexrelid) order by 1, 2`)
    for (const { table, name } of keys) await sql.raw(`alter table ${table} drop constraint ${name}`)
    for (const { name } of indexes) await sql.raw(`drop index ${name}`)
    const result = await work()
    // GIN is made by a tree in memory, which is slower to walk when it is greater than a processor's caches: of 60,000 apps in
    // 6 s, and in 11 s with 256 MB.
    await sql.raw(`set local maintenance_work_mem = '16MB'`)
    for (const { definition } of indexes) await sql.raw(definition)
    for (const { table, name, definition } of keys) {
      await sql.raw(`alter table ${table} add constraint ${name} ${definition}`)
    }
    return result

    async function findDefinitions(statement: string): Promise<Definition[]> {
      const { rows }: { rows: Definition[] } = await sql.raw(statement)
      return rows
    }
  }
