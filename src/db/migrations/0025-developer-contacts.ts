import type { Knex } from 'knex'

/** Adds the e-mail address to which a developer gets decisions about their apps. */
export const up = (sql: Knex): Promise<void> =>
  sql.schema.alterTable('developers', (table) => {
    table.text('contact')
  })
