import type { Knex } from 'knex'
import {
  categoryToken,
  isAscii,
  type Phrase,
  phrasesOf,
  type SearchDocument,
  type SearchQuery,
  searchRank,
  type Tier,
} from '../../search/terms.ts'
import { required } from '../../util/helpers.ts'
import type { SearchIndex } from '../dialect.ts'
import { orderBy } from '../page-slice.ts'
import { listed } from '../tables.ts'
import { select as selectWith } from './client.ts'

/** More documents than the pending list of the GIN index (connections.ts) has room for go into the index at once. */
const manyDocuments = 20

/**
 * The first matches are looked for among the first apps in order if these are less than so many times the expected matches.
 * Otherwise all matches are sorted. Measured with 200,000 apps.
 */
const maxAppsPerMatch = 2

/**
 * A row per app in `app_search`, whose tokens are in a GIN index. GIN finds all matches, in no order. If many are expected, they
 * are looked for only among the first apps in order, twice as many as should do.
 */
export const searchIndex = (sql: Knex): SearchIndex => {
  const select = selectWith(sql)

  /**
   * The first `limit` values of a statement on all matches, or of one on those among the first `count` apps if that should be
   * quick and finds as many.
   */
  async function findFirst(
    { tokens, sequences }: Match,
    limit: number,
    amongAll: (condition: string) => string,
    amongFirst: (condition: string, count: number) => Promise<string>,
  ): Promise<number[]> {
    const conditionOf = (query: string) =>
      [`tokens @@ ${query}`, ...sequences.map(() => 'position(? in sequence) > 0')].join(' and ')
    const values = [tokens, ...sequences, limit]
    const expected = await estimate(tokens)
    const count = Math.ceil((2 * limit * expected.all) / expected.matches)
    if (count < maxAppsPerMatch * expected.matches) {
      const statement = await amongFirst(conditionOf('?::tsquery'), count)
      // Not `select`: a prepared statement would not be planned for these values.
      const { rows }: { rows: { value: number }[] } = await sql.raw(`${statement} limit ?`, values)
      if (rows.length === limit) return rows.map(({ value }) => value)
    }
    // In a subquery, so that the planner does not read all apps if it expects many matches.
    const found = await select<{ value: number }>(`${amongAll(conditionOf('(select ?::tsquery)'))} limit ?`, values)
    return found.map(({ value }) => value)
  }

  /** How many apps the planner expects to match, and to be there (https://wiki.postgresql.org/wiki/Count_estimate). */
  async function estimate(tokens: string): Promise<{ matches: number; all: number }> {
    type Scan = { 'Plan Rows': number }
    const [explained] = await select<{ plan: [{ Plan: { Plans: [Scan, Scan] } }] }>(
      'select app_search_plan(?::tsquery) as plan',
      [tokens],
    )
    const [matches, all] = required(explained, 'the plan').plan[0].Plan.Plans
    return { matches: matches['Plan Rows'], all: all['Plan Rows'] }
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
      if (ids.length > 0) await sql.raw('delete from app_search where app_id = any(?::bigint[])', [ids])
    },

    firstMatches: (query, tier, limit) =>
      findFirst(
        matchOf(query, tier),
        limit,
        (condition) =>
          `select rank as value from (select rank from app_search where ${condition} offset 0) as matches
           order by rank desc`,
        async (condition, count) => {
          const [last] = await select<{ rank: number }>(
            'select rank from app_search order by rank desc limit 1 offset ?',
            [count],
          )
          return `select rank as value from app_search where rank >= ${last?.rank ?? 0} and ${condition} order by rank desc`
        },
      ),

    nameWords: (ranks) =>
      select('select rank, name_words as "nameWords" from app_search where rank = any(cast(? as bigint[]))', [
        `{${ranks}}`,
      ]),

    async sortedMatches(query, order, limit) {
      const inOrder = orderBy(order, 'desc')
      return findFirst(
        matchOf(query, 'prefix'),
        limit,
        (condition) =>
          `select apps.id as value from (select app_id from app_search where ${condition} offset 0) as matches
           join apps on apps.id = app_id ${inOrder}`,
        async (condition, count) =>
          // App by app until there are enough. For a join, the planner underrates what reading all of `app_search` costs.
          `select id as value from (select * from apps where ${listed} ${inOrder} limit ${count}) as apps
           where (select ${condition} from app_search where app_id = apps.id) ${inOrder}`,
      )
    },

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
  const tokens = document.tokens.split(' ')
  const beginnings = tokens.flatMap(shortBeginnings).map((beginning) => `^${beginning}`)
  return {
    app_id: document.id,
    rank: searchRank(document),
    name_words: document.nameWords,
    tokens: [...new Set([...tokens, ...beginnings, categoryToken(document.categoryId)])].join(' '),
    sequence: isAscii(document.tokens) ? null : ` ${document.tokens} `,
  }
}

/**
 * The first one and two characters of a word, with its mark. They are tokens themselves, since GIN merges the lists of all tokens
 * that begin with a prefix.
 */
const shortBeginnings = (token: string) =>
  [/^~?[^=/]/u, /^~?[^=/]./u].flatMap((beginning) => token.match(beginning)?.[0] ?? [])
const isShort = (token: string) => /^~?..?$/u.test(token)

/**
 * What an app must have. `tokens` is a `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html); an empty one
 * matches nothing. `sequences` are parts of `app_search.sequence`, which apps of ASCII alone do not have.
 */
type Match = Readonly<{ tokens: string; sequences: string[] }>

function matchOf(query: SearchQuery, tier: Tier): Match {
  const lists = phrasesOf(query, tier)
  return {
    tokens: lists.map((phrases) => `(${phrases.map(tsquery).join(' | ')})`).join(' & '),
    // A term of several tokens has one spelling.
    sequences: lists.flatMap(([phrase]) => (phrase && phrase.tokens.length > 1 ? ` ${phrase.tokens.join(' ')} ` : [])),
  }
}

const tsquery = ({ tokens, isPrefix }: Phrase) => `(${tokens.map((token) => lexeme(token, isPrefix)).join(' & ')})`

function lexeme(token: string, isPrefix: boolean): string {
  if (isPrefix && isShort(token)) return lexeme(`^${token}`, false)
  return `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`
}
