import { type Random, randomFrom } from '../../support/random.ts'
import { sortOrders } from '../../support/sort-orders.ts'
import { categories, vocabulary } from './catalogue.ts'

/**
 * The request targets of the benchmark (paths with their queries): lists, single apps and searches.
 * A `size` is the number of apps in the catalogue. No list of targets repeats one, because a second
 * request may hit a cache. Each random order has a fixed seed, so that every run requests the same.
 */

/** People rarely go further than this page. */
const lastPage = 51
/**
 * The smallest category's share of the apps. Its pages limit `nearPages`, so that no page is empty.
 */
const smallestShare = 0.015

/**
 * The first pages, up to `lastPage`, of all apps and of each category, in each order. Permuted
 * parameters make more distinct paths: to a cache they differ, to the database they are the same
 * work.
 */
export function nearPages(size: number): string[] {
  const paths = nearQueries(size).flatMap((query) => [
    ...listPaths(query),
    ...categories.flatMap((category) => listPaths([...query, `category=${category}`])),
  ])
  return randomFrom(1).shuffled(paths)
}

/** The same pages of all apps only. Empty filters, which select all apps, make more paths. */
export function nearPagesOfAll(size: number): string[] {
  const paths = nearQueries(size).flatMap((query) => listPaths([...query, 'category=', 'search=']))
  return randomFrom(6).shuffled(paths)
}

function nearQueries(size: number): string[][] {
  const pages = upTo(Math.max(1, Math.min(lastPage, Math.floor((size * smallestShare) / 20))))
  return pages.flatMap((page) =>
    sortOrders.map((sort) => [`page=${page}`, 'limit=20', `sort=${sort}`]),
  )
}

/** Page 1 only: a catalogue of one app has no other. */
export const firstPages = () => nearPages(1)

/** Pages in the middle of the catalogue, before which the database has to skip the most apps. */
export function middlePages(size: number): string[] {
  const middle = Math.ceil(size / 20 / 2)
  const pages = upTo(Math.min(100, middle)).map((page) => middle + 1 - page)
  const paths = pages.flatMap((page) =>
    sortOrders.flatMap((sort) => listPaths([`page=${page}`, 'limit=20', `sort=${sort}`])),
  )
  return randomFrom(2).shuffled(paths)
}

export const itemPaths = (size: number): string[] =>
  randomFrom(3).shuffled(upTo(size).map((id) => `/apps/${id}`))

export const missingItem = '/apps/999999999'

/**
 * Words by the share of apps that have one: common 99 to 6 %, medium 6 to 0.7 %, rare less than
 * 0.07 %.
 */
const words = {
  common: vocabulary.slice(0, 100),
  medium: vocabulary.slice(100, 1000),
  rare: vocabulary.slice(10_000),
}

const letters = 'abdefghijklmnoprstuvw'

/**
 * Makes search texts, by kind. Few apps match a whole sentence; the last two kinds match no app
 * completely, or none at all.
 */
const searchTexts = {
  'a rare word': ({ pick }) => pick(words.rare),
  'a common word': ({ pick }) => pick(words.common),
  'two words': ({ pick }) => `${pick(words.common)} ${pick(words.medium)}`,
  'two common words': ({ pick }) => `${pick(words.common)} ${pick(words.common)}`,
  'three words': ({ pick }) => `${pick(words.common)} ${pick(words.common)} ${pick(words.medium)}`,
  'one letter': ({ pick }) => pick([...letters]),
  'two letters': ({ pick }) => pick(words.rare).slice(0, 2),
  'three letters': ({ pick }) => pick(words.rare).slice(0, 3),
  'a typo': ({ pick }) => pick(words.rare).replace(/^(..)./, '$1x'),
  'a typo and a word': ({ pick }) =>
    `${pick(words.common)} ${pick(words.rare).replace(/^(..)./, '$1x')}`,
  // Four to eight words, the first ones as frequent as those of a text.
  'a sentence': ({ next, pick, pickZipf }) => {
    const first = Array.from({ length: 3 + Math.floor(next() * 5) }, () => pickZipf(vocabulary))
    return [...first, pick(words.medium)].join(' ')
  },
  'nothing has all': ({ pick }) =>
    `${pick(words.rare)} ${pick(words.common)} ${pick(words.rare)} ${pick(words.rare)}`,
  'nothing has any': ({ pick }) => `${pick(words.rare).replace(/^(..)/, 'qq')}qq`,
} satisfies Record<string, (random: Random) => string>

export type SearchKind = keyof typeof searchTexts
export const searchKinds = Object.keys(searchTexts) as SearchKind[]

export type Search = { kind: SearchKind; target: string; isSorted: boolean }

/**
 * Distinct searches of all kinds in turn: on page 1 or 40, with and without a category. A fifth has
 * a `sort` (`isSorted`).
 */
export function searches(count: number): Search[] {
  const random = randomFrom(4)
  const byTarget = new Map<string, Search>()
  for (let index = 0; byTarget.size < count; index++) {
    const kind = searchKinds[index % searchKinds.length] ?? 'a rare word'
    const isSorted = random.next() < 0.2
    const query = new URLSearchParams({
      search: searchTexts[kind](random),
      ...(random.next() < 0.3 && { page: '40' }),
      ...(random.next() < 0.3 && { category: random.pick(categories) }),
      ...(isSorted && { sort: random.pick(sortOrders) }),
    })
    const target = `/apps?${query}`
    byTarget.set(target, { kind, target, isSorted })
  }
  return [...byTarget.values()]
}

/** Searches for words that `searches` does not use. */
export const warmUpSearches = (count: number) => {
  const { pick } = randomFrom(5)
  const unused = vocabulary.slice(1000, 10_000)
  return Array.from({ length: count }, () => `/apps?search=${pick(unused)}+${pick(unused)}`)
}

/** Disjoint parts of a list, all of the same length. */
export function splitEvenly<T>(list: readonly T[], parts: number): T[][] {
  const length = Math.floor(list.length / parts)
  return Array.from({ length: parts }, (_, part) => list.slice(part * length, (part + 1) * length))
}

const listPaths = (query: string[]) =>
  permutations(query).map((parameters) => `/apps?${parameters.join('&')}`)

const permutations = <T>(list: readonly T[]): T[][] =>
  list.length === 0
    ? [[]]
    : list.flatMap((first, index) =>
        permutations(list.toSpliced(index, 1)).map((rest) => [first, ...rest]),
      )

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)
