import type { Knex } from 'knex'

/**
 * Adds the website, the source code and the licence of an app, which its owner sets, and the time of
 * the last decision on it. Of decisions before this migration, only the audit log has the time.
 */
export const up = (sql: Knex): Promise<void> =>
  sql.schema.alterTable('apps', (table) => {
    table.text('website_url')
    table.text('source_code_url')
    table.text('license')
    table.text('decided_at')
  })
