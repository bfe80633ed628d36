import type { Knex } from 'knex'
import type { SchemaHelpers } from '../engine.ts'

/**
 * `operator_name`: the name that an operator gave with `OPERATOR`, beside the account in
 * `operator`. `revision` (catalogue/app-store.ts): apps have the default until their first change.
 */
export async function up(sql: Knex, { makeAppendOnly }: SchemaHelpers): Promise<void> {
  await sql.schema.alterTable('audit', (table) => table.text('operator_name'))
  // A constant default rewrites no row.
  await sql.schema.alterTable('apps', (table) =>
    table.text('revision').notNullable().defaultTo('first'),
  )
  // Since this version it also refuses SQLite's `insert or replace`.
  await makeAppendOnly(sql, 'audit')
}
