import type { Knex } from 'knex'
import type { FirstMatches, SortOrder } from '../../search/best-matches.ts'
import { isAscii } from '../../search/fold.ts'
import { type IndexedApp, indexedTokens, type Phrase, searchRank } from '../../search/terms.ts'
import type { NameIndex, SearchIndex } from '../engine.ts'
import { listedCondition, orderKeys, sortIds } from '../listed-apps.ts'
import { rowsOf } from './client.ts'

/**
 * More documents than this are more than the pending list of the GIN index (client.ts) has room for.
 * The list then gets more room, and is merged into the index once.
 */
const manyDocuments = 20

/**
 * The number of apps, from the first, that are searched before all others. If `manyMatches` of them
 * match, as many more apps are searched as are expected to have enough matches.
 */
const sampleSize = 50
const manyMatches = 3

/** A row per app in `app_search`, whose tokens are in a GIN index. */
export const searchIndex = (sql: Knex): SearchIndex => {
  async function rankAt(position: number): Promise<number> {
    const [found] = await rowsOf<{ rank: number }>(
      sql,
      'select rank from app_search order by rank desc limit 1 offset ?',
      [position - 1],
    )
    return found?.rank ?? 0
  }

  let sampleRank: number | undefined
  /** Read once: a search looks for dozens of tokens, and a rank nearby would do, too. */
  async function endOfSample(): Promise<number> {
    sampleRank ??= await rankAt(sampleSize)
    return sampleRank
  }

  /**
   * GIN finds all matches, in no order, so frequent ones are looked for only among the first apps.
   */
  async function findFirst<Row>(
    columns: string,
    phrases: Phrase[][],
    limit: number,
    order?: SortOrder,
  ): Promise<Row[]> {
    const tokens = tsquery(phrases, lexeme)
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
    const statement = (from: string) => `select ${columns} from ${from} ${inOrder} limit ?`

    async function findAmongFirst(count: number): Promise<Row[]> {
      // Not `rows`: PostgreSQL would not plan a prepared statement for these values, and each
      // count would be prepared.
      return (await sql.raw(statement(await amongFirst(count)), values)).rows
    }

    async function amongFirst(count: number): Promise<string> {
      if (order) {
        const first = `(select * from apps where ${listedCondition} ${inOrder} limit ${count}) as apps`
        const matches = `(select * from app_search where app_id = apps.id and ${condition} offset 0) as matches`
        return `${first} cross join lateral ${matches}`
      }
      const last = await (count === sampleSize ? endOfSample() : rankAt(count))
      return `app_search where rank >= ${last} and ${conditionOf('?::tsquery')}`
    }

    const sample = await findAmongFirst(sampleSize)
    if (sample.length >= limit) return sample
    if (sample.length >= manyMatches) {
      const found = await findAmongFirst(Math.ceil((2 * limit * sampleSize) / sample.length))
      if (found.length >= limit) return found
    }
    const matches = `(select * from app_search where ${condition} offset 0) as matches`
    return rowsOf<Row>(
      sql,
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

    /** One after the other, since each may take several statements. */
    async firstMatches({ names = [], ranks = [] }, limit) {
      const found: FirstMatches = { names: [], ranks: [] }
      for (const phrases of names)
        found.names.push(await findFirst('rank, name_words as "nameWords"', phrases, limit))
      for (const phrases of ranks) {
        const matches = await findFirst<{ rank: number }>('rank', phrases, limit)
        found.ranks.push(matches.map(({ rank }) => rank))
      }
      return found
    },
    async firstIds(...search) {
      const found = await findFirst<{ id: number }>('app_id as id', ...search)
      return found.map(({ id }) => id)
    },

    inOrder: (ids, order) => sortIds(sql, ids, order),

    rankAt,

    async knownTokens(tokens) {
      const known = await rowsOf<{ token: string }>(
        sql,
        // Materialized: to find a few of rare matches the planner would otherwise read all apps.
        `select token from json_to_recordset(?) as asked (token text, query tsquery) where exists (
           with matches as materialized (select from app_search where app_search.tokens @@ asked.query)
           select from matches
         )`,
        [asked(tokens)],
      )
      return known.map(({ token }) => token)
    },
  }
}

/** Tokens with their queries, as a JSON array. */
const asked = (tokens: string[]) =>
  JSON.stringify(tokens.map((token) => ({ token, query: lexeme(token, false) })))

/** A row of app_search, with its tokens separated by spaces. */
function rowOf(app: IndexedApp) {
  const tokens = indexedTokens(app).split(' ')
  const beginnings = tokens.flatMap(shortBeginnings).map((beginning) => `^${beginning}`)
  return {
    app_id: app.id,
    rank: searchRank(app),
    name_words: app.nameWords,
    tokens: [...new Set([...tokens, ...beginnings])].join(' '),
    sequence: isAscii(app.tokens) ? null : ` ${app.tokens} `,
  }
}

/**
 * The first one and two characters of a word, with its mark. They are tokens themselves, since GIN
 * merges the lists of all tokens that begin with a prefix.
 */
const shortBeginnings = (token: string) =>
  [/^~?[^~=/@+%_]/u, /^~?[^~=/@+%_]./u].flatMap((beginning) => token.match(beginning)?.[0] ?? [])
const isShort = (token: string) => /^~?..?$/u.test(token)

/**
 * A `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html). An empty one
 * matches nothing.
 */
function tsquery(phrases: Phrase[][], toLexeme: typeof lexemeOf): string {
  const phraseQuery = ({ tokens, isPrefix }: Phrase) =>
    `(${tokens.map((token) => toLexeme(token, isPrefix)).join(' & ')})`
  return phrases.map((list) => `(${list.map(phraseQuery).join(' | ')})`).join(' & ')
}

const lexeme = (token: string, isPrefix: boolean): string =>
  isPrefix && isShort(token) ? lexemeOf(`^${token}`, false) : lexemeOf(token, isPrefix)

/** A token in a `tsquery`. */
const lexemeOf = (token: string, isPrefix: boolean): string =>
  `'${token.replace(/['\\]/g, '$&$&')}'${isPrefix ? ':*' : ''}`

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
    const found = await rowsOf<{ id: number }>(
      sql,
      // Materialized: the planner would otherwise read all apps if it expects many matches.
      `with matches as materialized (select id from app_names where tokens @@ ?::tsquery)
       select id from matches order by id desc limit ?`,
      [tsquery(phrases, lexemeOf), limit],
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
      [asked(tokens), limit],
    )
    return found.map(({ token, ids }) => ({ token, ids: ids.map(Number) }))
  },
})
