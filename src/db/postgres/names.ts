import type { Knex } from 'knex'
import type { NameIndex } from '../engine.ts'
import { rowsOf } from './client.ts'
import { lexemeOf } from './search.ts'

/** The names in a GIN index. */
export const nameIndex = (sql: Knex): NameIndex => ({
  async index(names) {
    if (names.length === 0) return
    const rows = names.map(({ id, tokens }) => ({ id, tokens: tokens.join(' ') }))
    await rowsOf(
      sql,
      `insert into app_names (id, tokens)
       select id, array_to_tsvector(string_to_array(tokens, ' '))
       from json_to_recordset(?::json) as name (id bigint, tokens text)
       on conflict (id) do update set tokens = excluded.tokens`,
      [JSON.stringify(rows)],
    )
  },

  async remove(id) {
    await sql.raw('delete from app_names where id = ?', [id])
  },

  async newestWith(phrases, limit) {
    if (phrases.length === 0) return []
    const lists = phrases.map((list) =>
      list.flatMap(({ tokens, isPrefix }) => tokens.map((token) => lexemeOf(token, isPrefix))),
    )
    const found = await rowsOf<{ id: number }>(
      sql,
      // Materialized: the planner would otherwise read all apps if it expects many matches.
      `with matches as materialized (select id from app_names where tokens @@ ?::tsquery)
       select id from matches order by id desc limit ?`,
      [lists.map((list) => `(${list.join(' | ')})`).join(' & '), limit],
    )
    return found.map(({ id }) => id)
  },

  async oldestWithEach(tokens, limit) {
    const found = await rowsOf<{ token: string; ids: number[] }>(
      sql,
      // Materialized, as above.
      `select token, ids from json_to_recordset(?) as asked (token text, query tsquery) cross join lateral (
         with matches as materialized (select id from app_names where app_names.tokens @@ asked.query)
         select array(select id from matches order by id limit ?) as ids
       ) as found`,
      [JSON.stringify(tokens.map((token) => ({ token, query: lexemeOf(token, false) }))), limit],
    )
    return found.map(({ token, ids }) => ({ token, ids: ids.map(Number) }))
  },
})
