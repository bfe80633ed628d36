import type { Knex } from 'knex'
import { isPrefixIn, type SearchQuery, type Tier } from '../../search/best-matches.ts'
import { idLimit, keyHash, type SearchDocument, searchRank, type Term } from '../../search/terms.ts'
import { required } from '../../util/helpers.ts'
import type { SearchIndex } from '../dialect.ts'
import { orderBy } from '../page-slice.ts'
import { listed } from '../tables.ts'
import { jsonArrayBytes, select } from './client.ts'

/** Up to so many matches are fetched and sorted. If there are more, a walk through the order's own index soon meets enough. */
const maxSorted = 20_000

/** Beginnings of up to so many characters, a mark included, have lists of their own: `prefix` in schema.ts. */
const maxListedPrefix = 3

/**
 * A longer beginning is replaced by the words that have it, unless there are more of them: of a beginning FTS5 merges all lists
 * before it returns the first match.
 */
const maxSpelledOut = 50

/**
 * The index in FTS5 (https://sqlite.org/fts5.html). The rowid of an app is its rank, and FTS5 reads rowids in descending order,
 * so finding the first matches of a common word stops early. `app_search_apps` has the rank of each app. `app_search_words` has
 * the words that an app has or had.
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
    const words = new Set(rows.flatMap(wordsOf))
    await sql.raw(
      `insert into app_search_words (word) select value from json_each(cast(? as text)) where true order by value
       on conflict do nothing`,
      [jsonArrayBytes([...words])],
    )
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
    const expression = await matchExpression(sql, query, tier)
    if (expression === undefined) return []
    // As one text: the driver takes longer for a thousand rows than SQLite takes to find them.
    const [found] = await select(sql)<{ ranks: string }>(
      `select json_group_array(rowid) as ranks
       from (select rowid from app_search where app_search match ? order by rowid desc limit ?)`,
      [expression, limit],
    )
    return JSON.parse(required(found, 'the matches').ranks)
  },

  async countMatches(query, tier, limit) {
    const expression = await matchExpression(sql, query, tier)
    return expression === undefined ? 0 : countUpTo(sql, expression, limit)
  },

  async nameWords(ranks) {
    const [found] = await select(sql)<{ names: string }>(
      `select json_group_array(name_words) as names
       from json_each(?) as asked left join app_search_apps on app_id = asked.value % ${idLimit}`,
      [JSON.stringify(ranks)],
    )
    return JSON.parse(required(found, 'the names').names)
  },

  async sortedMatches(query, order, limit) {
    const expression = await matchExpression(sql, query, 'prefix')
    if (expression === undefined) return []
    const matches = 'select rowid as rank from app_search where app_search match ?'
    const from =
      (await countUpTo(sql, expression, maxSorted + 1)) > maxSorted
        ? `apps cross join app_search_apps on app_id = apps.id where ${listed} and +rank in (${matches})`
        : `(${matches}) as found cross join apps on apps.id = found.rank % ${idLimit}`
    const found = await select(sql)<{ id: number }>(`select apps.id from ${from} ${orderBy(order, 'desc')} limit ?`, [
      expression,
      limit,
    ])
    return found.map(({ id }) => id)
  },

  async knownWords(words) {
    const known = await select(sql)<{ word: string }>(
      `select value as word from json_each(?)
       where exists (select 1 from app_search_words where word in (value, '${marks.name}' || value))
         and exists (select 1 from app_search where app_search match '"' || value || '" OR "${marks.name}' || value || '"')`,
      [JSON.stringify(words)],
    )
    return known.map(({ word }) => word)
  },
})

async function countUpTo(sql: Knex, expression: string, limit: number): Promise<number> {
  const [counted] = await select(sql)<{ count: number }>(
    'select count(*) as count from (select 1 from app_search where app_search match ? limit ?)',
    [expression, limit],
  )
  return required(counted, 'the count').count
}

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

/** The first character of tokens that are not of a text, so that each kind has posting lists that are as short as can be. */
const marks = { text: '', name: '~', package: '@', key: '=', category: '/' }

