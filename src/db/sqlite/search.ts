import type { Knex } from 'knex'
import { idLimit, indexedTokens, isWordToken, type Phrase, searchRank } from '../../search/terms.ts'
import { required } from '../../util/helpers.ts'
import type { NameIndex, SearchIndex } from '../engine.ts'
import { listedCondition, orderKeys, sortIds } from '../listed-apps.ts'
import { jsonArrayBytes, rowsOf } from './client.ts'

/** Matches are collected up to this many, which takes 4 ms. */
const maxSorted = 20_000

/**
 * For an order other than by rank, matches are sorted, in 2.5 µs each, or the order's own index is
 * read, in 0.75 µs for each app, until 1,000 match. Both take the same time if the square of the
 * number of matches is this many times the number of apps.
 */
const sortedSquare = 300

/** FTS5 also indexes the beginnings of words up to this many characters: `prefix` in schema.ts. */
const maxListedPrefix = 3

/**
 * A longer beginning is replaced by the words that have it, because FTS5 merges the lists of all
 * words of a beginning before it returns the first match. The terms of a search share this many
 * words; a beginning with more than its share is kept.
 */
const maxSpelledOut = 1000

const textOf = ({ tokens }: Phrase) => tokens.join(' ')

/** Lists of names are short enough to be merged. */
const isSpelledOut = (phrase: Phrase) =>
  phrase.isPrefix && isWordToken(textOf(phrase)) && [...textOf(phrase)].length > maxListedPrefix

const quoted = (phrase: Phrase) => `"${textOf(phrase)}"${phrase.isPrefix ? ' *' : ''}`

/**
 * Lists of phrases for `expressionOf`. Each is its text or, if it is to be spelled out, the beginning
 * and its share of words.
 */
const listsOf = (lists: Phrase[][]) =>
  lists.map((list) =>
    list.map((phrase) =>
      isSpelledOut(phrase)
        ? [textOf(phrase), Math.floor(maxSpelledOut / lists.length)]
        : quoted(phrase),
    ),
  )

/** The words with a beginning, or the beginning itself if these are more than its share. */
const spelledOut = `(
  select iif(
    count(*) > phrase.value ->> 1,
    '"' || (phrase.value ->> 0) || '" *',
    group_concat('"' || word || '"', ' OR ')
  )
  from (
    select word from app_search_words
    where word >= phrase.value ->> 0 and word < (phrase.value ->> 0) || char(0x10FFFF)
    limit ${maxSpelledOut + 1}
  )
)`

/**
 * An expression of FTS5 (https://sqlite.org/fts5.html#full_text_query_syntax) for the JSON of
 * `listsOf`. An empty phrase matches nothing.
 */
const expressionOf = (lists: string) => `(
  select coalesce(group_concat('(' || coalesce((
    select group_concat(iif(type = 'array', ${spelledOut}, value), ' OR ')
    from json_each(list.value) as phrase
  ), '""') || ')', ' AND '), '""')
  from json_each(${lists}) as list
)`

/** The ranks of the matches of an expression. */
const allRanks = (expression: string) =>
  `select rowid as rank from app_search where app_search match ${expression}`
const ranksInOrder = `(${allRanks('search.expression')} order by rowid desc limit ?)`

/** The first matches as a JSON array. */
const firstRanks = `(select json_group_array(rank) from ${ranksInOrder})`
/**
 * A CROSS JOIN keeps the order of the rows on its left
 * (https://sqlite.org/optoverview.html#manual_control_of_query_plans_using_cross_join).
 */
const firstNames = `(
  select json_group_array(json_object('rank', found.rank, 'nameWords', name_words))
  from ${ranksInOrder} as found cross join app_search_apps on app_id = found.rank % ${idLimit}
)`

/** Whether sorting the matches takes less time than reading the index of the order. */
const areFew = `matches < ${maxSorted} and matches * matches <= ${sortedSquare} * (
  select coalesce(max(app_id), 0) from app_search_apps
)`

/** Its value is a JSON array. */
const listOfIds = '(select value from json_each(?))'

/**
 * The index in FTS5 (https://sqlite.org/fts5.html). The rowid of an app is its rank, and FTS5 reads
 * rowids in descending order, so finding the first matches of a common word stops early.
 * `app_search_apps` has the rank of each app. `app_search_words` has the words that an app has or
 * had.
 */
