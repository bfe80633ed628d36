import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'

/** On Citus, one trigger for updates, deletes and TRUNCATE never fired. */
export const up = (sql: Knex, { makeAppendOnly }: SchemaHelpers) => makeAppendOnly(sql, 'audit')
