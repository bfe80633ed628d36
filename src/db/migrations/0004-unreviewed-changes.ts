import type { Knex } from 'knex'

/**
 * JSON: the former values of the fields that the owner has changed since an operator's last
 * decision.
 */
export const up = (sql: Knex): Promise<void> =>
  sql.schema.alterTable('apps', (table) => table.text('unreviewed_changes'))
