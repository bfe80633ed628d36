import type { Knex } from 'knex'

/**
 * An index for the list of a developer's own apps, the last changed first. It has the status, so
 * that apps of one status are counted and found without reading the rows. The comparison always
 * holds. With it, only the query of catalogue/own-apps.ts uses the index; SQLite would prefer it to
 * the shorter indexes of operators' queues.
 */
export const up = (sql: Knex): Promise<void> =>
  sql.raw(
    `create index apps_own on apps (developer_id, updated_at, id, status)
     where deleted_at is null and updated_at > ''`,
  )
