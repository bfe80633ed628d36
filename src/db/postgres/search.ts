import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import type { Form } from '../../search/terms.ts'
import type { Connection, SearchIndex, SearchQuery, SortOrder } from '../dialect.ts'
import { estimateScannedRows, nearestSlice, orderBy, type Slice } from '../page-slice.ts'
import { listed as isListed } from '../tables.ts'
import { select as selectWith } from './client.ts'
import { connectionNumber, countConnections } from './snapshots.ts'
import { categoryToken, type Kind, keyToken, lexeme, marks, rowOf } from './tokens.ts'

/** Up to so many are fetched, and sorted by rank and order, in one statement. */
const few = 2000

/** More apps than the list of what waits for the index has room for (connections.ts) are put into it together, at once. */
const waiting = 20

/** To join more than so many takes longer one by one than with all apps. */
const mostOneByOne = 20_000

/** To look at an app on the way costs some four times as much as to fetch and sort a match. */
const fetchedForWalked = 4

/** What is remembered of a question, while the data is what it was: to count what many have takes long. */
type Found = {
  snapshot: string
  /** How many connections had been established before it was found: a crash would have ended these. */
  established: number
  /** How many apps meet each condition that was counted. */
  sizes: Map<string, number>
  /** By order, and whether that is within ranks, the ids of all that is found, where they are few. */
  ids: Map<string, number[]>
}

export type SearchCache = LRUCache<string, Found>

/** At most some 100 KB each, where all orders were asked for. */
export const createSearchCache = (): SearchCache => new LRUCache({ max: 300 })

/**
 * The index: a row an app, in app_search, and all its tokens in a GIN index. What is asked for is a set of tokens, any or all of
 * them; where tokens have to stand one after the other, the rows that have all are looked at.
 */
