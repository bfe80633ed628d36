import { idLimit } from '../../search/terms.ts'
import type { SchemaHelpers } from '../tools.ts'
import { textType } from './client.ts'
import { queryRunnerOf } from './query-runner.ts'

export const schema: SchemaHelpers = {
  /**
   * Long values are stored apart from the rows (TOAST), so that fetching the ranks of many matches
   * reads few pages. PostgreSQL does so only for rows of more than 2 kB before compression
   * (https://www.postgresql.org/docs/current/storage-toast.html): `spaces` makes each row as long,
   * and takes 40 bytes compressed.
   */
  async createSearchIndex(sql, fill) {
    for (const table of ['app_search', 'app_names']) await sql.schema.dropTableIfExists(table)
    await sql.raw(
      `create table app_search (
         app_id bigint primary key check (app_id < ${idLimit}), rank bigint not null, name_words ${textType} not null, tokens tsvector not null,
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
    await sql.raw('create table app_names (id bigint primary key, tokens tsvector not null)')
    await sql.raw('create index app_names_tokens on app_names using gin (tokens)')
    await fill(queryRunnerOf(sql))
  },

  /**
   * TRUNCATE has its own trigger, since Citus moves triggers to its shards, but not those of
   * TRUNCATE.
   */
  async makeAppendOnly(sql, table) {
    await sql.raw(
      `create function ${table}_refuses() returns trigger language plpgsql as
       $$ begin raise exception '${table} is append-only'; end $$`,
    )
    for (const [name, changes] of [
      ['is_append_only', 'update or delete'],
      ['is_not_truncated', 'truncate'],
    ]) {
      await sql.raw(
        `create trigger ${table}_${name} before ${changes} on ${table}
         for each statement execute function ${table}_refuses()`,
      )
    }
  },
}
