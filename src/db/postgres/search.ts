import type { Knex } from 'knex'
import type { NameMatch, SortOrder } from '../../search/best-matches.ts'
import {
  categoryToken,
  idLimit,
  isAscii,
  type Phrase,
  type SearchDocument,
  searchRank,
} from '../../search/terms.ts'
import type { SearchIndex } from '../engine.ts'
import { listed, orderKeys } from '../listed-apps.ts'
import { select as selectWith } from './client.ts'

/**
 * More documents than the pending list of the GIN index (client.ts) has room for go into the index
 * at once.
 */
const manyDocuments = 20

/**
 * Matches are first looked for among so many apps. If many of these match, more of the first apps
 * are searched.
 */
const sampleSize = 50
const manyMatches = 3

/** A row per app in `app_search`, whose tokens are in a GIN index. */
export const searchIndex = (sql: Knex): SearchIndex => {
  const select = selectWith(sql)

  /**
   * GIN finds all matches, in no order, so frequent ones are looked for only among the first apps.
   */
  async function findFirst(
    phrases: Phrase[][],
    limit: number,
    order?: SortOrder,
  ): Promise<NameMatch[]> {
    const tokens = phrases.map((list) => `(${list.map(tsquery).join(' | ')})`).join(' & ')
    // A term of several tokens has one spelling.
    const runs = phrases.flatMap(([phrase]) =>
      phrase && phrase.tokens.length > 1 ? ` ${phrase.tokens.join(' ')} ` : [],
    )
    const conditionOf = (query: string) =>
      `tokens @@ ${query}${' and position(? in sequence) > 0'.repeat(runs.length)}`
    // In a subquery, so that the planner does not read all apps if it expects many matches.
    const condition = conditionOf('(select ?::tsquery)')
    const inOrder = `order by ${order ? orderKeys(order, 'desc') : 'rank desc'}`
    const values = [tokens, ...runs, limit]
    const statement = (from: string) =>
      `select app_id as id, rank / ${idLimit} as popularity, name_words as "nameWords" from ${from} ${inOrder} limit ?`

    async function findAmongFirst(count: number): Promise<NameMatch[]> {
      // Not `select`: PostgreSQL would not plan a prepared statement for these values, and each
      // count would be prepared.
      return (await sql.raw(statement(await amongFirst(count)), values)).rows
    }

    async function amongFirst(count: number): Promise<string> {
      if (order) {
        const first = `(select * from apps where ${listed} ${inOrder} limit ${count}) as apps`
        const matches = `(select * from app_search where app_id = apps.id and ${condition} offset 0) as matches`
        return `${first} cross join lateral ${matches}`
      }
      type Row = { rank: number }
      const [last] = await select<Row>(
        'select rank from app_search order by rank desc limit 1 offset ?',
        [count],
      )
      return `app_search where rank >= ${last?.rank ?? 0} and ${conditionOf('?::tsquery')}`
    }

    const sample = await findAmongFirst(sampleSize)
    if (sample.length >= limit) return sample
    if (sample.length >= manyMatches) {
      const found = await findAmongFirst(Math.ceil((2 * limit * sampleSize) / sample.length))
      if (found.length >= limit) return found
    }
    const matches = `(select * from app_search where ${condition} offset 0) as matches`
    return select<NameMatch>(
      statement(order ? `${matches} join apps on apps.id = app_id` : matches),
      values,
    )
  }

  return {
    async index(documents) {
      if (documents.length === 0) return
      const rows = documents.toSorted((a, b) => a.id - b.id).map(rowOf)
      const areMany = documents.length > manyDocuments
      if (areMany) await sql.raw(`set local gin_pending_list_limit = '64MB'`)
      await sql.raw(
        `insert into app_search (app_id, rank, name_words, tokens, sequence)
         select app_id, rank, name_words, array_to_tsvector(string_to_array(tokens, ' ')), sequence
         from json_to_recordset(?::json)
           as document (app_id bigint, rank bigint, name_words text, tokens text, sequence text)
         on conflict (app_id) do update set
           rank = excluded.rank, name_words = excluded.name_words, tokens = excluded.tokens, sequence = excluded.sequence,
           spaces = excluded.spaces`,
        [JSON.stringify(rows)],
      )
      if (areMany) await sql.raw(`select gin_clean_pending_list(to_regclass('app_search_tokens'))`)
    },

    async remove(ids) {
      if (ids.length > 0)
        await sql.raw('delete from app_search where app_id = any(?::bigint[])', [ids])
    },

    firstMatches: async (...search) => (await findFirst(...search)).map(({ id }) => id),
    firstNameMatches: findFirst,

    async knownWords(words) {
      const known = await select<{ word: string }>(
        // Materialized: to find a few of rare matches the planner would otherwise read all apps.
        `select word from json_to_recordset(?) as asked (word text, tokens tsquery) where exists (
           with matches as materialized (select from app_search where app_search.tokens @@ asked.tokens)
           select from matches
         )`,
        [JSON.stringify(words.map((word) => ({ word, tokens: lexeme(word, false) })))],
      )
      return known.map(({ word }) => word)
    },
  }
}

/** A row of app_search, with its tokens separated by spaces. */
function rowOf(document: SearchDocument & { id: number; categoryId: number }) {
  const beginnings = document.tokens.flatMap(shortBeginnings).map((beginning) => `^${beginning}`)
  return {
    app_id: document.id,
    rank: searchRank(document),
    name_words: document.nameWords,
    tokens: [
      ...new Set([...document.tokens, ...beginnings, categoryToken(document.categoryId)]),
    ].join(' '),
    sequence: document.tokens.every(isAscii) ? null : ` ${document.tokens.join(' ')} `,
  }
}

/**
 * The first one and two characters of a word, with its mark. They are tokens themselves, since GIN
 * merges the lists of all tokens that begin with a prefix.
 */
const shortBeginnings = (token: string) =>
  [/^~?[^=/]/u, /^~?[^=/]./u].flatMap((beginning) => token.match(beginning)?.[0] ?? [])
const isShort = (token: string) => /^~?..?$/u.test(token)

/**
 * A `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html). An empty one
 * matches nothing.
 */
const tsquery = ({ tokens, isPrefix }: Phrase) =>
  `(${tokens.map((token) => lexeme(token, isPrefix)).join(' & ')})`

function lexeme(token: string, isPrefix: boolean): string {
  if (isPrefix && isShort(token)) return lexeme(`^${token}`, false)
  return `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`
}
