import { required } from '../util/helpers.ts'
import { idOfRank, popularityOfRank, queryTerms, type SearchQuery, type Term, type Tier, wordForm } from './terms.ts'
import { isCorrectable, similarWords } from './typos.ts'

/** Finds the best matches of a search. Engines only list the first matches of a tier; all else is here, the same for each. */

export type MatchFinder = Readonly<{
  /** The ranks of the first `limit` apps of a tier, the greatest first. An app may be in several tiers. */
  firstMatches: (query: SearchQuery, tier: Tier, limit: number) => Promise<number[]>
  /** The `nameWords` of the documents with these ranks, in this order. */
  nameWords: (ranks: number[]) => Promise<string[]>
  /** Those of the words that an app has as a whole word of its texts, package names aside. */
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
  const byName = [...exact.union(new Set(await index.firstMatches(query, 'name', limit)))]
  const names = await index.nameWords(byName)
  const scored = byName.map((rank, position) => ({
    rank,
    score: (exact.has(rank) ? weights.exact : 0) + scoreMatch(query.terms, rank, required(names[position], 'a name')),
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

/** How well a name matches, popularity included. Integers, so that the order is the same everywhere. */
function scoreMatch(terms: readonly Term[], rank: number, nameWords: string): number {
  const words = nameWords.split(' ')
  const name = words.join('')
  const edges = new Set([0])
  let end = 0
  for (const { length } of words) {
    end += length
    edges.add(end)
  }
  const found = terms.map((term) => findTerm(term, name, edges))
  // By position, since two terms may both be found in their joined form.
  const lengths = new Map(found.map(({ at, length }) => [at, length]))
  const matched = Math.min(
    lengths.values().reduce((sum, length) => sum + length, 0),
    name.length,
  )
  const isWhole = found.every(({ isWhole }) => isWhole)
  const isInOrder = found.every(({ at }, position) => at >= (found[position - 1]?.at ?? 0))
  return (
    popularityOfRank(rank) +
    (isWhole && isInOrder && matched === name.length ? weights.exact : 0) +
    (isWhole ? weights.whole : 0) +
    (found[0]?.at === 0 ? weights.start : 0) +
    Math.floor((weights.share * matched) / Math.max(1, name.length))
  )
}

/** Where the words of a name, written together, have a term: as whole words if they can. */
function findTerm({ forms }: Term, name: string, edges: Set<number>) {
  let best = { at: -1, length: 0, isWhole: false }
  for (const { text, tokens } of forms) {
    for (let at = name.indexOf(text); at >= 0; at = name.indexOf(text, at + 1)) {
      const isWhole = tokens.length > 1 || (edges.has(at) && edges.has(at + text.length))
      if (isWhole) return { at, length: text.length, isWhole }
      if (edges.has(at) && best.length === 0) best = { at, length: text.length, isWhole }
    }
  }
  return best
}

/** What a query without matches was replaced with. */
export type Relaxation = Readonly<{ terms: readonly Term[]; corrections: Correction[]; droppedTerms: number }>

/** A word of the search that no app of the category has, and the known words that replaced it, sorted. */
export type Correction = { word: string; replacements: string[] }

/** Later terms are dropped. */
const maxRelaxedTerms = 8

/** Counting stops here: of terms that so many apps have, none counts as the commoner one. */
const maxCount = 1000

/**
 * What `find` finds. If it finds nothing: corrects the typos in terms that no app of the category has, drops the others of these,
 * and then drops the commonest term until there are matches.
 */
export async function findOrRelax(
  index: MatchFinder,
  query: SearchQuery,
  find: (query: SearchQuery) => Promise<number[]>,
): Promise<{ ids: number[]; relaxation?: Relaxation }> {
  const ids = await find(query)
  if (ids.length > 0) return { ids }
  const counts = new Map<Term, number>()
  const count = async (term: Term) => {
    const find = async (tier: Tier) => (await index.firstMatches({ ...query, terms: [term] }, tier, maxCount)).length
    // As a whole word, or if no app has it, as the beginning of one.
    counts.set(term, (await find('whole')) || (await find('prefix')))
  }
  const countOf = (term: Term) => required(counts.get(term), 'the count of a term')

  const considered = query.terms.slice(0, maxRelaxedTerms)
  for (const term of considered) await count(term)
  const corrections = await correctTypos(
    index,
    considered.filter((term) => countOf(term) === 0),
  )
  let terms = considered.map((term) => {
    const correction = corrections.find(({ word }) => word === term.text)
    return correction ? anyOfWords(correction.replacements) : term
  })
  for (const term of terms) if (!counts.has(term)) await count(term)
  terms = terms.filter((term) => countOf(term) > 0)
  while (terms.length > 0) {
    const droppedTerms = query.terms.length - terms.length
    if (corrections.length > 0 || droppedTerms > 0) {
      const ids = await find({ ...query, terms })
      if (ids.length > 0) return { ids, relaxation: { terms, corrections, droppedTerms } }
    }
    const most = Math.max(...terms.map(countOf))
    // Of equally common terms the last.
    const commonest = terms.findLast((term) => countOf(term) === most)
    terms = terms.filter((term) => term !== commonest)
  }
  return { ids: [] }
}

/** The words that have a similar word in a listed app, and those words. */
async function correctTypos(index: MatchFinder, terms: readonly Term[]): Promise<Correction[]> {
  const candidates = terms.filter(isCorrectable).map(({ text }) => ({ word: text, similar: similarWords(text) }))
  const known = new Set(await index.knownWords([...new Set(candidates.flatMap(({ similar }) => similar))]))
  return candidates
    .map(({ word, similar }) => ({ word, replacements: similar.filter((one) => known.has(one)).toSorted() }))
    .filter(({ replacements }) => replacements.length > 0)
}

const anyOfWords = (words: readonly string[]): Term => ({
  // For the message, which has to stay short.
  text: words.slice(0, 3).join(' or '),
  forms: words.map((word) => wordForm(word, true)),
})
