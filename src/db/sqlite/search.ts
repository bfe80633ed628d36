import type { Knex } from 'knex'
import { LRUCache } from 'lru-cache'
import type { Form } from '../../search/terms.ts'
import type { SearchIndex, SearchQuery, SortOrder } from '../dialect.ts'
import { estimateScannedRows, nearestSlice, orderBy, type Slice } from '../page-slice.ts'
import { listed as isListed } from '../tables.ts'
import { jsonArrayBytes } from './client.ts'
import { IdSet, idsOf } from './id-set.ts'
import { follow, insert, lookUp, remove, versionOf } from './search-lists.ts'
import { categoryToken, keyToken, marked, marks, phraseOf, tokensOf } from './tokens.ts'

/** Which apps a question finds, best rank first; each stands in the best rank that it has. */
type Found = {
  /** Of the index that was asked. */
  version: string | undefined
  ranks: { apps: IdSet; size: number }[]
  total: number
  /** How many apps are listed, in the question's category where there is one. */
  listed: number
}

/** What was found before, for the next page. It serves as long as the index has the version that it had then. */
export type SearchCache = LRUCache<string, Found>

export const createSearchCache = (): SearchCache =>
  new LRUCache({
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: ({ ranks }, question) =>
      ranks.reduce((bytes, { apps }) => bytes + apps.bytes, 2 * question.length + 1000),
  })

/** How many phrases are looked up at a time: of the commonest, each is 100 KB among a million apps. */
const mostPhrases = 64

/** Passing an app on the way costs about a sixteenth of fetching and sorting a match: measured by the benchmark in test/bench. */
const walkedForFetched = 16

/**
 * The index in FTS5 (https://sqlite.org/fts5.html): a row an app, whose rowid is the app's id. It is asked for phrases alone;
 * what has all of a question's terms, and how well, is found by joining sets of ids.
 */
export const searchIndex = (sql: Knex, before: SearchCache): SearchIndex => {
  async function find(question: SearchQuery, isRanked: boolean): Promise<Found> {
    const key = JSON.stringify([question, isRanked])
    const known = before.get(key)
    if (known && known.version === (await versionOf(sql))) return known
    const found = await findAnew(question, isRanked)
    if (found.version !== undefined) before.set(key, found)
    return found
  }

  /** Conditions are looked up some at a time, so that the sets of a long search are never all there at once. */
  async function findAnew(question: SearchQuery, isRanked: boolean): Promise<Found> {
    const ways: IdSet[] = []
    const versions = new Set<string | undefined>()
    let among = 0
    for (const conditions of inBatches(conditionsOf(question, isRanked))) {
      const phrases = [...new Set(conditions.flatMap((condition) => [...condition.values()].flat()))]
      const lookup = await lookUp(sql, phrases, question.categoryId)
      versions.add(lookup.version)
      among = lookup.listed
      for (const condition of conditions) {
        for (const [way, phrases] of condition) {
          const apps = new IdSet()
          for (const phrase of phrases) apps.join(lookup.sets.get(phrase) ?? apps)
          ways[way] = ways[way]?.meet(apps) ?? apps
        }
      }
    }
    const all = ways.at(-1) ?? new IdSet()
    const total = all.size
    const ranks = ways.map((apps) => {
      apps.meet(all)
      if (apps !== all) all.drop(apps)
      return { apps, size: apps.size }
    })
    // Outside of a snapshot the index may have changed between two.
    const version = versions.size === 1 ? [...versions][0] : undefined
    return { version, ranks, total, listed: among }
  }

  /** A part of few apps, fetched and sorted. */
  async function sorted({ ranks, take, skip }: FewPart, order: SortOrder): Promise<number[]> {
    const found: { id: number }[] = await sql.raw(
      `select apps.id from json_each(?) as found cross join apps on apps.id = found.value->>0
       ${orderBy(order, 'desc', 'found.value->>1')} limit ? offset ?`,
      [JSON.stringify(ranks.flatMap((apps, rank) => [...apps].map((id) => [id, rank]))), take, skip],
    )
    return found.map(({ id }) => id)
  }

  /** A part of many apps: those that are passed on a walk through the order's own index. */
  async function walked({ apps, slice, passed }: ManyPart, order: SortOrder, categoryId: number | undefined) {
    const inCategory = categoryId === undefined ? '' : 'and apps.category_id = ?'
    const ids: number[] = []
    let { skip } = slice
    let [offset, step] = [0, passed]
    while (ids.length < slice.take) {
      // An aggregate takes the rows of a subquery as they come.
      const [row] = await sql.raw(
        `select group_concat(id) as ids from (
           select apps.id from apps where ${isListed} ${inCategory} ${orderBy(order, slice.direction)} limit ? offset ?
         )`,
        categoryId === undefined ? [step, offset] : [categoryId, step, offset],
      )
      if (row.ids === null) break
      for (const id of idsOf(row.ids)) {
        if (!apps.has(id)) continue
        if (skip > 0) skip--
        else if (ids.length < slice.take) ids.push(id)
      }
      offset += step
      step = Math.min(2 * step, longestStep)
    }
    return slice.direction === 'asc' ? ids.reverse() : ids
  }

  return {
    async index(documents) {
      if (documents.length === 0) return
      const rows = jsonArrayBytes(documents.map((document) => [document.id, tokensOf(document)]))
      await insert(sql, 'app_search', rows)
      await follow(
        sql,
        documents.map(({ id }) => id),
        rows,
      )
    },

    async remove(ids) {
      if (ids.length === 0) return
      await remove(sql, 'app_search', ids)
      await follow(sql, ids)
    },

    async page(question, order, isRanked, limit, offset) {
      const found = await find(question, isRanked)
      const ids: number[] = []
      for (const part of partsOf(found, limit, offset)) {
        ids.push(...('ranks' in part ? await sorted(part, order) : await walked(part, order, question.categoryId)))
      }
      return { ids, total: found.total }
    },

    async has(words) {
      const among = (where: (token: string) => string) =>
        anywhere
          .map((mark) => `exists (select 1 from app_search_instance where ${where(`'${mark}' || (value->>'text')`)})`)
          .join(' or ')
      // A range of the vocabulary takes many times as long as one token.
      const found: { key: number }[] = await sql.raw(
        `select key from json_each(?) where case when value->>'isPrefix'
           then ${among((token) => `term >= ${token} and term <= ${token} || char(0x10ffff)`)}
           else ${among((token) => `term = ${token}`)} end`,
        [JSON.stringify(words)],
      )
      const keys = new Set(found.map(({ key }) => key))
      return words.map((_, index) => keys.has(index))
    },
  }
}

