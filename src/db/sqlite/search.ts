import type { Knex } from 'knex'
import type { Match } from '../../search/best-matches.ts'
import { idLimit, searchRank } from '../../search/document.ts'
import type { SearchIndex } from '../dialect.ts'
import { orderBy } from '../page-slice.ts'
import { listed } from '../tables.ts'
import { select } from './client.ts'
import { jsonArrayBytes } from './rows.ts'
import { matchExpression, tokensOf } from './tokens.ts'

/** Up to so many matches are fetched and sorted. If there are more, walking the order's own index meets enough of them soon. */
const maxSorted = 20_000

/**
 * The index in FTS5 (https://sqlite.org/fts5.html). The rowid of an app is its rank, and FTS5 reads rowids in descending order,
 * so finding the first matches of a common word stops early. `app_search_apps` has the rank of each app.
 */
export const searchIndex = (sql: Knex): SearchIndex => ({
  async index(documents) {
    if (documents.length === 0) return
    await removeApps(
      sql,
      documents.map(({ id }) => id),
    )
    // FTS5 writes ascending rowids at a quarter of the cost of others.
    const rows = documents
      .map((document) => ({ ...document, rank: searchRank(document) }))
      .toSorted((a, b) => a.rank - b.rank)
    await sql.raw(
      'insert into app_search (rowid, tokens) select value->>0, value->>1 from jsonb_each(cast(? as text))',
      [jsonArrayBytes(rows.map((row) => [row.rank, tokensOf(row)]))],
    )
    await sql.raw(
      `insert into app_search_apps (app_id, rank, name_words)
       select value->>0, value->>1, value->>2 from jsonb_each(cast(? as text))`,
      [jsonArrayBytes(rows.map(({ id, rank, nameWords }) => [id, rank, nameWords]))],
    )
  },

  remove: (ids) => removeApps(sql, ids),

  async firstMatches(query, tier, limit) {
    const expression = matchExpression(query, tier)
    if (expression === undefined) return []
    return select(sql)<Match>(
      `select rank, name_words as nameWords
       from (select rowid from app_search where app_search match ? order by rowid desc limit ?) as found
       cross join app_search_apps on app_id = found.rowid % ${idLimit}
       order by rank desc`,
      [expression, limit],
    )
  },

  async sortedMatches(query, order, limit) {
    const expression = matchExpression(query, 'prefix')
    if (expression === undefined) return []
    const matches = `select rowid % ${idLimit} from app_search where app_search match ?`
    const [counted] = await select(sql)<{ count: number }>(`select count(*) as count from (${matches} limit ?)`, [
      expression,
      maxSorted + 1,
    ])
    // With the plus, SQLite does not look up each of many matches but walks the order's index.
    const isMany = counted !== undefined && counted.count > maxSorted
    const found = await select(sql)<{ id: number }>(
      `select apps.id from apps where ${listed} and ${isMany ? '+' : ''}apps.id in (${matches})
       ${orderBy(order, 'desc')} limit ?`,
      [expression, limit],
    )
    return found.map(({ id }) => id)
  },

  async countTerms(terms, tier, categoryId, limit) {
    const expressions = terms.map((term) => matchExpression({ terms: [term], keys: [], categoryId }, tier))
    const counts = await select(sql)<{ count: number }>(
      `select (select count(*) from (select 1 from app_search where app_search match asked.value limit ?)) as count
       from json_each(?) as asked order by asked.key`,
      [limit, JSON.stringify(expressions)],
    )
    return counts.map(({ count }) => count)
  },
})

async function removeApps(sql: Knex, ids: number[]) {
  if (ids.length === 0) return
  const removed: { rank: number }[] = await sql.raw(
    'delete from app_search_apps where app_id in (select value from json_each(?)) returning rank',
    [JSON.stringify(ids)],
  )
  if (removed.length === 0) return
  await sql.raw('delete from app_search where rowid in (select value from json_each(?))', [
    JSON.stringify(removed.map(({ rank }) => rank)),
  ])
}
