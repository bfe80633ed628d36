import { required } from '../util/helpers.ts'
import {
  bestMatches,
  type Matches,
  type MatchFinder,
  maxMatches,
  nameScorer,
  noMatches,
  notNamed,
  type SortOrder,
  toQuery,
} from './best-matches.ts'
import {
  idOfRank,
  isFunctionWord,
  isSubject,
  joinToken,
  phrasesOf,
  popularityOfRank,
  type SearchQuery,
  splitRuns,
  type Term,
  type Tier,
  wordOfToken,
} from './terms.ts'
import { isCorrectable, isWithinEdits, similarWords } from './typos.ts'

/** A search as users mean it: apps that have all words, then those that have only some. */

/** A word of a search that was looked up. */
export type Word = Readonly<{
  term: Term
  /** An app has the word or any form of it. */
  isKnown: boolean
  /** Words of apps that it may be a typo of. */
  corrections: string[]
}>

export type SearchResult = Readonly<{
  /** One more than `maxMatches` if there are more. */
  ids: number[]
  /** The number of ids before those of apps that have only some of the words. */
  fullMatches: number
  /** The words that were looked up, because few apps have all. */
  words: Word[]
}>

/** Terms that are considered if apps need not have all of them. Later terms are dropped. */
const maxTerms = 8

const typo = {
  /** A word that more apps have is not a typo. */
  maxApps: 5,
  /** A correction has more than this many times as many apps as the word. */
  ratio: 20,
}

/** Counts the listed apps. */
type CountApps = () => Promise<{ all: number; inScope: number }>

/** Finds the best matches or, in an order, those with all words first. */
export async function search(
  index: MatchFinder,
  query: SearchQuery,
  countApps: CountApps,
  order?: SortOrder,
): Promise<SearchResult> {
  const limit = order ? maxSortedBest : maxMatches + 1
  const whole = await fullMatches(index, query, order)
  if (order && whole.ids.length >= limit)
    return { ids: whole.ids, fullMatches: whole.ids.length, words: [] }
  const split = whole.ids.length > 0 ? query : withSplitRuns(query)
  const written = split === query ? whole : await fullMatches(index, split, order)
  const corrected = await addCorrected(index, split, written, order)
  const best = await addPartial(index, split, corrected, countApps, limit)
  return order ? sortBest(index, corrected.ids, best, order) : best
}

/** In an order, the first apps of the best order are shown if fewer have all words. */
const maxSortedBest = 50

/** The apps that have all words, the best first; if they are many, the first in the order. */
async function fullMatches(
  index: MatchFinder,
  query: SearchQuery,
  order?: SortOrder,
): Promise<Matches> {
  if (query.terms.length === 0) return noMatches
  if (!order) return bestMatches(index, query)
  const ids = await index.firstIds(phrasesOf(query, 'prefix'), maxMatches + 1, order)
  if (ids.length >= maxSortedBest) return { ids, nameMatches: 0 }
  const { ranks } = await index.firstMatches({ ranks: [phrasesOf(query, 'key')] }, maxMatches)
  return { ids: [...new Set([...ids, ...ranks.flat().map(idOfRank)])], nameMatches: 0 }
}

/** Sorts the apps that have all words and then, if these are few, the rest of the best ones. */
async function sortBest(
  index: MatchFinder,
  fullIds: number[],
  best: SearchResult,
  order: SortOrder,
): Promise<SearchResult> {
  const full = new Set(fullIds)
  const sorted = await index.inOrder([...full.union(new Set(best.ids))], order)
  const ids = sorted.toSorted((one, other) => Number(full.has(other)) - Number(full.has(one)))
  return { ids, fullMatches: full.size, words: best.words }
}

/** The same query if no run has several words. */
function withSplitRuns(query: SearchQuery): SearchQuery {
  const text = splitRuns(query.text)
  return text === query.text ? query : toQuery(text, query.categoryId)
}

/** Apps that have all words, as written or corrected, and the terms that found them. */
type CorrectedMatches = Matches & Readonly<{ terms: Term[]; words: Word[] }>

/** If few apps have all words, looks the words up, and adds apps that have them corrected. */
async function addCorrected(
  index: MatchFinder,
  query: SearchQuery,
  written: Matches,
  order?: SortOrder,
): Promise<CorrectedMatches> {
  const firstTerms = query.terms.slice(0, maxTerms)
  if (written.ids.length > typo.maxApps) return { ...written, terms: firstTerms, words: [] }

  const lookedUp = await lookUp(index, query, firstTerms)
  const isFound = written.ids.length > 0
  // An app that was found by its slug need not have the words.
  const words = isFound ? lookedUp.filter(({ isKnown }) => isKnown) : lookedUp
  const terms = termsOf(words)

  const isAsWritten =
    terms.length === query.terms.length && terms.every((term, at) => term === query.terms[at])
  const corrected = isAsWritten
    ? written
    : await fullMatches(index, { ...query, text: '', terms }, order)
  const ids = [...new Set([...written.ids, ...corrected.ids])]
  if (ids.length > 0) return { ...(isFound ? written : corrected), ids, terms, words }

  // A word that an app has is not corrected for apps with only some of the words.
  const guessed = words.map((word) => (word.isKnown ? { ...word, corrections: [] } : word))
  return { ids, nameMatches: 0, terms: termsOf(guessed), words: guessed }
}