export const searchIndex = (sql: Knex, before: SearchCache): SearchIndex => {
  const select = selectWith(sql)

  const count = async ({ where, values }: Condition): Promise<number> => {
    const [row] = await select<{ count: number }>(`select count(*) from app_search where ${where}`, values)
    return row?.count ?? 0
  }

  /** What was found before of a question, or nothing yet; and how many apps are listed, in its category where there is one. */
  async function foundOf(question: SearchQuery): Promise<{ listed: number; found: Found }> {
    const established = countConnections()
    const { categoryId } = question
    const [now] = await select<{ listed: number; number: number | null; snapshot: string }>(
      `select coalesce(sum(listed_apps), 0) as listed, ${connectionNumber} as number,
         cast(pg_current_snapshot() as text) as snapshot
       from categories ${categoryId === undefined ? '' : 'where id = ?'}`,
      categoryId === undefined ? [] : [categoryId],
    )
    const { listed, number, snapshot } = now ?? { listed: 0, number: null, snapshot: '' }
    const key = JSON.stringify(question)
    const known = before.get(key)
    if (known && known.snapshot === snapshot && number !== null && number <= known.established) {
      return { listed, found: known }
    }
    const found: Found = { snapshot, established, sizes: new Map(), ids: new Map() }
    // Outside of a snapshot what is counted later may be of a later one.
    if (number !== null && sql.isTransaction) before.set(key, found)
    return { listed, found }
  }

  /**
   * What is found, so many, by rank: each app in the first of the conditions that it meets. Of what it has put aside
   * (`materialized`) PostgreSQL expects few groups, and joins them one by one; by its guess at how many are met it goes through
   * all apps.
   */
  async function sorted(
    ranks: Condition[],
    size: number,
    order: SortOrder,
    take: number,
    skip: number,
  ): Promise<number[]> {
    const aside = size > mostOneByOne ? 'not materialized' : 'materialized'
    const each = ranks.map(({ where }, rank) => `select app_id, ${rank} as rank from app_search where ${where}`)
    const found = await select<{ id: number }>(
      `with met as ${aside} (${each.join(' union all ')}),
       found as materialized (select app_id, min(rank) as rank from met group by app_id)
       select apps.id from found join apps on apps.id = found.app_id
       ${orderBy(order, 'desc', 'found.rank')} limit ? offset ?`,
      [...ranks.flatMap(({ values }) => values), take, skip],
    )
    return found.map(({ id }) => id)
  }

  /**
   * A part of many: those of a rank that are met on a walk through the order's own index. They may all stand far away: then
   * this is given up when it has passed so many that sorting them would have cost as much.
   */
  async function walked(
    rank: Condition,
    slice: Slice,
    most: number,
    order: SortOrder,
    categoryId: number | undefined,
  ): Promise<number[] | undefined> {
    const inCategory = categoryId === undefined ? '' : 'and apps.category_id = ?'
    const found = await select<{ id: number }>(
      `select id from (
         select apps.id from apps where ${isListed} ${inCategory} ${orderBy(order, slice.direction)} limit ?
       ) as passed
       where (select ${rank.where} from app_search where app_search.app_id = passed.id) limit ? offset ?`,
      [...(categoryId === undefined ? [] : [categoryId]), most, ...rank.values, slice.take, slice.skip],
    )
    const ids = found.map(({ id }) => id)
    if (ids.length < slice.take) return undefined
    return slice.direction === 'asc' ? ids.reverse() : ids
  }

  return {
    async index(documents) {
      if (documents.length === 0) return
      const rows = documents.toSorted((a, b) => a.id - b.id).map(rowOf)
      const areMany = documents.length > waiting
      if (areMany) await sql.raw(`set local gin_pending_list_limit = '64MB'`)
      await sql.raw(
        `insert into app_search (app_id, name, text, package, tokens)
         select app_id, name, text, package, array_to_tsvector(string_to_array(tokens, ' '))
         from json_to_recordset(?::json) as document (app_id bigint, name text, text text, package text, tokens text)
         on conflict (app_id) do update set
           name = excluded.name, text = excluded.text, package = excluded.package, tokens = excluded.tokens,
           spaces = excluded.spaces`,
        [JSON.stringify(rows)],
      )
      if (areMany) await sql.raw(`select gin_clean_pending_list(to_regclass('app_search_tokens'))`)
    },

    async remove(ids) {
      if (ids.length > 0) await sql.raw('delete from app_search where app_id = any(?::bigint[])', [ids])
    },

    async page(question, order, isRanked, limit, offset) {
      const ranks = ranksOf(question, isRanked)
      const all = ranks.at(-1)
      if (!all) return { ids: [], total: 0 }
      const { listed, found } = await foundOf(question)
      const sizeOf = (condition: Condition) => kept(found.sizes, JSON.stringify(condition), () => count(condition))
      const total = await sizeOf(all)
      if (offset >= total) return { ids: [], total }
      if (total <= few) {
        const ids = await kept(found.ids, `${isRanked} ${order}`, () => sorted(ranks, total, order, total, 0))
        return { ids: ids.slice(offset, offset + limit), total }
      }

      const ids: number[] = []
      let before = 0
      for (const index of ranks.keys()) {
        const rank = aloneIn(ranks, index)
        const size = await sizeOf(rank)
        const skip = Math.max(0, offset - before)
        const take = Math.min(limit - ids.length, size - skip)
        before += size
        if (take > 0) ids.push(...(await partOf({ rank, size, slice: nearestSlice(size, take, skip) }, order)))
        if (ids.length === limit) break
      }
      return { ids, total }

      async function partOf({ rank, size, slice }: Part, order: SortOrder): Promise<number[]> {
        const passed = estimateScannedRows(slice, size, listed)
        const most = Math.ceil(size / fetchedForWalked)
        const met = passed < most ? await walked(rank, slice, most, order, question.categoryId) : undefined
        return (
          met ??
          sorted(
            [rank],
            size,
            order,
            slice.take,
            slice.direction === 'desc' ? slice.skip : size - slice.skip - slice.take,
          )
        )
      }
    },

    async has(words) {
      const found = words.map(() => false)
      const whole = [...words.entries()].filter(([, { isPrefix }]) => !isPrefix)
      for (const index of await thoseThere(
        select,
        whole.map(([, { text }]) => anywhereOf(text, false)),
      )) {
        const place = whole[index]?.[0]
        if (place !== undefined) found[place] = true
      }
      // What begins with a longer beginning that is there is there, and is not looked for among all that have it.
      const beginnings = [...words.entries()]
        .filter(([, { isPrefix }]) => isPrefix)
        .toSorted(([, a], [, b]) => b.text.length - a.text.length)
      const there: string[] = []
      for (const [place, { text }] of beginnings) {
        const isThere =
          there.some((longer) => longer.startsWith(text)) ||
          (await thoseThere(select, [anywhereOf(text, true)])).length > 0
        if (isThere) there.push(text)
        found[place] = isThere
      }
      return found
    },
  }
}

/** Which of some queries any app meets, by place. Counted, since for one alone the planner would look through the table. */
async function thoseThere(select: Connection['select'], queries: string[]): Promise<number[]> {
  if (queries.length === 0) return []
  const found = await select<{ place: number }>(
    `select place from json_array_elements_text(cast(? as json)) with ordinality as asked (query, place)
     where (select count(*) from app_search where tokens @@ query::tsquery) > 0`,
    [JSON.stringify(queries)],
  )
  return found.map(({ place }) => place - 1)
}

