import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/** The version of the public data (db/database.ts). The key lets PostgreSQL replicate the row logically. */
export async function up(sql: Knex, { textType }: SchemaHelpers) {
  await sql.raw(`create table catalogue_version (id integer primary key check (id = 1), value ${textType} not null)`)
  await sql('catalogue_version').insert({ id: 1, value: randomUUID() })
}