/**
 * The terms of the words that are known or corrected. If only single letters remain of a longer
 * search, none: nearly every app has them.
 */
function termsOf(words: Word[]): Term[] {
  const terms = words.flatMap(correctedTerm)
  const areLetters = terms.every(({ text, isPrefix }) => isPrefix && [...text].length === 1)
  return terms.length < words.length && areLetters ? [] : terms
}

/** Adds apps that have only some of the terms, as far as there is space. */
async function addPartial(
  index: MatchFinder,
  query: SearchQuery,
  { ids, nameMatches, terms, words }: CorrectedMatches,
  countApps: CountApps,
  limit: number,
): Promise<SearchResult> {
  const isComplete = ids.length >= limit || terms.length < (ids.length > 0 ? 2 : 1)
  if (isComplete) return { ids: ids.slice(0, limit), fullMatches: ids.length, words }

  const partial = await partialMatches(index, { ...query, terms }, countApps)
  const full = new Set([...ids.slice(0, nameMatches), ...partial.named, ...ids])
  const all = [...full.union(new Set(partial.ids))]
  return { ids: all.slice(0, limit), fullMatches: full.size, words }
}

async function lookUp(index: MatchFinder, query: SearchQuery, terms: Term[]): Promise<Word[]> {
  const anywhere = { ...query, categoryId: undefined }
  const count = (some: Term[], tier: Tier) =>
    countMatches(index, anywhere, some, tier, typo.maxApps + 1)
  const whole = await count(terms, 'whole')
  // Counting the words that begin with a term takes longer, and never finds fewer apps.
  const rare = terms.filter((term) => required(whole.get(term), 'the apps') <= typo.maxApps)
  const counts = new Map([...whole, ...(await count(rare, 'prefix'))])
  const words: Word[] = []
  for (const [term, apps] of counts) {
    const isKnown = apps > 0
    const similar = apps <= typo.maxApps ? await correctionsOf(index, query, term, apps) : []
    const isUnlike = !isKnown && similar.length === 0 && query.terms.length === 1
    const corrections = isUnlike ? await farCorrectionsOf(index, query, term) : similar
    words.push({
      term,
      isKnown,
      corrections: corrections.filter((word) => !isFunctionWord(word)),
    })
  }
  return words
}

/** The number of apps that have each term; of more than `limit`, this. */
async function countMatches(
  index: MatchFinder,
  query: SearchQuery,
  terms: Term[],
  tier: Tier,
  limit: number,
) {
  if (terms.length === 0) return new Map<Term, number>()
  const searches = terms.map((term) => phrasesOf({ ...query, terms: [term] }, tier))
  const { ranks } = await index.firstMatches({ ranks: searches }, limit)
  return new Map(terms.map((term, at) => [term, required(ranks[at], 'the apps').length]))
}

/** Similar words whose apps are counted; nearly always all. */
const maxCounted = 500

/** The words similar to a term that much more apps have than the `apps` that have the term. */
async function correctionsOf(
  index: MatchFinder,
  query: SearchQuery,
  term: Term,
  apps: number,
): Promise<string[]> {
  const similar = isCorrectable(term) ? similarWords(term.text) : []
  const tokens = similar.flatMap((word) => [word, joinToken(word)])
  const known = tokens.length > 0 ? (await index.knownTokens(tokens)).map(wordOfToken) : []
  const words = [...new Set(known)].toSorted().slice(0, maxCounted)
  const exact = words.map((word) => exactTerm([word]))
  return [...(await countMatches(index, query, exact, 'whole', maxMatches))]
    .filter(([, count]) => count > typo.ratio * apps)
    .sort(([, one], [, other]) => other - one)
    .map(([{ text }]) => text)
}

/** Minimum length of a word that may have two typos. Too many words resemble a shorter one. */
const minFar = 8

/** Characters at its beginning that must be right. The indexes find names by this many quickly. */
const farBeginning = 2

/** Words of the most popular names that differ from a long term by at most two edits. */
async function farCorrectionsOf(
  index: MatchFinder,
  query: SearchQuery,
  term: Term,
): Promise<string[]> {
  const letters = [...term.text]
  if (!isCorrectable(term) || letters.length < minFar) return []
  const beginning = letters.slice(0, farBeginning).join('')
  const begins = { ...exactTerm([beginning]), isPrefix: true }
  const { names } = await index.firstMatches(
    { names: [phrasesOf({ ...query, terms: [begins] }, 'name')] },
    maxMatches,
  )
  const words = names
    .flat()
    .flatMap(({ nameWords }) => [...nameWords.split(' '), nameWords.replaceAll(' ', '')])
  return [...new Set(words)].filter(
    (word) => word.startsWith(beginning) && isWithinEdits(2, word, term.text),
  )
}

