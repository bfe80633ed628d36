import {
  type Phrase,
  phrasesOf,
  queryTerms,
  type SearchQuery,
  type Term,
  type Tier,
} from './terms.ts'
import { isCorrectable, similarWords } from './typos.ts'

/**
 * Finds the best matches of a search. Engines only list apps that have given phrases; scores and
 * relaxing are here.
 */

/** An app whose name matches, with what the index stores for the score. */
export type NameMatch = Readonly<{ id: number; popularity: number; nameWords: string }>

/**
 * Columns to sort apps by, all descending; the last one is unique. The listed apps have an index in
 * this order.
 */
export type SortOrder = readonly string[]

export type MatchFinder = Readonly<{
  /**
   * The ids of the first `limit` apps that have a phrase of each list, in an order or, without one,
   * by rank. None without lists.
   */
  firstMatches: (phrases: Phrase[][], limit: number, order?: SortOrder) => Promise<number[]>
  /** The same by rank, with what the score of a name needs, which takes longer. */
  firstNameMatches: (phrases: Phrase[][], limit: number) => Promise<NameMatch[]>
  /** Those of the words that the index knows as whole words. */
  knownWords: (words: string[]) => Promise<string[]>
}>

/** Apps that a search returns at most. */
export const maxMatches = 1000

export const cutNote = (which: 'best' | 'first') =>
  `More than 1,000 apps match; these are the ${which} 1,000.`

export const toQuery = (text: string, categoryId: number | undefined): SearchQuery => ({
  text,
  terms: queryTerms(text),
  categoryId,
})

/**
 * The ids of the first matches in an order or, without one, of the best. One more than `maxMatches`
 * if there are more.
 */
export async function bestMatches(
  index: MatchFinder,
  query: SearchQuery,
  order?: SortOrder,
): Promise<number[]> {
  const limit = maxMatches + 1
  if (order) return index.firstMatches(phrasesOf(query, 'prefix'), limit, order)
  const ids = new Set(await index.firstMatches(phrasesOf(query, 'key'), limit))
  const named = await index.firstNameMatches(phrasesOf(query, 'name'), limit)
  const scored = named.map((match) => ({ ...match, score: scoreMatch(query.terms, match) }))
  for (const { id } of scored.sort((a, b) => b.score - a.score)) ids.add(id)
  for (const tier of ['whole', 'prefix'] as const) {
    if (ids.size >= limit) break
    for (const id of await index.firstMatches(phrasesOf(query, tier), limit)) ids.add(id)
  }
  return [...ids].slice(0, limit)
}

/**
 * In steps of popularity, four per doubling of the downloads. A name that is spelled like the
 * search precedes all others. Otherwise a match must be this much more popular to precede a closer
 * one: 64 times if its words only begin with the terms, 16 times if its name does not begin with
 * the first term, and up to 256 times if its name says much more.
 */
const weights = { same: 10_000, whole: 24, start: 16, share: 32 }

/**
 * How well a name that has all terms matches, popularity included. Integers, so that the order is
 * the same everywhere.
 */
function scoreMatch(terms: readonly Term[], { popularity, nameWords }: NameMatch): number {
  const words = nameWords.split(' ')
  const name = words.join('')
  const searched = terms.map(({ text }) => text).join('')
  const whole = new Set([
    name,
    ...words,
    ...words.map((word, index) => `${word}${words[index + 1] ?? ''}`),
  ])
  // A term that is not a prefix matches whole words only.
  const isWhole = terms.every(
    (term) => !term.isPrefix || term.spellings.some((spelling) => whole.has(spelling)),
  )
  const isAtStart = terms[0]?.spellings.some((spelling) => name.startsWith(spelling))
  return (
    popularity +
    (searched === name ? weights.same : 0) +
    (isWhole ? weights.whole : 0) +
    (isAtStart ? weights.start : 0) +
    Math.floor(weights.share * Math.min(1, searched.length / Math.max(1, name.length)))
  )
}

/** Terms that are kept when a search without matches is relaxed. Later terms are dropped. */
const maxRelaxedTerms = 8

/** A term, or its correction with a sentence about it, and the number of apps that have it. */
type KnownTerm = { term: Term; count: number; note?: string }

/**
 * Like `bestMatches`. If nothing matches, corrects typos in the terms that no app of the category
 * has, drops those that it cannot correct, and then drops the commonest term until there are
 * matches. The notes say so.
 */
export async function findOrRelax(
  index: MatchFinder,
  query: SearchQuery,
  order?: SortOrder,
): Promise<{ ids: number[]; notes: string[] }> {
  const ids = await bestMatches(index, query, order)
  if (ids.length > 0) return { ids, notes: [] }
  for (
    let known = await knownTerms(index, query);
    known.length > 0;
    known = withoutCommonest(known)
  ) {
    const isComplete = known.length === query.terms.length
    const corrections = known.flatMap(({ note }) => note ?? [])
    if (isComplete && corrections.length === 0) continue
    const terms = known.map(({ term }) => term)
    const ids = await bestMatches(index, { ...query, terms }, order)
    const dropNote = `No app matches all words. Results for "${terms.map(({ text }) => text).join(' ')}".`
    if (ids.length > 0) return { ids, notes: isComplete ? corrections : [dropNote] }
  }
  return { ids: [], notes: [] }
}

/** The terms that an app of the category has, typos in the others corrected. */
async function knownTerms(index: MatchFinder, query: SearchQuery): Promise<KnownTerm[]> {
  const known: KnownTerm[] = []
  for (const term of query.terms.slice(0, maxRelaxedTerms)) {
    const count = await countMatches(index, query, term)
    if (count > 0) known.push({ term, count })
    else known.push(...(await correct(index, query, term)))
  }
  return known
}

/**
 * Up to `maxMatches` apps that have the term as a whole word or, if there are none, as the
 * beginning of one.
 */
async function countMatches(index: MatchFinder, query: SearchQuery, term: Term): Promise<number> {
  const count = async (tier: Tier) =>
    (await index.firstMatches(phrasesOf({ ...query, terms: [term] }, tier), maxMatches)).length
  return (await count('whole')) || count('prefix')
}

/** Corrections of one word that a note lists, to keep it short. */
const maxNamedWords = 3

/**
 * The term with its typo corrected to any of the known words; none if no app of the category has
 * these.
 */
async function correct(index: MatchFinder, query: SearchQuery, term: Term): Promise<KnownTerm[]> {
  if (!isCorrectable(term)) return []
  const words = (await index.knownWords(similarWords(term.text))).toSorted()
  if (words.length === 0) return []
  const named = words.slice(0, maxNamedWords)
  const corrected = { text: named.join(' or '), spellings: words, isPrefix: false }
  const count = await countMatches(index, query, corrected)
  const more = words.length > maxNamedWords ? ' and others' : ''
  const note = `No results for "${term.text}"; showing ${named.map((word) => `"${word}"`).join(', ')}${more}.`
  return count > 0 ? [{ term: corrected, count, note }] : []
}

/** Drops the term that most apps have; of equally common ones, the last. */
function withoutCommonest(terms: KnownTerm[]): KnownTerm[] {
  const most = Math.max(...terms.map(({ count }) => count))
  const commonest = terms.findLast(({ count }) => count === most)
  return terms.filter((term) => term !== commonest)
}
