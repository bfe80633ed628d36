import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findAppPage } from '../../../src/catalogue/app-list.ts'
import type { DatabaseWithTools } from '../../../src/db/tools.ts'
import { nameKey } from '../../../src/search/fold.ts'
import { queryTerms } from '../../../src/search/terms.ts'
import { importLines } from '../../support/catalogue-file.ts'
import { openEmptyCatalogue } from '../../support/database.ts'
import { share } from '../../support/lifetime.ts'
import { listingLines } from './listing-lines.ts'

/** What searches find among real store listings, which are not in the repository; see ../README.md. */

const { PLAY_SAMPLE: folder = '' } = process.env

type Listing = { appId: string; title: string }

/**
 * Makes searches of an app by rule; `isRight` says of the names and package names found, best
 * first, whether they are what must be.
 */
type Rule = {
  searches: (listing: Listing, wordCounts: Map<string, number>) => string[]
  isRight: (found: Listing[], listing: Listing, isForgiven: boolean) => boolean
}

const isFirst = (found: Listing[], { title }: Listing) =>
  found[0] !== undefined && nameKey(found[0].title) === nameKey(title)
const isFound = (found: Listing[], { appId }: Listing) => found.some((one) => one.appId === appId)
const short = (text: string) => [...text].length <= 100
/** Without emoji and what is written without spaces. */
const wordsOf = (text: string) =>
  queryTerms(text).flatMap(({ text, isPrefix }) => (isPrefix ? text : []))
/** Not of several words, as `NewPipe` is. */
const isSingleWord = (text: string) => wordsOf(text).length === 1 && !/\p{Ll}\p{Lu}/u.test(text)

const rules: Record<string, Rule> = {
  'its name first': { searches: ({ title }) => [title].filter(short), isRight: isFirst },
  'its package name first': {
    searches: ({ appId }) => [appId, appId.toUpperCase()].filter(short),
    isRight: ([first], { appId }) => first?.appId === appId,
  },
  'the words of its name in another order': {
    searches: ({ title }) =>
      [wordsOf(title).toReversed().join(' ')].filter((text) => text !== '' && short(text)),
    isRight: isFound,
  },
  'the beginnings of its words': {
    searches: ({ title }) =>
      [
        wordsOf(title)
          .map((word) => [...word].slice(0, 4).join(''))
          .join(' '),
      ].filter((text) => text !== ''),
    isRight: isFound,
  },
  'two words of its name as one': {
    searches: ({ title }) =>
      title.split(/[^\p{L}\p{M}\p{N}]+/u).flatMap((word, index, all) => {
        const pair = [word, all[index + 1] ?? '']
        return pair.every(isSingleWord) && !/^\d+$/.test(pair.join('')) ? [pair.join('')] : []
      }),
    isRight: isFound,
  },
  'a word that it alone has, with a letter less': {
    searches: ({ title }, wordCounts) =>
      wordsOf(title)
        .filter((word) => /^\p{L}{6,}$/u.test(word) && wordCounts.get(word) === 1)
        .map((word) => word.slice(0, 3) + word.slice(4)),
    // Where others have what the slip made, it is no slip.
    isRight: (found, listing, isForgiven) =>
      found.length > 0 && (!isForgiven || isFound(found, listing)),
  },
}

describe.skipIf(folder === '')('of real listings (skipped without PLAY_SAMPLE)', () => {
  const listings: Listing[] =
    folder === '' ? [] : JSON.parse(readFileSync(`${folder}/apps.json`, 'utf8'))
  const words = listings.flatMap(({ title }) => wordsOf(title))
  const wordCounts = new Map(
    [...Map.groupBy(words, (word) => word)].map(([word, { length }]) => [word, length]),
  )

  let database: DatabaseWithTools
  /** The listings that the catalogue has, by the ids of their apps. */
  let imported: Map<number, Listing>
  share(async () => {
    database = await openEmptyCatalogue()
    await importLines(database, listingLines(folder))
    const rows = await database.read(({ sql }) => sql('apps').select('id', 'name', 'package_name'))
    imported = new Map(
      rows.map(({ id, name, package_name }) => [id, { title: name, appId: package_name ?? '' }]),
    )
  })

  test.for(Object.entries(rules))('a search finds %s', async ([, { searches, isRight }]) => {
    const all = [...imported.values()].flatMap((listing) =>
      searches(listing, wordCounts).map((search) => ({ listing, search })),
    )
    expect(all.length).toBeGreaterThan(50)
    const wrong: object[] = []
    for (const { listing, search } of all) {
      const { apps, notes } = await findAppPage(database, { page: 1, limit: 100, search })
      const found = apps.flatMap(({ id }) => imported.get(id) ?? [])
      if (!isRight(found, listing, notes?.length !== 0))
        wrong.push({ search, listing, found: found.slice(0, 3) })
    }
    expect(wrong, `of ${all.length} searches`).toEqual([])
  })
})