/** The term that is searched for instead of a word; none if it is neither known nor corrected. */
export function correctedTerm({ term, isKnown, corrections }: Word): Term[] {
  if (corrections.length === 0) return isKnown ? [term] : []
  const spellings = isKnown ? [...term.spellings, ...corrections] : corrections
  return [{ ...exactTerm(spellings), forms: term.forms }]
}

function exactTerm(spellings: string[]): Term {
  const text = required(spellings[0], 'a spelling')
  return { text, typed: text, spellings, forms: [], isPrefix: false }
}

/** Shorter words are not taken for beginnings of words, since too many words begin with them. */
const minBeginning = 3

/** Added to the number of listed apps, so that in a small catalogue all terms are nearly as rare. */
const assumedApps = 100

/**
 * Function words, words that any app is, and numbers count less, since they rarely are what is
 * searched for. Half or twice of each weight hardly changes results.
 */
function importanceOf({ text }: Term): number {
  if (!isSubject(text)) return 1 / 8
  return /^\p{N}+$/u.test(text) ? 1 / 4 : 1
}

/** The score, in steps of popularity, of having all terms. */
const shareSteps = 256

/**
 * The apps that have some of the terms in their names or leads: first those with the greatest
 * weight, the most downloads and the closest name. A term weighs the square of its rarity in bits,
 * times its importance. Apps that have only function words of the search are left out, if others
 * have more. `named` are the apps whose whole name consists of terms with more than half of the
 * weight.
 */
async function partialMatches(index: MatchFinder, query: SearchQuery, countApps: CountApps) {
  const { terms } = query
  const { all, inScope } = await countApps()
  const popularRank = await index.rankAt(maxMatches)
  const searches = (tier: Tier) =>
    terms.map((term) => {
      const isPrefix = term.isPrefix && term.text.length >= minBeginning
      return phrasesOf({ ...query, terms: [{ ...term, isPrefix }] }, tier)
    })
  const found = await index.firstMatches(
    { names: searches('name'), ranks: searches('lead') },
    maxMatches,
  )

  // Sets of terms are numbers with a bit for each.
  const setsOfApps = new Map<number, number>()
  const names = new Map<number, { nameSet: number; nameWords: string }>()
  const weights = terms.map((term, at) => {
    const bit = 1 << at
    let count = 0
    let popular = 0
    function add(rank: number) {
      const set = setsOfApps.get(rank) ?? 0
      if (set & bit) return
      setsOfApps.set(rank, set | bit)
      count++
      if (rank >= popularRank) popular++
    }
    for (const rank of required(found.ranks[at], 'the leads')) add(rank)
    for (const { rank, nameWords } of required(found.names[at], 'the names')) {
      add(rank)
      names.set(rank, { nameWords, nameSet: (names.get(rank)?.nameSet ?? 0) | bit })
    }
    if (count === 0) return 0
    const estimate = Math.max(count, (all * popular) / maxMatches)
    const rarity = Math.log2((inScope + assumedApps) / Math.min(estimate, inScope))
    return rarity ** 2 * importanceOf(term)
  })
  const sets = Array.from({ length: 1 << terms.length }, (_, set) => {
    const some = terms.filter((_, at) => set & (1 << at))
    const weight = weights.reduce((sum, one, at) => (set & (1 << at) ? sum + one : sum), 0)
    const hasSubject = some.some(({ text }) => isSubject(text))
    return { weight, hasSubject, scoreName: nameScorer(some) }
  })
  const setOf = (set: number) => required(sets[set], 'the set')
  const total = setOf(sets.length - 1).weight

  const matches = Array.from(setsOfApps, ([rank, set]) => {
    const { weight, hasSubject } = setOf(set)
    const { nameSet = 0, nameWords = '' } = names.get(rank) ?? {}
    const name = setOf(nameSet)
    const { isSame, score } = nameSet > 0 ? name.scoreName(nameWords) : notNamed
    return {
      rank,
      hasSubject,
      score: (shareSteps * weight) / total + popularityOfRank(rank) + score,
      isNamed: isSame && name.weight > total / 2,
    }
  }).sort((a, b) => b.score - a.score || b.rank - a.rank)
  const onSubject = matches.filter(({ hasSubject }) => hasSubject)
  const idsOf = (some: typeof matches) => some.map(({ rank }) => idOfRank(rank))
  return {
    named: idsOf(matches.filter(({ isNamed }) => isNamed)),
    ids: idsOf((onSubject.length > 0 ? onSubject : matches).slice(0, maxMatches + 1)),
  }
}
