import { idOfRank, popularityOfRank, queryTerms, type SearchQuery, type Term, type Tier } from './terms.ts'
import { isCorrectable, similarWords } from './typos.ts'

/** Finds the best matches of a search. Engines only list the first matches of a tier; all else is here, the same for each. */

export type MatchFinder = Readonly<{
  /** The ranks of the first `limit` apps of a tier, the greatest first. An app may be in several tiers. */
  firstMatches: (query: SearchQuery, tier: Tier, limit: number) => Promise<number[]>
  /** The `nameWords` of the documents with these ranks, in any order. */
  nameWords: (ranks: number[]) => Promise<{ rank: number; nameWords: string }[]>
  /** Those of the words that an app has as a whole word of its texts. */
  knownWords: (words: string[]) => Promise<string[]>
}>

/** A search returns at most so many apps. */
export const maxMatches = 1000

export const cutNote = (which: 'best' | 'first') => `More than 1,000 apps match; these are the ${which} 1,000.`

export const toQuery = (text: string, categoryId: number | undefined): SearchQuery => ({
  text,
  terms: queryTerms(text),
  categoryId,
})

/** The ids of the best matches, best first: one more than `maxMatches` if there are more. */
export async function bestMatches(index: MatchFinder, query: SearchQuery): Promise<number[]> {
  const limit = maxMatches + 1
  const exact = new Set(await index.firstMatches(query, 'key', limit))
  const byName = exact.union(new Set(await index.firstMatches(query, 'name', limit)))
  const scored = (await index.nameWords([...byName])).map(({ rank, nameWords }) => ({
    rank,
    score: (exact.has(rank) ? weights.exact : 0) + scoreMatch(query.terms, rank, nameWords),
  }))
  scored.sort((a, b) => b.score - a.score || b.rank - a.rank)
  const ranks = new Set(scored.map(({ rank }) => rank))
  for (const tier of ['whole', 'prefix'] as const) {
    if (ranks.size >= limit) break
    for (const rank of await index.firstMatches(query, tier, limit)) ranks.add(rank)
  }
  return [...ranks].slice(0, limit).map(idOfRank)
}

/**
 * In steps of popularity, four to a doubling of the downloads. A search that equals a name finds that app first, whatever is
 * more popular. Otherwise a match has to be that much more popular to precede a closer one: 64 times if its words only begin
 * with the terms, 16 times if its name does not begin with the first term, and up to 256 times if its name says much more.
 */
const weights = { exact: 10_000, whole: 24, start: 16, share: 32 }

/** How well a name that has all terms matches, popularity included. Integers, so that the order is the same everywhere. */
function scoreMatch(terms: readonly Term[], rank: number, nameWords: string): number {
  const words = nameWords.split(' ')
  const name = words.join('')
  const length = terms.reduce((sum, { spellings }) => sum + (spellings[0]?.length ?? 0), 0)
  const whole = new Set([name, ...words, ...words.map((word, index) => `${word}${words[index + 1] ?? ''}`)])
  // Without a prefix to begin with, a term can only be whole.
  const isWhole = terms.every((term) => !term.isPrefix || term.spellings.some((spelling) => whole.has(spelling)))
  const isAtStart = terms[0]?.spellings.some((spelling) => name.startsWith(spelling))
  return (
    popularityOfRank(rank) +
    (isSpelledBy(terms, name) ? weights.exact : 0) +
    (isWhole ? weights.whole : 0) +
    (isAtStart ? weights.start : 0) +
    Math.floor(weights.share * Math.min(1, length / Math.max(1, name.length)))
  )
}

/** Whether a spelling of each term, written together, is the text. */
const isSpelledBy = ([first, ...others]: readonly Term[], text: string): boolean =>
  first === undefined
    ? text === ''
    : first.spellings.some((one) => text.startsWith(one) && isSpelledBy(others, text.slice(one.length)))

/** Later terms are dropped. */
const maxRelaxedTerms = 8

/** A term with the number of apps that have it. */
type CountedTerm = { term: Term; count: number }

/**
 * What `find` finds. If it finds nothing: corrects the typos in terms that no app of the category has, drops the others of these,
 * and then drops the commonest term until there are matches. The notes say so.
 */
export async function findOrRelax(
  index: MatchFinder,
  query: SearchQuery,
  find: (query: SearchQuery) => Promise<number[]>,
): Promise<{ ids: number[]; notes: string[] }> {
  const ids = await find(query)
  if (ids.length > 0) return { ids, notes: [] }
  const { known, corrections } = await knownTerms(index, query)
  for (let counted = known; counted.length > 0; counted = withoutCommonest(counted)) {
    const isComplete = counted.length === query.terms.length
    if (isComplete && corrections.length === 0) continue
    const terms = counted.map(({ term }) => term)
    const ids = await find({ ...query, terms })
    const dropNote = `No app matches all words. Results for "${terms.map(({ text }) => text).join(' ')}".`
    if (ids.length > 0) return { ids, notes: isComplete ? corrections : [dropNote] }
  }
  return { ids: [], notes: [] }
}

/** The terms that an app of the category has, typos in the others corrected; and sentences about the corrections. */
async function knownTerms(index: MatchFinder, query: SearchQuery) {
  const counted = []
  for (const term of query.terms.slice(0, maxRelaxedTerms)) {
    const count = await countMatches(index, { ...query, terms: [term] })
    counted.push({ term, count, similar: count === 0 && isCorrectable(term) ? similarWords(term.text) : [] })
  }
  const knownWords = new Set(await index.knownWords(counted.flatMap(({ similar }) => similar)))
  const known: CountedTerm[] = []
  const corrections: string[] = []
  for (const { term, count, similar } of counted) {
    const words = similar.filter((word) => knownWords.has(word)).toSorted()
    if (count > 0) known.push({ term, count })
    if (words.length === 0) continue
    corrections.push(correctionNote(term.text, words))
    // The message has to stay short.
    const text = words.slice(0, maxNamedWords).join(' or ')
    const corrected = { text, spellings: words, isPrefix: false }
    const correctedCount = await countMatches(index, { ...query, terms: [corrected] })
    if (correctedCount > 0) known.push({ term: corrected, count: correctedCount })
  }
  return { known, corrections }
}

/** Up to `maxMatches` apps that have the terms as whole words or, if there are none, as the beginnings of words. */
async function countMatches(index: MatchFinder, query: SearchQuery): Promise<number> {
  const count = async (tier: Tier) => (await index.firstMatches(query, tier, maxMatches)).length
  return (await count('whole')) || count('prefix')
}

/** Of equally common terms the last goes. */
function withoutCommonest(terms: CountedTerm[]): CountedTerm[] {
  const most = Math.max(...terms.map(({ count }) => count))
  const commonest = terms.findLast(({ count }) => count === most)
  return terms.filter((term) => term !== commonest)
}

/** How many of the words that replace another are named. */
const maxNamedWords = 3

function correctionNote(word: string, replacements: string[]): string {
  const named = replacements.slice(0, maxNamedWords).map((one) => `"${one}"`)
  const more = replacements.length > maxNamedWords ? ' and others' : ''
  return `No results for "${word}"; showing ${named.join(', ')}${more}.`
}
