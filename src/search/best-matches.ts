import {
  idOfRank,
  type Phrase,
  phrasesOf,
  popularityOfRank,
  queryTerms,
  type SearchQuery,
  type Term,
  type Tier,
} from './terms.ts'

/** Finds the apps that have all terms of a search, the best first. Engines only list apps. */

/** An app by its rank, with what the index stores for the score of its name. */
type NameMatch = Readonly<{ rank: number; nameWords: string }>

/**
 * Columns to sort apps by, all descending; the last one is unique. The listed apps have an index in
 * this order.
 */
export type SortOrder = readonly string[]

/** Searches that an index runs together, each by its lists of phrases. */
type Searches = Readonly<{
  /** Those that need the words of the names, which takes longer. */
  names?: readonly Phrase[][][]
  ranks?: readonly Phrase[][][]
}>

/** What each of the `Searches` found. */
export type FirstMatches = { names: NameMatch[][]; ranks: number[][] }

/** Lists the apps that have a phrase of each list of phrases; none without lists. */
export type MatchFinder = Readonly<{
  /** The greatest ranks for each of the searches, in descending order. */
  firstMatches: (searches: Searches, limit: number) => Promise<FirstMatches>
  /** The ids of the first apps in an order. */
  firstIds: (phrases: Phrase[][], limit: number, order: SortOrder) => Promise<number[]>
  /** The ids of these apps in an order. */
  inOrder: (ids: number[], order: SortOrder) => Promise<number[]>
  /** The rank of the app at a position in descending order; 0 if there are fewer. */
  rankAt: (position: number) => Promise<number>
  /** Those of the words or joined words that an app has. May include some that an app had. */
  knownTokens: (tokens: string[]) => Promise<string[]>
}>

/** Apps that a search returns at most. */
export const maxMatches = 1000

export const cutNote = (which: 'best' | 'first'): string =>
  `More than 1,000 apps match; these are the ${which} 1,000.`

export const toQuery = (text: string, categoryId: number | undefined): SearchQuery => ({
  text,
  terms: queryTerms(text),
  categoryId,
})

export type Matches = Readonly<{
  ids: number[]
  /** The number of ids, at the front, that were found by a name or a key. */
  nameMatches: number
}>

/** The best matches, one more than `maxMatches` if there are more. */
export async function bestMatches(index: MatchFinder, query: SearchQuery): Promise<Matches> {
  const limit = maxMatches + 1
  const first = await index.firstMatches(
    { ranks: [phrasesOf(query, 'key')], names: [phrasesOf(query, 'name')] },
    limit,
  )
  const ranks = new Set(first.ranks.flat())
  const scored = first.names.flat().map(({ rank, nameWords }) => ({
    rank,
    score:
      (isSameName(query.terms, nameWords) ? weights.same : 0) +
      popularityOfRank(rank) +
      scoreName(query.terms, nameWords),
  }))
  for (const { rank } of scored.sort((a, b) => b.score - a.score)) ranks.add(rank)
  const nameMatches = ranks.size
  for (const tier of ['whole', 'prefix'] satisfies Tier[]) {
    if (ranks.size >= limit) break
    const matches = await index.firstMatches({ ranks: [phrasesOf(query, tier)] }, limit)
    for (const rank of matches.ranks.flat()) ranks.add(rank)
  }
  return { ids: [...ranks].slice(0, limit).map(idOfRank), nameMatches }
}

const textOf = (terms: readonly Term[]) => terms.map(({ text }) => text).join('')

export function isSameName(terms: readonly Term[], nameWords: string): boolean {
  const name = nameWords.replaceAll(' ', '')
  const [term, ...more] = terms
  return textOf(terms) === name || (more.length === 0 && term?.spellings.includes(name) === true)
}

/**
 * In steps of popularity, four per doubling of the downloads. A match must be this much more
 * popular to precede a closer one: 64 times if its words only begin with the terms, 16 times if its
 * name does not begin with the first term, and up to 256 times if its name is much longer than the
 * search. A name that equals the search precedes all others.
 */
const weights = { whole: 24, start: 16, share: 32, same: 10_000 }

/**
 * Scores a name that has all terms. Integers, so that the order is the same everywhere.
 */
export function scoreName(terms: readonly Term[], nameWords: string): number {
  const words = nameWords.split(' ')
  const name = words.join('')
  const pairs = words.map((word, at) => `${word}${words[at + 1] ?? ''}`)
  const parts = new Set([name, ...words, ...pairs])
  const isWhole = terms.every(({ spellings }) => spellings.some((spelling) => parts.has(spelling)))
  const isAtStart = terms[0]?.spellings.some((spelling) => name.startsWith(spelling))
  return (
    (isWhole ? weights.whole : 0) +
    (isAtStart ? weights.start : 0) +
    Math.floor(weights.share * Math.min(1, textOf(terms).length / Math.max(1, name.length)))
  )
}
