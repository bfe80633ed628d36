import type { Knex } from 'knex'

/** What an operator has yet to look at. JSON: the former values of the fields that the owner has changed since the last decision. */
export const up = (sql: Knex) => sql.schema.alterTable('apps', (table) => table.text('unreviewed_changes'))
