import type { Knex } from 'knex'
import { isPrefixIn, type SearchQuery, type Tier } from '../../search/best-matches.ts'
import { isAscii, keyHash, type SearchDocument, searchRank, type Term } from '../../search/terms.ts'
import { required } from '../../util/helpers.ts'
import type { SearchIndex } from '../dialect.ts'
import { orderBy } from '../page-slice.ts'
import { listed } from '../tables.ts'
import { select as selectWith } from './client.ts'

/** More documents than the pending list of the GIN index (connections.ts) has room for go into the index at once. */
const manyDocuments = 20

/**
 * The first matches are looked for among the first apps in order if these are less than so many times the expected matches.
 * Otherwise all matches are sorted. Measured with a million apps.
 */
const maxAppsPerMatch = 3

/** Comparing so many apps with a term takes as long as reading the entries of a very common one in the index. */
const scannedApps = 10_000

/** A statement that returns values, for this condition. A `limit` follows. */
type Statement = (condition: string) => string
/** The same of so many of the first apps in order. */
type FirstApps = (count: number) => Promise<Statement>

/** What a row of `app_search` must have. `tokens` is SQL; the placeholder of the sequences follows. */
const conditionOf = ({ sequences }: Match, tokens: string) =>
  sequences === undefined
    ? `tokens @@ ${tokens}`
    : `tokens @@ ${tokens} and (sequence is null or not exists (
         select from json_array_elements(?) as alternatives where not exists (
           select from json_array_elements_text(alternatives.value) as part where position(part.value in sequence) > 0
         )
       ))`

const valuesOf = ({ tokens, sequences }: Match) => (sequences === undefined ? [tokens] : [tokens, sequences])

/**
 * A row per app in `app_search`, whose tokens are in a GIN index. GIN finds all matches, in no order. If many are expected, they
 * are looked for only among the first apps in order, twice as many as should do.
 */
