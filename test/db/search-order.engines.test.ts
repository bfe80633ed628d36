import { expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { addListed, findPage, type ListedApp, openListed } from '../support/listed-apps.ts'

/** Whole searches, page by page, on either engine, compared with what a loop over all apps finds. */

async function slugsOnPages(
  database: Database,
  query: { search: string; sort?: 'popular' },
  limit: number,
) {
  const slugs: string[] = []
  for (let page = 1, total = 1; (page - 1) * limit < total; page++) {
    const found = await findPage(database, { ...query, page, limit })
    total = found.total
    slugs.push(...found.apps.map(({ slug }) => slug))
  }
  expect(slugs).toHaveLength((await findPage(database, query)).total)
  return slugs
}

type App = ListedApp & Required<Pick<ListedApp, 'slug' | 'total_downloads' | 'description'>>

const byDownloads = (apps: App[]) =>
  apps
    .map((app, index) => ({ ...app, index }))
    .toSorted((a, b) => b.total_downloads - a.total_downloads || b.index - a.index)

/** Whether texts have all words of a search, or words that begin with them. */
const has = (texts: string, search: string, isWhole: boolean) =>
  search.split(' ').every((term) =>
    texts
      .toLowerCase()
      .split(/[ .]/)
      .some((word) => (isWhole ? word === term : word.startsWith(term))),
  )

test('names precede texts and whole words precede beginnings, in the same order on any pages', async () => {
  const words = ['ant', 'antler', 'bee', 'beetle', 'cat', 'catfish']
  /** Some words, by the bits of a number. */
  const some = (bits: number) => words.filter((_, index) => (bits >> index) & 1).join(' ')
  const apps: App[] = Array.from({ length: 160 }, (_, index) => ({
    slug: `s${index}`,
    name: some(1 + ((index * 37) % 63)),
    description: index % 4 === 0 ? 'bee cat' : some(1 + ((index * 11) % 63)),
    package_name: `${words[index % 6]}.p.a${index}`,
    // Powers of two, because search ranks each of them differently.
    total_downloads: 2 ** ((index * 7919) % 20),
  }))
  const database = await openListed(apps)

  const tierOf = ({ name, description, package_name }: App, search: string) => {
    const texts = `${name} ${description} ada ${package_name}`
    if (has(name, search, false)) return 'name'
    if (has(texts, search, true)) return 'whole'
    return has(texts, search, false) ? 'prefix' : 'none'
  }
  for (const search of [
    ...['ant', 'an', 'bee cat', 'be ca', 'ant beetle cat'],
    ...['catfish', 'c', 'a p', 'antler a12'],
  ]) {
    const tiers = Map.groupBy(byDownloads(apps), (app) => tierOf(app, search))
    const slugsIn = (tier: ReturnType<typeof tierOf>) =>
      (tiers.get(tier) ?? []).map(({ slug }) => slug)
    const whole = await slugsOnPages(database, { search }, 100)
    const named = whole.slice(0, slugsIn('name').length)
    expect(named.toSorted(), search).toEqual(slugsIn('name').toSorted())

    // Names that have only words of the search come before other texts with all words.
    const isNamed = (slug: string) =>
      apps
        .find((app) => app.slug === slug)
        ?.name.split(' ')
        .every((word) => search.split(' ').includes(word))
    const others = [...slugsIn('whole'), ...slugsIn('prefix')].filter((slug) => !isNamed(slug))
    expect(
      whole.slice(named.length).filter((slug) => others.includes(slug)),
      search,
    ).toEqual(others)
    expect(await slugsOnPages(database, { search }, 19)).toEqual(whole)
  }
})

test('an order finds the same apps whichever way the index is used', async () => {
  const apps: App[] = Array.from({ length: 120 }, (_, index) => ({
    slug: `s${index}`,
    name: `Thing ${index}`,
    description: index % 3 === 0 ? 'common rare' : index % 40 === 1 ? 'rare' : 'common',
    total_downloads: (index * 7919) % 50,
  }))
  const database = await openListed(apps)
  for (const search of ['common', 'rare', 'common rare', 't', 'thing 1']) {
    const expected = byDownloads(apps)
      .filter(({ name, description }) => has(`${name} ${description} ada`, search, false))
      .map(({ slug }) => slug)
    const found = await slugsOnPages(database, { search, sort: 'popular' }, 10)
    expect(found.slice(0, expected.length)).toEqual(expected)
  }
})

test('in an order, the rest of the best fifty follows the apps that have every word', async () => {
  const apps: App[] = Array.from({ length: 90 }, (_, index) => ({
    slug: `s${index}`,
    name: index < 80 ? `Weather ${index}` : `List ${index}`,
    description: index % 45 === 44 ? 'For the weather of tomorrow.' : 'Text.',
    total_downloads: (index * 7919) % 97,
  }))
  const database = await openListed(apps)
  const search = 'weather tomorrow'
  const best = (await findPage(database, { search, limit: 50 })).apps.map(({ slug }) => slug)
  const sorted = (chosen: (slug: string) => boolean) =>
    byDownloads(apps).flatMap(({ slug }) => (chosen(slug) ? [slug] : []))
  const full = sorted((slug) => slug === 's44' || slug === 's89')
  expect(await slugsOnPages(database, { search, sort: 'popular' }, 20)).toEqual([
    ...full,
    ...sorted((slug) => best.includes(slug) && !full.includes(slug)),
  ])
  const page = await findPage(database, { search, sort: 'popular' })
  expect(page.search).toEqual({ full_matches: 2 })
  expect(page.notes).toEqual(['After the first 2 apps, only some words match.'])
  expect(page.total).toBe(50)
})

test('a search returns at most 1,000 apps, and says so', async () => {
  const things = Array.from({ length: 1000 }, (_, index) => ({
    name: `Thing ${index}`,
    description: `Half${index % 2}`,
  }))
  const database = await openListed(things)
  const orders = [
    { order: {}, cut: 'More than 1,000 apps match; these are the best 1,000.' },
    {
      order: { sort: 'latest' as const },
      cut: 'More than 1,000 apps match; these are the first 1,000.',
    },
  ]
  const find = (query: Parameters<typeof findPage>[1]) =>
    findPage(database, { limit: 100, ...query })
  for (const { order } of orders)
    expect(await find({ search: 'thing', page: 10, ...order })).toMatchObject({
      total: 1000,
      notes: [],
    })

  await addListed(database, [{ name: 'Thing, too', slug: 'thing-too' }])
  for (const { order, cut } of orders) {
    const ids = new Set<number>()
    for (let page = 1; page <= 11; page++) {
      const found = await find({ search: 'thing', page, ...order })
      expect([found.total, found.notes]).toEqual([1000, [cut]])
      expect(found.apps).toHaveLength(page <= 10 ? 100 : 0)
      for (const { id } of found.apps) ids.add(id)
    }
    expect(ids.size).toBe(1000)
  }
  expect((await find({ search: 'thimg' })).search).toEqual({
    full_matches: 1000,
    corrected: 'thing',
  })
  expect((await find({ search: 'thing half1' })).search).toEqual({ full_matches: 500 })
  // The list itself is complete.
  expect((await find({})).total).toBe(1001)
})