const marked = (tokens: string, mark: string) => (mark === '' ? tokens : tokens.replace(/\S+/g, `${mark}$&`))

const keyToken = (key: string) => `${marks.key}${keyHash(key)}`
const categoryToken = (categoryId: number) => `${marks.category}${categoryId}`

const wordsOf = (document: SearchDocument) =>
  [document.text, marked(document.name, marks.name), marked(document.package, marks.package)].flatMap((tokens) =>
    tokens === '' ? [] : tokens.split(' '),
  )

const tokensOf = (document: SearchDocument & { categoryId: number }) =>
  [...wordsOf(document), ...document.keys.map(keyToken), categoryToken(document.categoryId)].join(' ')

/** Tokens that stand one after the other. Only a single one can be a prefix. */
type Phrase = Readonly<{ tokens: string; isPrefix: boolean }>

const wholeToken = (tokens: string): Phrase => ({ tokens, isPrefix: false })

/** What FTS5 is asked for (https://sqlite.org/fts5.html#full_text_query_syntax); undefined if nothing can match. */
async function matchExpression(sql: Knex, { terms, keys, categoryId }: SearchQuery, tier: Tier) {
  const conditions =
    tier === 'key' ? [keys.map((key) => wholeToken(keyToken(key)))] : await termPhrases(sql, terms, tier)
  if (conditions.length === 0 || conditions.some((phrases) => phrases.length === 0)) return undefined
  if (categoryId !== undefined) conditions.push([wholeToken(categoryToken(categoryId))])
  return conditions
    .map((phrases) => `(${phrases.map(({ tokens, isPrefix }) => `"${tokens}"${isPrefix ? ' *' : ''}`).join(' OR ')})`)
    .join(' AND ')
}

/** What each term may be. Of names the lists are short enough to be merged. */
async function termPhrases(sql: Knex, terms: readonly Term[], tier: Exclude<Tier, 'key'>): Promise<Phrase[][]> {
  const phrases = terms.map((term) => phrasesOf(term, tier))
  const slow = phrases
    .flat()
    .filter(
      ({ tokens, isPrefix }) => isPrefix && !tokens.startsWith(marks.name) && [...tokens].length > maxListedPrefix,
    )
  const words = await wordsByPrefix(
    sql,
    slow.map(({ tokens }) => tokens),
  )
  return phrases.map((ofTerm) => ofTerm.flatMap((phrase) => words.get(phrase.tokens)?.map(wholeToken) ?? [phrase]))
}

/** The words with each of the prefixes that has not too many. */
async function wordsByPrefix(sql: Knex, prefixes: string[]): Promise<Map<string, string[]>> {
  if (prefixes.length === 0) return new Map()
  const rows = await select(sql)<{ prefix: string; words: string }>(
    `select value as prefix, (
       select json_group_array(word) from (
         select word from app_search_words where word >= value and word < value || char(0x10FFFF) limit ${maxSpelledOut + 1}
       )
     ) as words from json_each(?)`,
    [JSON.stringify(prefixes)],
  )
  const found = rows.map(({ prefix, words }): [string, string[]] => [prefix, JSON.parse(words)])
  return new Map(found.filter(([, words]) => words.length <= maxSpelledOut))
}

/** A term's forms in the kinds of tokens that a tier looks at. */
function phrasesOf({ forms }: Term, tier: Exclude<Tier, 'key'>): Phrase[] {
  const kinds = {
    name: [marks.name],
    whole: [marks.text, marks.name],
    prefix: [marks.text, marks.name, marks.package],
  }[tier]
  // A form that begins with the prefix of another adds no match.
  const needed = forms.filter(
    ({ text }) => !forms.some((other) => isPrefixIn(tier, other) && other.text !== text && text.startsWith(other.text)),
  )
  return kinds.flatMap((mark) =>
    needed.map((form) => ({ tokens: marked(form.tokens.join(' '), mark), isPrefix: isPrefixIn(tier, form) })),
  )
}
