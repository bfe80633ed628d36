import type { Knex } from 'knex'
import {
  categoryToken,
  idLimit,
  type Phrase,
  phrasesOf,
  type SearchQuery,
  searchRank,
  type Tier,
} from '../../search/terms.ts'
import { required } from '../../util/helpers.ts'
import type { SearchIndex } from '../dialect.ts'
import { orderBy } from '../page-slice.ts'
import { listed } from '../tables.ts'
import { jsonArrayBytes, select as selectWith } from './client.ts'

/** Up to so many matches are fetched and sorted. If there are more, a walk through the order's own index soon meets enough. */
const maxSorted = 20_000

/** Beginnings of up to so many characters have lists of their own: `prefix` in schema.ts. */
const maxListedPrefix = 3

/**
 * The terms share so many words. A longer beginning is replaced by the words that have it, unless there are more of them than its
 * share: of a beginning FTS5 merges all lists before it returns the first match.
 */
const maxSpelledOut = 1000

/**
 * The index in FTS5 (https://sqlite.org/fts5.html). The rowid of an app is its rank, and FTS5 reads rowids in descending order,
 * so finding the first matches of a common word stops early. `app_search_apps` has the rank of each app. `app_search_words` has
 * the words that an app has or had.
 */
export const searchIndex = (sql: Knex): SearchIndex => {
  const select = selectWith(sql)

  async function remove(ids: number[]) {
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

  /** An expression of FTS5 (https://sqlite.org/fts5.html#full_text_query_syntax). An empty phrase matches nothing. */
  async function matchExpression(query: SearchQuery, tier: Tier): Promise<string> {
    const maxWords = Math.floor(maxSpelledOut / Math.max(1, query.terms.length))
    const lists = []
    for (const phrases of phrasesOf(query, tier)) {
      const alternatives = []
      for (const phrase of phrases) alternatives.push(...(await spellOut(phrase, tier, maxWords)))
      lists.push(`(${alternatives.join(' OR ') || '""'})`)
    }
    return lists.join(' AND ') || '""'
  }

  /** The phrase, or the words that begin with it. */
  async function spellOut({ tokens, isPrefix }: Phrase, tier: Tier, maxWords: number): Promise<string[]> {
    const text = tokens.join(' ')
    if (!isPrefix) return [`"${text}"`]
    // Lists of names are short enough to be merged.
    if (tier !== 'name' && [...text].length > maxListedPrefix) {
      // As one text, which the driver reads sooner than many rows.
      const [found] = await select<{ words: string }>(
        `select json_group_array(word) as words
         from (select word from app_search_words where word >= ?1 and word < ?1 || char(0x10FFFF) limit ?2)`,
        [text, maxWords + 1],
      )
      const words: string[] = JSON.parse(required(found, 'the words').words)
      if (words.length <= maxWords) return words.map((word) => `"${word}"`)
    }
    return [`"${text}" *`]
  }

  return {
    async index(documents) {
      if (documents.length === 0) return
      await remove(documents.map(({ id }) => id))
      // FTS5 writes ascending rowids at a quarter of the cost of others.
      const rows = documents
        .map((document) => ({ ...document, rank: searchRank(document) }))
        .toSorted((a, b) => a.rank - b.rank)
      const words = new Set(rows.flatMap((row) => row.words))
      await sql.raw(
        'insert into app_search_words (word) select value from json_each(?) where true order by value on conflict do nothing',
        [JSON.stringify([...words])],
      )
      await sql.raw(
        'insert into app_search (rowid, tokens) select value->>0, value->>1 from jsonb_each(cast(? as text))',
        [jsonArrayBytes(rows.map(({ rank, tokens, categoryId }) => [rank, `${tokens} ${categoryToken(categoryId)}`]))],
      )
      await sql.raw(
        `insert into app_search_apps (app_id, rank, name_words)
         select value->>0, value->>1, value->>2 from jsonb_each(cast(? as text)) order by value->>0`,
        [jsonArrayBytes(rows.map(({ id, rank, nameWords }) => [id, rank, nameWords]))],
      )
    },

    remove,

    async firstMatches(query, tier, limit) {
      // As one text: the driver takes longer for a thousand rows than SQLite takes to find them.
      const [found] = await select<{ ranks: string }>(
        `select json_group_array(rowid) as ranks
         from (select rowid from app_search where app_search match ? order by rowid desc limit ?)`,
        [await matchExpression(query, tier), limit],
      )
      return JSON.parse(required(found, 'the matches').ranks)
    },

    async nameWords(ranks) {
      const [found] = await select<{ names: string }>(
        `select json_group_array(json_object('rank', rank, 'nameWords', name_words)) as names
         from json_each(?) as asked join app_search_apps on app_id = asked.value % ${idLimit}`,
        [JSON.stringify(ranks)],
      )
      return JSON.parse(required(found, 'the names').names)
    },

    async sortedMatches(query, order, limit) {
      const expression = await matchExpression(query, 'prefix')
      const matches = 'select rowid as rank from app_search where app_search match ?'
      const [counted] = await select<{ count: number }>(`select count(*) as count from (${matches} limit ?)`, [
        expression,
        maxSorted + 1,
      ])
      const from =
        required(counted, 'the count').count > maxSorted
          ? `apps cross join app_search_apps on app_id = apps.id where ${listed} and +rank in (${matches})`
          : `(${matches}) as found cross join apps on apps.id = found.rank % ${idLimit}`
      const found = await select<{ id: number }>(`select apps.id from ${from} ${orderBy(order, 'desc')} limit ?`, [
        expression,
        limit,
      ])
      return found.map(({ id }) => id)
    },

    async knownWords(words) {
      const known = await select<{ word: string }>(
        // Words stay in the table when their apps go.
        `select value as word from json_each(?) where exists (select 1 from app_search_words where word = value)
           and exists (select 1 from app_search where app_search match '"' || value || '"')`,
        [JSON.stringify(words)],
      )
      return known.map(({ word }) => word)
    },
  }
}
