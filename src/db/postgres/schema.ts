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
  async createSearchIndex(sql, fill) {
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
    await sql.raw(createSearchPlan)
    await fill(searchIndex(sql))
  },

  /** TRUNCATE has its own trigger, since Citus moves triggers to its shards, but not those of TRUNCATE. */
  async makeAppendOnly(sql, table) {
    await sql.raw(
      `create or replace function ${table}_refuses() returns trigger language plpgsql as
       $$ begin raise exception '${table} is append-only'; end $$`,
    )
    for (const [name, changes] of Object.entries({
      is_append_only: 'update or delete',
      is_not_truncated: 'truncate',
    })) {
      await sql.raw(`drop trigger if exists ${table}_${name} on ${table}`)
      await sql.raw(
        `create trigger ${table}_${name} before ${changes} on ${table}
         for each statement execute function ${table}_refuses()`,
      )
    }
  },
}

/**
 * The plan of the matches and of all rows, for its estimates. On Citus, of the node's own copy, since Citus would ask another
 * node. There, EXPLAIN also turns off local execution, without which later statements of the transaction would fail.
 */
const createSearchPlan = `
  create or replace function app_search_plan(query tsquery) returns json language plpgsql as $$
  declare
    is_citus boolean := to_regclass('pg_dist_shard') is not null;
    copy text := 'app_search';
    plan json;
  begin
    if is_citus then
      select coalesce(max(shard_name(logicalrelid, shardid)), copy) into copy
      from pg_dist_shard where logicalrelid = 'app_search'::regclass;
    end if;
    execute format('explain (format json) select from %1$s where tokens @@ %2$L::tsquery union all select from %1$s', copy, query)
      into plan;
    if is_citus then perform set_config('citus.enable_local_execution', 'on', true); end if;
    return plan;
  end $$`