export const searchIndex = (sql: Knex): SearchIndex => ({
  async index(apps) {
    if (apps.length === 0) return
    await removeDocuments(
      sql,
      apps.map(({ id }) => id),
    )
    // FTS5 writes ascending rowids at a quarter of the cost of others.
    const rows = apps
      .map((app) => ({ ...app, tokens: indexedTokens(app), rank: searchRank(app) }))
      .toSorted((a, b) => a.rank - b.rank)
    const words = new Set<string>()
    for (const { tokens } of rows)
      for (const token of tokens.split(' ')) if (isWordToken(token)) words.add(token)
    await sql.raw(
      'insert into app_search_words (word) select value from json_each(?) where true order by value on conflict do nothing',
      [JSON.stringify([...words])],
    )
    await sql.raw(
      'insert into app_search (rowid, tokens) select value->>0, value->>1 from jsonb_each(cast(? as text))',
      [jsonArrayBytes(rows.map(({ rank, tokens }) => [rank, tokens]))],
    )
    await sql.raw(
      `insert or replace into app_search_apps (app_id, rank, name_words)
       select value->>0, value->>1, value->>2 from jsonb_each(cast(? as text)) order by value->>0`,
      [jsonArrayBytes(rows.map(({ id, rank, nameWords }) => [id, rank, nameWords]))],
    )
  },

  async remove(ids) {
    if (ids.length === 0) return
    await removeDocuments(sql, ids)
    await sql.raw(`delete from app_search_apps where app_id in ${listOfIds}`, [JSON.stringify(ids)])
  },

  async firstMatches({ names = [], ranks = [] }, limit) {
    const searches = [...names, ...ranks].map((lists, at) => [at < names.length, listsOf(lists)])
    const found = await rowsOf(sql)<{ at: number; json: string }>(
      `select key as at, iif(search.names, ${firstNames}, ${firstRanks}) as json
       from (
         select key, value ->> 0 as names, ${expressionOf('given.value -> 1')} as expression
         from json_each(?) as given
       ) as search`,
      [limit, limit, JSON.stringify(searches)],
    )
    const matches = found.toSorted((a, b) => a.at - b.at).map(({ json }) => JSON.parse(json))
    return { names: matches.slice(0, names.length), ranks: matches.slice(names.length) }
  },

  async firstIds(phrases, limit, order) {
    const values = [JSON.stringify(listsOf(phrases)), limit]
    const inOrder = `order by ${orderKeys(order, 'desc')} limit ?`
    const sorted = `found cross join apps on apps.id = found.rank % ${idLimit} ${inOrder}`
    const [few] = await rowsOf(sql)<{ ids: string | null }>(
      `with found as materialized (${allRanks(expressionOf('?'))} limit ${maxSorted})
       select case when ${areFew} then (
         select json_group_array(id) from (select apps.id from ${sorted})
       ) end as ids
       from (select count(*) as matches from found)`,
      values,
    )
    const { ids } = required(few, 'the row')
    if (ids !== null) return JSON.parse(ids)
    return selectJson(
      sql,
      'id',
      `(select apps.id from apps cross join app_search_apps on app_id = apps.id
        where ${listedCondition} and +rank in (${allRanks(expressionOf('?'))}) ${inOrder})`,
      values,
    )
  },

  inOrder: (ids, order) => sortIds(sql, ids, order),

  async rankAt(position) {
    const [found] = await rowsOf(sql)<{ rank: number }>(
      'select rowid as rank from app_search order by rowid desc limit 1 offset ?',
      [position - 1],
    )
    return found?.rank ?? 0
  },

  knownTokens: (tokens) =>
    selectJson(
      sql,
      'value',
      'json_each(?) where exists (select 1 from app_search_words where word = value)',
      [JSON.stringify(tokens)],
    ),
})

/** Values of rows as one JSON text, which the driver reads sooner than many rows. */
async function selectJson<Value>(
  sql: Knex,
  value: string,
  rows: string,
  values: (string | number)[],
): Promise<Value[]> {
  const [found] = await rowsOf(sql)<{ json: string }>(
    `select json_group_array(${value}) as json from ${rows}`,
    values,
  )
  return JSON.parse(required(found, 'the array').json)
}

/** Leaves the apps' rows in app_search_apps. */
const removeDocuments = (sql: Knex, ids: number[]) =>
  sql.raw(
    `delete from app_search where rowid in (select rank from app_search_apps where app_id in ${listOfIds})`,
    [JSON.stringify(ids)],
  )

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
      [phrases.map((list) => `(${list.map(quoted).join(' OR ')})`).join(' AND ') || '""', limit],
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

/** Pages of the index, some 8 MB, which take about 100 ms. */
const pagesPerMerge = 2000

/**
 * Merges the segments of the index, each of which a search looks into, until there is at most one
 * of each size. After an import of 200,000 apps, that leaves 2 of 24, and most searches take half of
 * the processor time. Calls `pause` between two transactions.
 */
export async function mergeSegments(writer: Knex, pause: () => Promise<void>): Promise<void> {
  // FTS5 then merges two segments of a size; by default only four.
  await writer.raw(`insert into app_search (app_search, rank) values ('usermerge', 2)`)
  while (await mergeSome(writer)) await pause()
}

/** Returns whether there was something to merge. */
const mergeSome = (writer: Knex): Promise<boolean> =>
  writer.transaction(async (sql) => {
    const before = await totalChanges(sql)
    await sql.raw(`insert into app_search (app_search, rank) values ('merge', ?)`, [pagesPerMerge])
    // https://sqlite.org/fts5.html#the_merge_command
    return (await totalChanges(sql)) - before >= 2
  })

async function totalChanges(sql: Knex): Promise<number> {
  const [found] = await rowsOf(sql)<{ changes: number }>('select total_changes() as changes', [])
  return required(found, 'the changes').changes
}