export const searchIndex = (sql: Knex): SearchIndex => {
  const select = selectWith(sql)

  /** The first `limit` values: of the statement on the first apps if that should be quick and finds as many, else of the other. */
  async function findFirst(match: Match, limit: number, firstApps: FirstApps, all: Statement): Promise<number[]> {
    const values = valuesOf(match)
    const expected = await estimate(match)
    const count = Math.ceil((2 * limit * expected.all) / expected.matches)
    if (count < maxAppsPerMatch * expected.matches) {
      const statement = await firstApps(count)
      // Not `select`: a prepared statement would not be planned for these values.
      const { rows }: { rows: { value: number }[] } = await sql.raw(
        `${statement(conditionOf(match, '?::tsquery'))} limit ?`,
        [...values, limit],
      )
      if (rows.length === limit) return rows.map(({ value }) => value)
    }
    // In a subquery, so that the planner does not read all apps if it expects many matches.
    const found = await select<{ value: number }>(`${all(conditionOf(match, '(select ?::tsquery)'))} limit ?`, [
      ...values,
      limit,
    ])
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
      if (!match) return []
      return findFirst(
        match,
        limit,
        async (count) => {
          const [last] = await select<{ rank: number }>(
            'select rank from app_search order by rank desc limit 1 offset ?',
            [count],
          )
          return (condition) =>
            `select rank as value from app_search where rank >= ${last?.rank ?? 0} and ${condition} order by rank desc`
        },
        (condition) =>
          `select rank as value from (select rank from app_search where ${condition} offset 0) as matches
           order by rank desc`,
      )
    },

    async countMatches(query, tier, limit) {
      const match = matchOf(query, tier)
      if (!match) return 0
      const condition = conditionOf(match, '(select ?::tsquery)')
      const values = [...valuesOf(match), limit]
      const expected = await estimate(match)
      if (2 * limit * expected.all < scannedApps * expected.matches) {
        const scanned = `(select * from app_search limit ${scannedApps}) as scanned`
        const found = await select(`select from ${scanned} where ${condition} limit ?`, values)
        if (found.length === limit) return limit
      }
      // Materialized: to find a few of rare matches the planner would otherwise read all apps.
      const matches = `with matches as materialized (select from app_search where ${condition}) select from matches limit ?`
      return (await select(matches, values)).length
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
      return findFirst(
        match,
        limit,
        async (count) => (condition) =>
          `select apps.id as value from (select id from apps where ${listed} ${inOrder} limit ${count}) as first
           join app_search on app_id = first.id join apps on apps.id = first.id where ${condition} ${inOrder}`,
        (condition) =>
          `select apps.id as value from (select app_id from app_search where ${condition} offset 0) as matches
           join apps on apps.id = app_id ${inOrder}`,
      )
    },

    async knownWords(words) {
      const known = await select<{ word: string }>(
        // Materialized, as above.
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

/** The first character of each kind of token. Tokens of a name are also among those of the text. */
const marks = { text: 't', name: 'n', package: 'p', key: 'k', category: 'c', initial: 'i' }

const marked = (tokens: string, mark: string) => tokens.replace(/\S+/g, `${mark}$&`)

const keyToken = (key: string) => `${marks.key}${keyHash(key)}`
const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

/** A token for the first character of a marked token. It is separate, since GIN merges the lists of all tokens that begin with a prefix. */
const initialToken = (token: string) => token.replace(/^(..).*$/u, `${marks.initial}$1`)
const isInitial = (token: string) => [...token].length === 2

/** A row of app_search, with its tokens separated by spaces. */
function rowOf(document: SearchDocument & { id: number; categoryId: number }) {
  const { name, text, package: packageName } = document
  const words = [
    marked(name, marks.text),
    marked(name, marks.name),
    marked(text, marks.text),
    marked(packageName, marks.package),
  ].flatMap((tokens) => (tokens === '' ? [] : tokens.split(' ')))
  const keys = document.keys.map(keyToken)
  const tokens = new Set([...words, ...words.map(initialToken), ...keys, categoryToken(document.categoryId)])
  const sequence = words.join(' ')
  return {
    app_id: document.id,
    rank: searchRank(document),
    name_words: document.nameWords,
    tokens: [...tokens].join(' '),
    sequence: isAscii(sequence) ? null : ` ${sequence} `,
  }
}

/**
 * What an app must have. `tokens` is a `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html).
 * `sequences` is JSON: lists of parts of `app_search.sequence`. An app must have one part of each list, unless it is of ASCII
 * alone and has no sequence.
 */
type Match = Readonly<{ tokens: string; sequences: string | undefined }>

/** Undefined if nothing can match. */
function matchOf({ terms, keys, categoryId }: SearchQuery, tier: Tier): Match | undefined {
  const required =
    tier === 'key' ? [keys.map((key) => wholeToken(keyToken(key)))] : terms.map((term) => phrasesOf(term, tier))
  if (required.length === 0 || required.some((phrases) => phrases.length === 0)) return undefined
  if (categoryId !== undefined) required.push([wholeToken(categoryToken(categoryId))])
  const sequences = required.filter((phrases) => phrases.some(({ tokens }) => tokens.length > 1)).map(toSequences)
  return {
    tokens: required.map((phrases) => `(${phrases.map(tsquery).join(' | ')})`).join(' & '),
    sequences: sequences.length === 0 ? undefined : JSON.stringify(sequences),
  }
}

/** Tokens that must stand one after the other. */
type Phrase = { tokens: string[]; isPrefix: boolean }

const wholeToken = (token: string): Phrase => ({ tokens: [token], isPrefix: false })

/** A term's forms in the kinds of tokens that a tier looks at. */
function phrasesOf({ forms }: Term, tier: Exclude<Tier, 'key'>): Phrase[] {
  const kinds = { name: [marks.name], whole: [marks.text], prefix: [marks.text, marks.package] }[tier]
  return kinds.flatMap((mark) =>
    forms.map((form) => ({ tokens: form.tokens.map((token) => `${mark}${token}`), isPrefix: isPrefixIn(tier, form) })),
  )
}

const tsquery = ({ tokens, isPrefix }: Phrase) =>
  `(${tokens.map((token, index) => lexeme(token, isPrefix && index === tokens.length - 1)).join(' & ')})`

/** The `tsquery` of a whole word of the texts. */
const wordQuery = (word: string) => lexeme(`${marks.text}${word}`, false)

function lexeme(token: string, isPrefix: boolean): string {
  if (isPrefix && isInitial(token)) return lexeme(initialToken(token), false)
  return `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`
}

const toSequences = (phrases: Phrase[]) =>
  phrases.map(({ tokens, isPrefix }) => ` ${tokens.join(' ')}${isPrefix ? '' : ' '}`)
