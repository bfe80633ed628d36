import { categories, vocabulary } from './catalogue.ts'
import { type Random, randomFrom } from './random.ts'

/** What is asked for. Whatever is not to be asked for twice comes from a list that has each address once. */

const sorts = ['latest', 'popular', 'rating']

/** Up to here pages are asked for: as far as people go. */
const lastPage = 51
/** Of the smallest category. */
const leastShare = 0.015

/**
 * First and near pages of all apps and of each category, in each order, as the interface's example has them. To a cache an
 * address whose parameters stand in another order is another one; to the database it is the same work.
 */
export function nearPages(size: number): string[] {
  const pages = upTo(Math.max(1, Math.min(lastPage, Math.floor((size * leastShare) / 20))))
  const addresses = pages.flatMap((page) =>
    sorts.flatMap((sort) => {
      const query = [`page=${page}`, 'limit=20', `sort=${sort}`]
      return [
        ...listAddresses(query),
        ...categories.flatMap((category) => listAddresses([...query, `category=${category}`])),
      ]
    }),
  )
  return randomFrom(1).shuffled(addresses)
}

/** First pages alone. */
export const firstPages = () => nearPages(1)

/** Pages from the middle of the catalogue, where the most apps are passed. */
export function latePages(size: number): string[] {
  const middle = Math.ceil(size / 20 / 2)
  const pages = upTo(Math.min(100, middle)).map((page) => middle + 1 - page)
  const addresses = pages.flatMap((page) =>
    sorts.flatMap((sort) => listAddresses([`page=${page}`, 'limit=20', `sort=${sort}`])),
  )
  return randomFrom(2).shuffled(addresses)
}

export const items = (size: number): string[] => randomFrom(3).shuffled(upTo(size).map((id) => `/apps/${id}`))

export const missingItem = '/apps/999999999'

/**
 * Words by how frequent they are. Of a hundred apps the common are in 99 to 6, the medium in 6 to 0.7, and the rare in 1 of
 * 1,500 and fewer.
 */
const words = {
  common: vocabulary.slice(0, 100),
  medium: vocabulary.slice(100, 1000),
  rare: vocabulary.slice(10_000),
}

/** What people type, by kind. */
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
  'a typo and a word': ({ pick }) => `${pick(words.common)} ${pick(words.rare).replace(/^(..)./, '$1x')}`,
  'nothing has all': ({ pick }) => `${pick(words.rare)} ${pick(words.common)} ${pick(words.rare)} ${pick(words.rare)}`,
  'nothing has any': ({ pick }) => `${pick(words.rare).replace(/^(..)/, 'qq')}qq`,
} satisfies Record<string, (random: Random) => string>

const letters = 'abdefghijklmnoprstuvw'

export type SearchKind = keyof typeof searchTexts
export const searchKinds = Object.keys(searchTexts) as SearchKind[]

export type Search = { kind: SearchKind; target: string; isSorted: boolean }

/**
 * As many of each kind, each once: on first and late pages, in a category and in none. A fifth has an order, and is no part of
 * what searches without one are held to.
 */
export function searches(count: number): Search[] {
  const random = randomFrom(4)
  const asked = new Map<string, Search>()
  for (let index = 0; asked.size < count; index++) {
    const kind = searchKinds[index % searchKinds.length] ?? 'a rare word'
    const isSorted = random.next() < 0.2
    const query = new URLSearchParams({
      search: searchTexts[kind](random),
      ...(random.next() < 0.3 && { page: '40' }),
      ...(random.next() < 0.3 && { category: random.pick(categories) }),
      ...(isSorted && { sort: random.pick(sorts) }),
    })
    const target = `/apps?${query}`
    asked.set(target, { kind, target, isSorted })
  }
  return [...asked.values()]
}

/** Of words that no other search has. */
export const warmUpSearches = (count: number) => {
  const { pick } = randomFrom(5)
  const of = vocabulary.slice(1000, 10_000)
  return Array.from({ length: count }, () => `/apps?search=${pick(of)}+${pick(of)}`)
}

/** Parts of a list, one for each of so many, and none in two of them. */
export function splitEvenly<T>(list: readonly T[], parts: number): T[][] {
  const length = Math.floor(list.length / parts)
  return Array.from({ length: parts }, (_, part) => list.slice(part * length, (part + 1) * length))
}

const listAddresses = (query: string[]) => permutations(query).map((parameters) => `/apps?${parameters.join('&')}`)

const permutations = <T>(list: readonly T[]): T[][] =>
  list.length === 0
    ? [[]]
    : list.flatMap((first, index) => permutations(list.toSpliced(index, 1)).map((rest) => [first, ...rest]))

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)
