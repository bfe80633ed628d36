import type { Knex } from 'knex'

/** Similar names are compared with those of the most downloaded apps, by the index of that order. */
export const up = (sql: Knex): Promise<void> => sql.raw('drop index apps_compact_name')
