import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { share } from '../support/lifetime.ts'
import { findPage, type ListedApp, namesOn, numbered, openListed } from '../support/listed-apps.ts'

/** What a search finds after, or without, apps that have all of its words. */

const names = (...all: string[]): ListedApp[] => all.map((name) => ({ name }))

const weather: ListedApp[] = [
  { name: 'Radar', description: 'Rain on a map.', total_downloads: 1 },
  { name: 'Weather Radar', description: 'Rain.', total_downloads: 50 },
  { name: 'Radar Weather Pro', description: 'Rain.', total_downloads: 70 },
  { name: 'Umbrella', description: 'A weather radar for your pocket.', total_downloads: 900 },
  { name: 'Forecast', description: 'Weather, radar. Snow.', total_downloads: 800 },
  { name: '日本語辞書', description: '言葉を引く。', total_downloads: 3 },
  { name: 'C++ Primer', description: 'Pointers.', total_downloads: 5 },
  { name: '𠮷野家', description: 'Rice.', total_downloads: 6 },
  ...names('Hail', 'Hail Cannon', 'Hail Insurance'),
  { name: 'Storm', description: 'Hail and thunder.' },
  { name: 'Thunder', description: 'No hail.' },
  { name: 'Tide Clock', category: 'tools', total_downloads: 100 },
  { name: 'Calender' },
  ...numbered(21, 'Calendar'),
]

type Info = { full_matches: number; corrected?: string; dropped?: string[] }

