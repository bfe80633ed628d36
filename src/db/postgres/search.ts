import type { Knex } from 'knex'
import { required } from '../../util/helpers.ts'
import type { SearchIndex } from '../dialect.ts'
import { orderBy } from '../page-slice.ts'
import { listed } from '../tables.ts'
import { select as selectWith } from './client.ts'
import { type Match, matchOf, rowOf, wordQuery } from './tokens.ts'

/** More documents than the pending list of the GIN index (connections.ts) has room for go into the index at once. */
const manyDocuments = 20

/** A statement that returns values, for this condition. A `limit` follows. */
type Statement = (condition: string) => string

/** How to read the first matches in an order. */
type Reading = Readonly<{
  /** Those among the first apps in this order. Their number is the first placeholder. */
  walk: Statement
  /** All of them. */
  sort: Statement
  /** How many matches `sort` reads in the time in which `walk` reads one app. Measured with a million apps. */
  walkCost: number
}>

const byRank: Reading = {
  walk: (condition) =>
    `select rank as value from (select * from app_search order by rank desc limit ?) as walked where ${condition}`,
  // Without the offset the planner may walk, too, and without a limit.
  sort: (condition) =>
    `select rank as value from (select rank from app_search where ${condition} offset 0) as matches order by rank desc`,
  walkCost: 12,
}

/** What a row of `app_search` must have. `tokens` is SQL; the placeholder of the sequences follows. */
const conditionOf = ({ sequences }: Match, tokens: string) =>
  sequences === undefined
    ? `tokens @@ ${tokens}`
    : `tokens @@ ${tokens} and (sequence is null or not exists (
         select from json_array_elements(?) as alternatives where not exists (
           select from json_array_elements_text(alternatives.value) as part where position(part.value in sequence) > 0
         )
       ))`

/**
 * A row per app in `app_search`, whose tokens are in a GIN index. GIN finds all matches, in no order. If there are many, the
 * first ones are found sooner by a walk: apps are read in order until enough of them match.
 */
export const searchIndex = (sql: Knex): SearchIndex => {
  const select = selectWith(sql)

  /** The first `limit` values of a reading among the matches. */
  async function findFirst(match: Match, limit: number, { walk, sort, walkCost }: Reading): Promise<number[]> {
    const values = match.sequences === undefined ? [match.tokens] : [match.tokens, match.sequences]
    const { matches, all } = await estimate(match)
    const walked = Math.ceil((limit * all) / matches)
    if (walked * walkCost < matches) {
      const statement = `${walk(conditionOf(match, '?::tsquery'))} limit ?`
      const found = await select<{ value: number }>(statement, [2 * walked, ...values, limit])
      if (found.length === limit) return found.map(({ value }) => value)
    }
    // In a subquery, so that the planner does not read all apps if it expects many matches.
    const statement = `${sort(conditionOf(match, '(select ?::tsquery)'))} limit ?`
    const found = await select<{ value: number }>(statement, [...values, limit])
    return found.map(({ value }) => value)
  }

  /** How many apps the planner expects to match, and to be there (https://wiki.postgresql.org/wiki/Count_estimate). */
  async function estimate({ tokens }: Match): Promise<{ matches: number; all: number }> {
    type Scan = { 'Plan Rows': number }
    const [explained] = await select<{ 'QUERY PLAN': [{ Plan: { Plans: [Scan, Scan] } }] }>(
      'explain (format json) select from app_search where tokens @@ ?::tsquery union all select from app_search',
      [tokens],
    )
    const [matches, all] = required(explained, 'the plan')['QUERY PLAN'][0].Plan.Plans
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

    async firstMatches(query, tier, limit) {
      const match = matchOf(query, tier)
      return match ? findFirst(match, limit, byRank) : []
    },

    async nameWords(ranks) {
      const found = await select<{ name_words: string }>(
        `select name_words from json_array_elements_text(?) with ordinality as asked (rank, place)
         join app_search on app_search.rank = cast(asked.rank as bigint) order by place`,
        [JSON.stringify(ranks)],
      )
      return found.map(({ name_words }) => name_words)
    },

    async sortedMatches(query, order, limit) {
      const match = matchOf(query, 'prefix')
      if (!match) return []
      const inOrder = orderBy(order, 'desc')
      return findFirst(match, limit, {
        walk: (condition) =>
          `select id as value from (select apps.id from apps where ${listed} ${inOrder} limit ?) as walked
           where (select ${condition} from app_search where app_id = walked.id)`,
        sort: (condition) =>
          `select apps.id as value from (select app_id from app_search where ${condition} offset 0) as matches
           join apps on apps.id = app_id ${inOrder}`,
        walkCost: 3,
      })
    },

    async knownWords(words) {
      const known = await select<{ word: string }>(
        // Materialized: to find one match the planner would otherwise read all apps.
        `select word from json_to_recordset(?) as asked (word text, tokens tsquery) where exists (
           with matches as materialized (select from app_search where app_search.tokens @@ asked.tokens)
           select from matches
         )`,
        [JSON.stringify(words.map((word) => ({ word, tokens: wordQuery(word) })))],
      )
      return known.map(({ word }) => word)
    },
  }
}
