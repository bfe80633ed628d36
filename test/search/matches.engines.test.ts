import { describe, expect, test } from 'vitest'
import type { Sort } from '../../src/contract/contract.ts'
import type { Database } from '../../src/db/database.ts'
import { share } from '../support/lifetime.ts'
import {
  findPage,
  fullMatchesOn,
  type ListedApp,
  namesOn,
  openListed,
} from '../support/listed-apps.ts'

/** Which apps have the words of a search, on either engine. */

const weather: ListedApp[] = [
  { name: 'Radar', description: 'Rain on a map.', total_downloads: 1 },
  { name: 'Weather Radar', description: 'Rain.', total_downloads: 50 },
  { name: 'Radar Weather Pro', description: 'Rain.', total_downloads: 70 },
  { name: 'Umbrella', description: 'A weather radar for your pocket.', total_downloads: 900 },
  {
    name: 'Forecast',
    short_description: 'Weather and radar',
    description: 'Snow.',
    total_downloads: 800,
  },
  { name: '日本語辞書', description: '言葉を引く。', total_downloads: 3 },
  {
    name: 'Dictionary',
    description: 'Für 日本語 und Łódź.',
    package_name: 'org.example.wordbook',
    total_downloads: 4,
  },
  { name: 'C++ Primer', description: 'Pointers.', total_downloads: 5 },
  { name: '𠮷野家', description: 'Rice.', total_downloads: 6 },
  { name: 'Яндекс Карты', slug: 'yandeks-karty', total_downloads: 7 },
]

/** Tokens with signs, emoji and joined words, as each engine stores and asks for them. */
const signs: ListedApp[] = [
  { name: 'F-Droid', package_name: 'org.fdroid.fdroid', total_downloads: 1 },
  { name: 'Radio', description: 'Over Wi-Fi. It doesn’t stop.', total_downloads: 4 },
  { name: 'Tuner', description: 'Over wifi. It doesnt stop.', total_downloads: 5 },
  { name: 'Phone', description: 'By AT&T.', total_downloads: 6 },
  { name: 'Rails', description: 'At last the train.', total_downloads: 7 },
  { name: 'Code', description: 'For C++ and C#, by C. Strict.', total_downloads: 8 },
  { name: 'Sea', description: 'For C, F sharp.', total_downloads: 9 },
  { name: 'Player', description: 'كل الموسيقى 🎵', total_downloads: 10 },
  { name: 'Store news', description: 'About org.fdroid.fdroid 👩‍🚀', total_downloads: 11 },
]

/** Texts without spaces between words. */
const runs: ListedApp[] = [
  { name: '漫画喵', description: '在线看日本动漫。', total_downloads: 9 },
  { name: '简单记账', description: '一款记录收支的软件。', total_downloads: 8 },
  { name: '书法软件', total_downloads: 7 },
  { name: '家計簿', description: '毎日の支出をつけるアプリです。', total_downloads: 6 },
  { name: 'อ่านข่าว', description: 'ฟรี', total_downloads: 5 },
]

type Search = { finds: string; search: string; sort?: Sort; apps: string[] }

