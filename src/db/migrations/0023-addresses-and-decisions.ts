import type { Knex } from 'knex'

/**
 * What owners may say of an app's website, source code and licence, and when an operator last
 * decided on it. Of decisions before this migration, only the audit log has the time.
 */
export const up = (sql: Knex) =>
  sql.schema.alterTable('apps', (table) => {
    table.text('website_url')
    table.text('source_code_url')
    table.text('license')
    table.text('decided_at')
  })