describe('if no app has all words, or few have', () => {
  let database: Database
  share(async () => {
    database = await openListed(weather)
  })

  test.for<{ search: string; first: string[]; info: Info; rule: string }>([
    {
      search: 'radar zzz',
      first: ['Radar', 'Radar Weather Pro', 'Weather Radar', 'Umbrella', 'Forecast'],
      info: { full_matches: 0, dropped: ['zzz'] },
      rule: 'an unknown word is dropped',
    },
    {
      search: 'zzz wether',
      first: ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
      info: { full_matches: 0, corrected: 'weather', dropped: ['zzz'] },
      rule: 'an unknown word is dropped, and a typo corrected',
    },
    {
      search: 'how to radar',
      first: ['Radar', 'Radar Weather Pro'],
      info: { full_matches: 0 },
      rule: 'words of the request are dropped without a word',
    },
    {
      search: 'please show zzz radar',
      first: ['Radar', 'Radar Weather Pro'],
      info: { full_matches: 0, dropped: ['zzz'] },
      rule: 'of words of the request and an unknown one, this alone is named',
    },
    {
      search: 'radar pointers',
      first: ['C++ Primer', 'Radar', 'Radar Weather Pro', 'Weather Radar'],
      info: { full_matches: 0 },
      rule: 'the rarer of two words finds the first app',
    },
    {
      search: 'weather snow rice hail',
      first: ['Forecast', 'Weather Radar'],
      info: { full_matches: 0 },
      rule: 'two words find the first app',
    },
    {
      search: '辞書 zzz',
      first: ['日本語辞書'],
      info: { full_matches: 0, dropped: ['zzz'] },
      rule: 'words of a script without spaces are found',
    },
    {
      search: '搜索辞書',
      first: ['日本語辞書'],
      info: { full_matches: 0, dropped: ['搜索'] },
      rule: 'an unknown word of such a script is dropped from what surrounds it',
    },
    {
      search: 'radar a1 a2 a3 a4 a5 a6 a7 rice',
      first: ['Radar', 'Radar Weather Pro'],
      info: { full_matches: 0, dropped: ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'] },
      rule: 'the first eight words count',
    },
    {
      search: 'weather snow',
      first: ['Forecast', 'Weather Radar', 'Radar Weather Pro', 'Umbrella'],
      info: { full_matches: 1 },
      rule: 'apps with some words follow those with all',
    },
    {
      search: 'calender rice',
      first: ['Calender', '𠮷野家'],
      info: { full_matches: 0 },
      rule: 'a word that an app has is not corrected',
    },
  ])('$rule: $search', async ({ search, first, info }) => {
    const page = await findPage(database, { search })
    expect(page.search).toEqual(info)
    expect(namesOn(page).slice(0, first.length)).toEqual(first)
  })

  test('apps of other categories have no say in what matches best in a category', async () => {
    const page = await findPage(database, { search: 'tide radar', category: 'empty' })
    expect(page.search).toEqual({ full_matches: 1 })
    expect(namesOn(page).slice(0, 2)).toEqual(['Radar', 'Radar Weather Pro'])
  })

  test.for<{ finds: string; search: string; apps: string[] }>([
    {
      finds: 'apps that have all words first',
      search: 'weather snow',
      apps: ['Forecast', 'Umbrella', 'Radar Weather Pro', 'Weather Radar'],
    },
    {
      finds: 'the best apps, if none has all',
      search: 'weather snow rice hail',
      apps: ['Umbrella', 'Forecast', 'Radar Weather Pro', 'Weather Radar', '𠮷野家'],
    },
    {
      finds: 'all apps that have the known words',
      search: 'radar zzz',
      apps: ['Umbrella', 'Forecast', 'Radar Weather Pro', 'Weather Radar', 'Radar'],
    },
  ])('an order finds $finds: $search', async ({ search, apps }) => {
    const page = await findPage(database, { search, sort: 'popular' })
    expect(namesOn(page).slice(0, apps.length)).toEqual(apps)
    expect(page.search?.full_matches).toBe(
      (await findPage(database, { search })).search?.full_matches,
    )
  })
})

describe('the first eight words', () => {
  let database: Database
  share(async () => {
    database = await openListed(names('Ferry'))
  })

  test.for<{ one: string; search: string; apps: string[] }>([
    { one: 'the eighth', search: 'a1 a2 a3 a4 a5 a6 a7 ferry', apps: ['Ferry'] },
    { one: 'the eighth of nine', search: 'a1 a2 a3 a4 a5 a6 a7 ferry a9', apps: ['Ferry'] },
    {
      one: 'the eighth, with one of them twice',
      search: 'a1 a1 a2 a3 a4 a5 a6 a7 ferry',
      apps: ['Ferry'],
    },
    { one: 'the ninth', search: 'a1 a2 a3 a4 a5 a6 a7 a8 ferry', apps: [] },
    { one: 'the eighth, with a typo', search: 'a1 a2 a3 a4 a5 a6 a7 ferryx', apps: ['Ferry'] },
    { one: 'the ninth, with a typo', search: 'a1 a2 a3 a4 a5 a6 a7 a8 ferryx', apps: [] },
  ])('are tried alone: one that is $one', async ({ search, apps }) => {
    for (const order of [{}, { sort: 'popular' as const }])
      expect(namesOn(await findPage(database, { search, ...order }))).toEqual(apps)
  })

  test('are no limit for an app that has more', async () => {
    const description = 'b1 b2 b3 b4 b5 b6 b7 b8'
    const listed = await openListed([{ name: 'Ferry', description }])
    const page = await findPage(listed, { search: `${description} ferry` })
    expect([namesOn(page), page.search]).toEqual([['Ferry'], undefined])
  })
})

test.for(['ferry line', 'ferrry line'])(
  'a search and its correction put names with all words before those with some: %s',
  async (search) => {
    const database = await openListed([
      { name: 'Ferry', total_downloads: 1000 },
      { name: 'Ferry Line Timetable' },
      ...numbered(9, 'Line'),
    ])
    const found = namesOn(await findPage(database, { search }))
    expect(found.slice(0, 2)).toEqual(['Ferry Line Timetable', 'Ferry'])
  },
)

test.for(['ferryx', 'ferry zebra'])('an order also sorts what %s finds', async (search) => {
  const database = await openListed([
    { name: 'Ferry Line', total_downloads: 1_000_000 },
    { name: 'Ferry' },
  ])
  expect(namesOn(await findPage(database, { search }))).toEqual(['Ferry', 'Ferry Line'])
  expect(namesOn(await findPage(database, { search, sort: 'popular' }))).toEqual([
    'Ferry Line',
    'Ferry',
  ])
})

describe('single letters', () => {
  let database: Database
  share(async () => {
    database = await openListed([{ name: 'Eis e Mais', description: 'O gelo.' }])
  })

  test.for<{ search: string; found: boolean; info: Info | undefined }>([
    { search: 'e-mail', found: false, info: undefined },
    { search: 'e mail', found: false, info: undefined },
    { search: 'e-mail gelo', found: true, info: { full_matches: 0, dropped: ['mail'] } },
    { search: 'e-maiss', found: true, info: { full_matches: 1, corrected: 'e mais' } },
    { search: 'maix', found: true, info: { full_matches: 1, corrected: 'mais' } },
    { search: 'e-mais', found: true, info: undefined },
  ])('alone find nothing, but beside a known word they may: $search', async (row) => {
    const page = await findPage(database, { search: row.search })
    expect([page.apps.length === 1, page.search]).toEqual([row.found, row.info])
  })
})

/** Each has its own catalogue, and the apps are all that the search finds. */
test.for<{ rule: string; catalogue: ListedApp[]; search: string; apps: string[] }>([
  {
    rule: 'a beginning of two letters is not tried alone',
    catalogue: names('Ferry', 'Radar'),
    search: 'ferry ra',
    apps: ['Ferry'],
  },
  {
    rule: 'a beginning of three letters is tried alone',
    catalogue: names('Ferry', 'Radar'),
    search: 'ferry rad',
    apps: ['Ferry', 'Radar'],
  },
  {
    rule: 'apps with only words of the request are left out',
    catalogue: [
      { name: 'Fiddle', description: 'A violin.' },
      { name: 'How to', total_downloads: 1_000_000 },
      { name: 'Play', description: 'How to win.' },
    ],
    search: 'how to play the violin',
    apps: ['Play', 'Fiddle'],
  },
  {
    rule: 'they are kept if no app has another word',
    catalogue: names('How to', 'Fiddle'),
    search: 'how to violin',
    apps: ['How to'],
  },
  {
    rule: 'an app with one of seven words is kept',
    catalogue: names('Alpha beta', 'Gamma', 'Delta', 'Epsilon', 'Zeta', 'Eta'),
    search: 'alpha beta gamma delta epsilon zeta eta',
    apps: ['Alpha beta', 'Eta', 'Zeta', 'Epsilon', 'Delta', 'Gamma'],
  },
])('$rule: $search', async ({ catalogue, search, apps }) => {
  expect(namesOn(await findPage(await openListed(catalogue), { search }))).toEqual(apps)
})