/** Apps of some ranks, best first. */
type FewPart = { ranks: IdSet[]; skip: number; take: number }

/** Apps of one rank, and about how many a walk to the end of the slice passes. */
type ManyPart = { apps: IdSet; slice: Slice; passed: number }

/**
 * What a page has of each rank. Where many are found, the order's own index is walked and each app looked up among them; where
 * few are, all of them are fetched and sorted.
 */
function partsOf({ ranks, listed }: Found, limit: number, offset: number): (FewPart | ManyPart)[] {
  const parts: (FewPart | ManyPart)[] = []
  let [before, wanted] = [0, limit]
  for (const { apps, size } of ranks) {
    const skip = Math.max(0, offset - before)
    const take = Math.min(wanted, size - skip)
    before += size
    if (take <= 0) continue
    wanted -= take
    const slice = nearestSlice(size, take, skip)
    const passed = estimateScannedRows(slice, size, listed)
    const last = parts.at(-1)
    if (passed < size * walkedForFetched) {
      parts.push({ apps, slice, passed })
    } else if (last && 'ranks' in last) {
      last.ranks.push(apps)
      last.take += take
    } else {
      parts.push({ ranks: [apps], skip, take })
    }
  }
  return parts
}

/** How many apps are passed at a time. */
const longestStep = 100_000

const anywhere = [marks.text, marks.package]

/** What each rank but the first wants of each term, best rank first: in which kinds of tokens, and whether words are whole. */
const wants: [kinds: string[], isWhole: boolean][] = [
  [[marks.name], true],
  [[marks.name], false],
  [[marks.text], true],
  [anywhere, false],
]

/** Any of some phrases, for each rank that wants it. */
type Condition = Map<number, string[]>

/** What an app must meet to stand in each rank; in the one there is where they do not matter. The last is all that is found. */
function conditionsOf({ terms, keys, categoryId }: SearchQuery, isRanked: boolean): Condition[] {
  const own = isRanked ? wants : wants.slice(-1)
  const first = isRanked ? 1 : 0
  const conditions: Condition[] = terms.map(
    ({ forms }) =>
      new Map(
        own.map(([kinds, isWhole], index) => [first + index, kinds.flatMap((mark) => phrasesOf(forms, mark, isWhole))]),
      ),
  )
  if (isRanked) conditions.push(new Map([[0, keys.map((key) => phraseOf(keyToken(key), false))]]))
  if (categoryId !== undefined) {
    conditions.push(new Map([[first + own.length - 1, [phraseOf(categoryToken(categoryId), false)]]]))
  }
  return conditions
}

function phrasesOf(forms: readonly Form[], mark: string, isWhole: boolean): string[] {
  const phrases = forms.map(({ tokens, extent }) => ({
    text: marked(tokens.join(' '), mark),
    isPrefix: extent === 'prefix' || (extent === 'either' && !isWhole),
  }))
  // What begins with another beginning adds nothing to it.
  const needed = phrases.filter(
    ({ text }) => !phrases.some((other) => other.isPrefix && other.text !== text && text.startsWith(other.text)),
  )
  return needed.map(({ text, isPrefix }) => phraseOf(text, isPrefix))
}

function* inBatches(conditions: Condition[]) {
  let batch: Condition[] = []
  let phrases = 0
  for (const condition of conditions) {
    const own = [...condition.values()].flat().length
    if (batch.length > 0 && phrases + own > mostPhrases) {
      yield batch
      batch = []
      phrases = 0
    }
    batch.push(condition)
    phrases += own
  }
  yield batch
}