const searches: { group: string; catalogue: ListedApp[]; rows: Search[] }[] = [
  {
    group: 'words',
    catalogue: weather,
    rows: [
      {
        finds: 'names first, then texts, each by downloads',
        search: 'weather radar',
        apps: ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
      },
      {
        finds: 'all of them in an order that is given',
        search: 'radar',
        sort: 'latest',
        apps: ['Forecast', 'Umbrella', 'Radar Weather Pro', 'Weather Radar', 'Radar'],
      },
      { finds: 'only what has every word', search: 'weather snow', apps: ['Forecast'] },
      {
        finds: 'the beginning of a word',
        search: 'weath',
        apps: ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
      },
      { finds: 'not the middle of a word', search: 'eath', apps: [] },
      {
        finds: 'words whatever their case, diacritics and width',
        search: 'ＬＯＤＺ',
        apps: ['Dictionary'],
      },
      {
        finds: 'the beginning of a text without spaces',
        search: '日本',
        apps: ['日本語辞書', 'Dictionary'],
      },
      { finds: 'the middle of such a text', search: '辞書', apps: ['日本語辞書'] },
      { finds: 'its last character', search: '書', apps: ['日本語辞書'] },
      { finds: 'the whole text', search: '日本語辞書', apps: ['日本語辞書'] },
      { finds: 'not its characters apart', search: '日語', apps: [] },
      { finds: 'a character beyond the basic plane', search: '𠮷', apps: ['𠮷野家'] },
      { finds: 'names of developers', search: 'ada primer', apps: ['C++ Primer'] },
      { finds: 'parts of a package name', search: 'wordbook', apps: ['Dictionary'] },
      { finds: 'a whole package name', search: 'ORG.example.wordbook', apps: ['Dictionary'] },
      { finds: 'a slug, whatever its case', search: 'Yandeks-Karty', apps: ['Яндекс Карты'] },
      {
        finds: 'a slug in an order',
        search: 'yandeks-karty',
        sort: 'latest',
        apps: ['Яндекс Карты'],
      },
      { finds: 'C++ as a word', search: 'c++ primer', apps: ['C++ Primer'] },
      { finds: 'no names of categories', search: 'empty', apps: [] },
      { finds: 'no columns or marks of the index', search: 'category:c3', apps: [] },
    ],
  },
  {
    group: 'signs',
    catalogue: signs,
    rows: [
      { finds: 'joined words', search: 'fdroid', apps: ['F-Droid', 'Store news'] },
      { finds: 'them with another sign', search: "f'droid", apps: ['F-Droid', 'Store news'] },
      { finds: 'a word with a hyphen or a space', search: 'wi fi', apps: ['Tuner', 'Radio'] },
      { finds: 'an apostrophe, whichever', search: "doesn't", apps: ['Tuner', 'Radio'] },
      { finds: 'initials as whole words', search: 'at&t', apps: ['Phone'] },
      { finds: 'C++', search: 'c++', apps: ['Code'] },
      { finds: 'C#', search: 'c#', apps: ['Code'] },
      { finds: 'C with and without signs', search: 'for c', apps: ['Sea', 'Code'] },
      { finds: 'an emoji', search: '🎵', apps: ['Player'] },
      { finds: 'no emoji that begins with the one of the search', search: '👩', apps: [] },
      { finds: 'an Arabic word without its article', search: 'موسيقى', apps: ['Player'] },
    ],
  },
  {
    group: 'runs',
    catalogue: runs,
    rows: [
      { finds: 'a run as it is written', search: '书法软件', apps: ['书法软件'] },
      { finds: 'the words of a run apart', search: '记账软件', apps: ['简单记账'] },
      { finds: 'a verb of one character apart', search: '看漫画', apps: ['漫画喵'] },
      { finds: 'a word that is written twice', search: '漫画漫画', apps: ['漫画喵'] },
      { finds: 'Japanese words apart', search: '家計簿アプリ', apps: ['家計簿'] },
      { finds: 'them in an order', search: '家計簿アプリ', sort: 'latest', apps: ['家計簿'] },
      { finds: 'Thai words apart', search: 'อ่านข่าวฟรี', apps: ['อ่านข่าว'] },
      { finds: 'a run beside other words', search: 'ada记账软件', apps: ['简单记账'] },
    ],
  },
]

describe.for(searches)('$group: a search finds', ({ catalogue, rows }) => {
  let database: Database
  share(async () => {
    database = await openListed(catalogue)
  })

  test.for(rows)('$finds: $search', async ({ finds: _, apps, ...query }) => {
    expect(fullMatchesOn(await findPage(database, query))).toEqual(apps)
  })
})

test('pages have no gaps and no repetitions', async () => {
  const database = await openListed(weather)
  const whole = namesOn(await findPage(database, { search: 'radar' }))
  for (const limit of [1, 2, 3]) {
    const pages: string[] = []
    for (let page = 1; page <= Math.ceil(whole.length / limit); page++) {
      const found = await findPage(database, { search: 'radar', page, limit })
      expect(found.total).toBe(whole.length)
      pages.push(...namesOn(found))
    }
    expect(pages).toEqual(whole)
  }
})

test.for<[search: string, total: number]>([
  ['', weather.length],
  [' ', weather.length],
  ['\u3000\u00a0', weather.length],
  [' radar ', 5],
  ['?', 0],
])('blanks are no search, and signs match nothing: "%s"', async ([search, total]) => {
  const page = await findPage(await openListed(weather), { search })
  expect(page.total).toBe(total)
})

test.for([{}, { sort: 'popular' as const }])(
  'nothing is found by unknown words, %j',
  async (order) => {
    const database = await openListed(weather)
    const { apps, search } = await findPage(database, { search: 'zzz yyy', ...order })
    expect([apps, search]).toEqual([[], undefined])
  },
)