const anywhereOf = (text: string, isPrefix: boolean) =>
  anywhere.map((kind) => lexeme(`${marks[kind]}${text}`, isPrefix)).join(' | ')

/** What of a row of app_search is to be, and the values of its placeholders. */
type Condition = Readonly<{ where: string; values: string[] }>

/** A page's part of a rank. */
type Part = { rank: Condition; size: number; slice: Slice }

async function kept<T>(values: Map<string, T>, key: string, make: () => Promise<T>): Promise<T> {
  const known = values.get(key)
  if (known !== undefined) return known
  const made = await make()
  values.set(key, made)
  return made
}

const anywhere: Kind[] = ['text', 'package']

/** What each rank but the first wants of each term, best rank first: in which kinds of tokens, and whether words are whole. */
const wants: [kinds: Kind[], isWhole: boolean][] = [
  [['name'], true],
  [['name'], false],
  [['text'], true],
  [anywhere, false],
]

/** What an app must meet to stand in each rank, or in a better one; in the one there is where they do not matter. */
function ranksOf({ terms, keys, categoryId }: SearchQuery, isRanked: boolean): Condition[] {
  const category = categoryId === undefined ? [] : [{ where: hasTokens, values: [lexeme(categoryToken(categoryId))] }]
  const ofWords = (isRanked ? wants : wants.slice(-1)).map(([kinds, isWhole]) =>
    allOf([...terms.map(({ forms }) => ofTerm(forms, kinds, isWhole)), ...category]),
  )
  const all = ofWords.at(-1)
  if (!isRanked || !all) return ofWords
  const ofKeys = { where: hasTokens, values: [keys.map((key) => lexeme(keyToken(key))).join(' | ')] }
  return [allOf([ofKeys, all]), ...ofWords]
}

/** In this rank, and in none that is better. */
const aloneIn = (ranks: Condition[], index: number): Condition =>
  allOf([...ranks.slice(index, index + 1), ...ranks.slice(0, index).map(not)])

const hasTokens = 'tokens @@ ?::tsquery'

/** By any of its forms. Where one is of several tokens, these have to stand one after the other. */
function ofTerm(forms: readonly Form[], kinds: Kind[], isWhole: boolean): Condition {
  const phrases = forms.flatMap(({ tokens, extent }) =>
    kinds.map((kind) => ({ kind, tokens, isPrefix: extent === 'prefix' || (extent === 'either' && !isWhole) })),
  )
  const queries = phrases.map(({ kind, tokens, isPrefix }) =>
    tokens.map((token, index) => lexeme(`${marks[kind]}${token}`, isPrefix && index === tokens.length - 1)).join(' & '),
  )
  const any: Condition = { where: hasTokens, values: [queries.map((query) => `(${query})`).join(' | ')] }
  if (phrases.every(({ tokens }) => tokens.length === 1)) return any
  const each = phrases.map(({ kind, tokens, isPrefix }, index): Condition => {
    if (tokens.length === 1) return { where: hasTokens, values: [queries[index] ?? ''] }
    const columns = kind === 'text' ? ['name', 'text'] : [kind]
    const sequence = ` ${tokens.join(' ')}${isPrefix ? '' : ' '}`
    return {
      where: `(${columns.map((column) => `position(? in ${column}) > 0`).join(' or ')})`,
      values: columns.map(() => sequence),
    }
  })
  return allOf([
    any,
    { where: `(${each.map(({ where }) => where).join(' or ')})`, values: each.flatMap(({ values }) => values) },
  ])
}

/** What the index can tell is asked of it by one query. */
function allOf(conditions: Condition[]): Condition {
  const isQuery = ({ where }: Condition) => where === hasTokens
  const queries = conditions.filter(isQuery).flatMap(({ values }) => values)
  const others = conditions.filter((condition) => !isQuery(condition))
  const query = queries.map((text) => `(${text})`).join(' & ')
  return {
    where: [...(query === '' ? [] : [hasTokens]), ...others.map(({ where }) => where)].join(' and '),
    values: [...(query === '' ? [] : [query]), ...others.flatMap(({ values }) => values)],
  }
}

const not = ({ where, values }: Condition): Condition =>
  where === hasTokens
    ? { where, values: values.map((query) => `!(${query})`) }
    : { where: `(${where}) is not true`, values }
