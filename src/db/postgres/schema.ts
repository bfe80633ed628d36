import type { SchemaHelpers } from '../dialect.ts'
import { textType } from './client.ts'
import { searchIndex } from './search.ts'

export const schema: SchemaHelpers = {
  textType,

  /**
   * Long values are stored apart from the rows (TOAST), so that fetching the ranks of many matches reads few pages. PostgreSQL
   * does so only for rows of more than 2 kB before compression (https://www.postgresql.org/docs/current/storage-toast.html):
   * `spaces` makes each row as long, and takes 40 bytes compressed.
   */
  async createSearchIndex(sql) {
    await sql.raw('drop table if exists app_search')
    await sql.raw(
      `create table app_search (
         app_id bigint primary key, rank bigint not null, name_words ${textType} not null, tokens tsvector not null,
         sequence ${textType}, spaces text not null default repeat(' ', 2048)
       ) with (toast_tuple_target = 128)`,
    )
    await sql.raw(
      `alter table app_search alter column name_words set storage main, alter column tokens set storage external,
         alter column tokens set statistics 300,
         alter column sequence set storage external`,
    )
    await sql.raw('create index app_search_tokens on app_search using gin (tokens)')
    await sql.raw('create index app_search_rank on app_search (rank)')
    return searchIndex(sql)
  },

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

  async dropConstraints(sql, table, { checks, foreignKeys }) {
    const names = [...Object.keys(checks), ...Object.keys(foreignKeys).map((column) => `${table}_${column}_foreign`)]
    await sql.raw(`alter table ${table} ${names.map((name) => `drop constraint ${name}`)}`)
  },
}
