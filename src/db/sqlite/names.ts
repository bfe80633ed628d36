import type { Knex } from 'knex'
import type { Phrase } from '../../search/terms.ts'
import type { NameIndex } from '../engine.ts'
import { jsonArrayBytes, rowsOf } from './client.ts'

/** The names in FTS5, without the positions of tokens. The rowid is the id. */
export const nameIndex = (sql: Knex): NameIndex => ({
  async index(names) {
    if (names.length === 0) return
    const rows = names.map(({ id, tokens }) => [id, tokens.join(' ')])
    await sql.raw(
      'insert or replace into app_names (rowid, tokens) select value->>0, value->>1 from jsonb_each(cast(? as text))',
      [jsonArrayBytes(rows)],
    )
  },

  async remove(id) {
    await sql.raw('delete from app_names where rowid = ?', [id])
  },

  async newestWith(phrases, limit) {
    const found = await rowsOf(sql)<{ id: number }>(
      'select rowid as id from app_names where app_names match ? order by rowid desc limit ?',
      [matchExpression(phrases), limit],
    )
    return found.map(({ id }) => id)
  },

  async oldestWithEach(tokens, limit) {
    const found = await rowsOf(sql)<{ token: string; ids: string }>(
      `select value as token, (
         select json_group_array(id) from (
           select rowid as id from app_names where app_names match '"' || value || '"' order by rowid limit ?
         )
       ) as ids from json_each(?)`,
      [limit, JSON.stringify(tokens)],
    )
    return found.map(({ token, ids }) => ({ token, ids: JSON.parse(ids) }))
  },
})

/** An empty phrase matches nothing. */
const matchExpression = (phrases: Phrase[][]) =>
  phrases.map((list) => `(${list.map(toText).join(' OR ')})`).join(' AND ') || '""'

const toText = ({ tokens, isPrefix }: Phrase) => `"${tokens.join(' ')}"${isPrefix ? ' *' : ''}`
