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

export const noMatches: Matches = { ids: [], nameMatches: 0 }

/** Of more terms, few apps have all. */
const maxCommonTerms = 2

/** The best matches, one more than `maxMatches` if there are more. */
export async function bestMatches(index: MatchFinder, query: SearchQuery): Promise<Matches> {
  const limit = maxMatches + 1
  const phrasesIn = (...tiers: Tier[]) => tiers.map((tier) => phrasesOf(query, tier))
  const findAll = () => index.firstMatches({ ranks: phrasesIn('key', 'prefix') }, limit)
  const all = query.terms.length > maxCommonTerms ? await findAll() : undefined
  if (all?.ranks.flat().length === 0) return noMatches

  const first = await index.firstMatches(
    { ranks: phrasesIn('key', 'whole'), names: phrasesIn('name') },
    limit,
  )
  const [keys, ...whole] = first.ranks
  const ranks = new Set(keys)
  const scoreName = nameScorer(query.terms)
  const scored = first.names.flat().map(({ rank, nameWords }) => {
    const { isSame, score } = scoreName(nameWords)
    return { rank, score: (isSame ? weights.same : 0) + popularityOfRank(rank) + score }
  })
  for (const { rank } of scored.sort((a, b) => b.score - a.score)) ranks.add(rank)
  const nameMatches = ranks.size
  for (const rank of whole.flat()) ranks.add(rank)
  if (ranks.size < limit)
    for (const rank of (all ?? (await findAll())).ranks.flat()) ranks.add(rank)
  return { ids: [...ranks].slice(0, limit).map(idOfRank), nameMatches }
}

/**
 * In steps of popularity, four per doubling of the downloads. A match must be this much more
 * popular to precede a closer one: 64 times if its words only begin with the terms, 16 times if its
 * name does not begin with the first term, and up to 256 times if its name is much longer than the
 * search. A name that equals the search precedes all others.
 */
const weights = { whole: 24, start: 16, share: 32, same: 10_000 }

/** How close a name is to terms. */
type NameScore = Readonly<{
  /** The name consists of the terms. */
  isSame: boolean
  /** An integer, so that the order is the same everywhere. */
  score: number
}>

export const notNamed: NameScore = { isSame: false, score: 0 }

/** Returns a function that scores a name that has all terms, by its words. */
export function nameScorer(terms: readonly Term[]): (nameWords: string) => NameScore {
  const text = terms.map((term) => term.text).join('')
  const spellings = terms.map((term) => term.spellings)
  const [starts = [], ...more] = spellings
  const names = more.length === 0 ? [text, ...starts] : [text]
  return (nameWords: string) => {
    const words = nameWords.split(' ')
    const name = words.join('')
    const isWordOrPair = (spelling: string) =>
      words.some(
        (word, at) =>
          spelling.startsWith(word) && ['', words[at + 1]].includes(spelling.slice(word.length)),
      )
    const isWhole = spellings.every((some) =>
      some.some((spelling) => spelling === name || isWordOrPair(spelling)),
    )
    const isAtStart = starts.some((spelling) => name.startsWith(spelling))
    const share = Math.min(1, text.length / Math.max(1, name.length))
    return {
      isSame: names.includes(name),
      score:
        (isWhole ? weights.whole : 0) +
        (isAtStart ? weights.start : 0) +
        Math.floor(weights.share * share),
    }
  }
}
