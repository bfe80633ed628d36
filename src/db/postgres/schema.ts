import type { SchemaHelpers } from '../dialect.ts'
import { textType } from './client.ts'
import { createSearchCache, searchIndex } from './search.ts'

export const schema: SchemaHelpers = {
  textType,

  /**
   * A row an app, short: what is long in it is kept apart, so that to count what many have reads little: each row that an index
   * finds is looked at. PostgreSQL keeps values apart of rows alone that are longer than 2 kB before they are compressed
   * (https://www.postgresql.org/docs/current/storage-toast.html), and so each gets as many spaces, which take 40 bytes then.
   * `tokens` is for the index; the texts, which only scripts without spaces have, hold tokens in their order. The planner's
   * guess at how many have a token is the same for all: which way is taken is decided by counting. What is written waits in a
   * list to be put into the index together, a fifth of the work: a short one, so that neither searches nor other writes pay
   * for it.
   */
  async createSearchIndex(sql) {
    await sql.raw('drop table if exists app_search')
    await sql.raw(
      `create table app_search (
         app_id bigint primary key, name ${textType}, text ${textType}, package ${textType}, tokens tsvector not null,
         spaces text not null default repeat(' ', 2048)
       ) with (toast_tuple_target = 128)`,
    )
    await sql.raw(
      'alter table app_search alter column tokens set statistics 0, alter column tokens set storage external',
    )
    await sql.raw('create index app_search_tokens on app_search using gin (tokens)')
    return searchIndex(sql, createSearchCache())
  },

  async upgradeSearchIndex() {},

  async makeAppendOnly(sql, table) {
    await sql.raw(
      `create function ${table}_refuses() returns trigger language plpgsql as
       $$ begin raise exception '${table} is append-only'; end $$`,
    )
    await sql.raw(
      `create trigger ${table}_is_append_only before update or delete or truncate on ${table}
       for each statement execute function ${table}_refuses()`,
    )
  },
}
