import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import { changeApps, findApp, type NewAppRow, saveApp } from '../../src/catalogue/app-store.ts'
import type { Database } from '../../src/db/database.ts'
import { toSearchDocument } from '../../src/search/terms.ts'
import { expectConsistent, findNames } from '../support/consistency.ts'
import { share } from '../support/lifetime.ts'
import { seed } from '../support/random.ts'
import { addReviews } from '../support/reviews.ts'
import { type Service, startService } from '../support/service.ts'
import { sortOrders } from '../support/sort-orders.ts'

type Listed = { name: string; slug: string }
const namesOf = (reply: { body: { data: { apps: Listed[] } } }) =>
  reply.body.data.apps.map(({ name }) => name)

/** The apps of a page that match the whole search. */
const fullMatchesOf = (reply: {
  body: { data: { apps: Listed[]; search?: { full_matches: number } } }
}) => namesOf(reply).slice(0, reply.body.data.search?.full_matches)

/** Puts approved apps of Ada's into the database, in the order of approval. */
async function publish({ database, world }: Service, apps: Partial<NewAppRow>[]) {
  await database.write(async (runner) => {
    const ada = await runner.sql('developers').where({ name: 'Ada' }).first()
    const rows = apps.map((app, index) => {
      const at = new Date(Date.UTC(2030, 0, 1, 0, 0, index)).toISOString()
      const row: NewAppRow = {
        developer_id: ada?.id ?? 0,
        category_id: world.categories.empty,
        status: 'approved',
        approved_at: at,
        created_at: at,
        updated_at: at,
        total_downloads: 0,
        package_name: null,
        version: '1.0.0',
        name: `App ${index}`,
        short_description: null,
        rejection_reason: null,
        description: 'Text.',
        ...app,
      }
      return { app: row, at }
    })
    await changeApps(runner, 'app create', { inserts: rows }, { operator: 'test' })
  })
}

/** A service with these apps for all tests of a `describe`, if they only read. */
function withApps(apps: Partial<NewAppRow>[], prepare?: (service: Service) => Promise<void>) {
  let service: Service
  share(async () => {
    service = await startService()
    await publish(service, apps)
    await prepare?.(service)
  })
  return { get: (path: string) => service.get(path) }
}

/** The slugs on all pages of a search among the published apps. */
async function allPages(database: Database, search: string, limit: number): Promise<string[]> {
  const slugs: string[] = []
  for (let page = 1, total = 1; (page - 1) * limit < total; page++) {
    const shown = await findAppPage(database, { page, limit, search, category: 'empty' })
    total = shown.total
    slugs.push(...shown.apps.map(({ slug }) => slug))
  }
  expect(slugs.length, search).toBe(
    (await findAppPage(database, { page: 1, limit: 1, search, category: 'empty' })).total,
  )
  return slugs
}

describe('search', () => {
  const apps: Partial<NewAppRow>[] = [
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
    { name: 'Hail', description: 'Ice.', total_downloads: 2 },
    { name: 'Hail Cannon', description: 'Noise.', total_downloads: 9 },
    { name: 'Hail Insurance', description: 'Paper of Rida.', total_downloads: 9 },
    { name: 'Storm', description: 'Hail and thunder.', total_downloads: 9 },
    { name: 'Thunder', description: 'No hail.', total_downloads: 9 },
  ]
  const cases: [what: string, query: string, names: string[]][] = [
    [
      'puts the name itself first, then names with the words, then texts, each by downloads',
      'search=weather radar',
      ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
    ],
    [
      'puts a name that equals the search before more popular ones',
      'search=radar',
      ['Radar', 'Radar Weather Pro', 'Weather Radar', 'Umbrella', 'Forecast'],
    ],
    [
      'lets a given sort win',
      'search=radar&sort=latest',
      ['Forecast', 'Umbrella', 'Radar Weather Pro', 'Weather Radar', 'Radar'],
    ],
    [
      'puts the shorter of two names first where their downloads are the same, and the newer of two texts',
      'search=hail',
      ['Hail', 'Hail Cannon', 'Hail Insurance', 'Thunder', 'Storm'],
    ],
    ['wants every word', 'search=weather snow', ['Forecast']],
    [
      'matches the beginning of a word, of the name before others',
      'search=weath',
      ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
    ],
    ['does not match the middle of a word', 'search=eath', []],
    ['minds neither case nor diacritics nor width', 'search=ＬＯＤＺ', ['Dictionary']],
    ['finds text in scripts without spaces', 'search=日本', ['日本語辞書', 'Dictionary']],
    ['finds the middle of such text', 'search=辞書', ['日本語辞書']],
    ['finds its last character', 'search=書', ['日本語辞書']],
    ['finds such text whole', 'search=日本語辞書', ['日本語辞書']],
    ['does not find its characters apart', 'search=日語', []],
    ['finds one character beyond the basic plane', 'search=𠮷', ['𠮷野家']],
    ['searches developer names', 'search=ada primer', ['C++ Primer']],
    ['searches package names', 'search=wordbook', ['Dictionary']],
    ['takes a whole package name', 'search=org.example.wordbook', ['Dictionary']],
    ['takes C++ for text', 'search=c++ primer', ['C++ Primer']],
    ['does not search category names', 'search=empty', []],
    ['cannot reach into the columns of the index', 'search=category:c3', []],
  ]
  const service = withApps(apps)
  test.for(cases)('%s', async ([, query, names]) => {
    expect(fullMatchesOf(await service.get(`/apps?${encodeURI(query)}&category=empty`))).toEqual(
      names,
    )
  })

  /** One app per way to match; better ranks have fewer downloads. */
  const ranked: Partial<NewAppRow>[] = [
    { name: 'Git-Go', total_downloads: 1 },
    { name: 'Other', package_name: 'git.go.example', total_downloads: 50 },
    { name: 'Go git it', total_downloads: 100 },
    { name: 'Gitter gopher', total_downloads: 1000 },
    { name: 'Gitter and gopher', description: 'Git, go.', total_downloads: 900 },
    { name: 'Words', short_description: 'Go', description: 'A git app.', total_downloads: 10_000 },
    { name: 'Git words', description: 'Here you go.', total_downloads: 9000 },
    { name: 'Beginnings', description: 'Gitter, gopher.', total_downloads: 100_000 },
    { name: 'Package', package_name: 'org.git.go', total_downloads: 200_000 },
    { name: 'Git package', package_name: 'com.example.go', total_downloads: 150_000 },
  ]
  const inRanks = [
    'Git-Go',
    'Go git it',
    'Gitter gopher',
    'Gitter and gopher',
    'Words',
    'Git words',
    'Package',
    'Git package',
    'Other',
    'Beginnings',
  ]
  const rankedService = withApps(ranked)
  test.for<[string, string, string[]]>([
    ['puts apps in their best of five tiers, each by downloads', 'search=git-go', inRanks],
    [
      'lets a given sort win over them',
      'search=git-go&sort=latest',
      ranked.map(({ name = '' }) => name).toReversed(),
    ],
    [
      'puts the app with the package name first, however many mention it',
      'search=GIT.go.Example',
      ['Other', 'Git-Go', 'Git package'],
    ],
  ])('%s', async ([, query, names]) => {
    expect(fullMatchesOf(await rankedService.get(`/apps?${query}&category=empty`))).toEqual(names)
  })

  const joined: Partial<NewAppRow>[] = [
    {
      name: 'F-Droid',
      description: 'A store.',
      package_name: 'org.fdroid.fdroid',
      total_downloads: 1,
    },
    { name: 'NewPipe', description: 'A player.', total_downloads: 2 },
    { name: 'Photo Editor', description: 'Of photos.', total_downloads: 3 },
    { name: 'Radio', description: 'Over Wi-Fi. It doesn’t stop.', total_downloads: 4 },
    { name: 'Tuner', description: 'Over wifi. It doesnt stop.', total_downloads: 5 },
    { name: 'Phone', description: 'By AT&T.', total_downloads: 6 },
    { name: 'Rails', description: 'At last the train.', total_downloads: 7 },
    { name: 'Code', description: 'For C++ and C#, by C. Strict.', total_downloads: 8 },
    { name: 'Sea', description: 'For C, F sharp.', total_downloads: 9 },
    { name: 'Player', description: 'كل الموسيقى 🎵', total_downloads: 10 },
    { name: 'Store news', description: 'About org.fdroid.fdroid 👩‍🚀', total_downloads: 11 },
  ]
  const joinedService = withApps(joined)
  test.for<[string, string, string[]]>([
    ['joined words apart', 'f droid', ['F-Droid', 'Store news']],
    ['joined words together', 'fdroid', ['F-Droid', 'Store news']],
    ['the same with another sign', "f'droid", ['F-Droid', 'Store news']],
    ['words in camel case apart', 'new pipe', ['NewPipe']],
    ['a part of such a word', 'pipe', ['NewPipe']],
    ['words of a name together', 'photoeditor', ['Photo Editor']],
    ['a hyphen or none', 'wifi', ['Tuner', 'Radio']],
    ['a hyphen or a space', 'wi fi', ['Tuner', 'Radio']],
    ['an apostrophe or none', 'doesnt', ['Tuner', 'Radio']],
    ['an apostrophe, whichever', "doesn't", ['Tuner', 'Radio']],
    ['initials as whole words', 'at&t', ['Phone']],
    ['C++', 'c%2B%2B', ['Code']],
    ['C#', 'c%23', ['Code']],
    ['C, with and without signs', 'for c', ['Sea', 'Code']],
    ['an emoji', '🎵', ['Player']],
    ['an emoji, and not one that begins with it', '👩', []],
    ['an Arabic word without its article', 'موسيقى', ['Player']],
    ['a package name before those who mention it', 'org.fdroid.fdroid', ['F-Droid', 'Store news']],
  ])('finds %s', async ([, search, names]) => {
    const reply = await joinedService.get(
      `/apps?search=${/%/.test(search) ? search : encodeURIComponent(search)}&category=empty`,
    )
    expect(fullMatchesOf(reply)).toEqual(names)
  })

  const quokkas = withApps([...apps, { id: 50, name: 'Quokka' }, { name: 'Quokkat' }], (service) =>
    service.decide('reject', 50),
  )
  test.for<[string, string, string, string[]]>([
    [
      'a letter too many',
      'raadar',
      'No results for "raadar"; showing "radar".',
      ['Radar', 'Radar Weather Pro', 'Weather Radar', 'Umbrella', 'Forecast'],
    ],
    [
      'one of two words',
      'weather rada1',
      'No results for "rada1"; showing "radar".',
      ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
    ],
    [
      'two words',
      'wether rador',
      'No results for "wether"; showing "weather". No results for "rador"; showing "radar".',
      ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
    ],
    ['a word of three letters, though another is near', 'hal', '', []],
    [
      'a word that begins one, though another is near',
      'rada',
      '',
      ['Radar Weather Pro', 'Radar', 'Weather Radar', 'Umbrella', 'Forecast'],
    ],
    ['what is found as the beginning of a word', 'umbrel', '', ['Umbrella']],
    ['a word that only a hidden app is near', 'compas', '', []],
    [
      'a word near that of a listed app, and near that of one that is no longer listed',
      'quokkas',
      'No results for "quokkas"; showing "quokkat".',
      ['Quokkat'],
    ],
  ])('forgives a typo: %s', async ([, search, message, names]) => {
    const reply = await quokkas.get(`/apps?search=${search}&category=empty`)
    expect(fullMatchesOf(reply)).toEqual(names)
    const others = namesOf(reply).length - names.length
    const sentences = [
      ...(message ? [message] : []),
      ...(others > 0 ? [`After the first ${names.length} apps, only some words match.`] : []),
      names.length === 0 ? 'No apps match.' : 'Page 1 of 1.',
    ]
    expect(reply.body.message).toBe(sentences.join(' '))
  })

  const lanterns = withApps([
    { name: 'Lanternbrake', description: 'For starflights.' },
    { name: 'Harbour Lights' },
    { name: 'Starlight' },
    { name: 'Starflight', total_downloads: 1_000_000 },
    { name: 'Compass' },
  ])
  test.for<[what: string, search: string, message: string, names: string[]]>([
    [
      'in a long word',
      'lanternbreak',
      'No results for "lanternbreak"; showing "lanternbrake". Page 1 of 1.',
      ['Lanternbrake'],
    ],
    [
      'in two words as one',
      'harborlihts',
      'No results for "harborlihts"; showing "harbourlights". Page 1 of 1.',
      ['Harbour Lights'],
    ],
    [
      'unless one would do',
      'starlighz',
      'No results for "starlighz"; showing "starlight". Page 1 of 1.',
      ['Starlight'],
    ],
    [
      'of the most downloaded first',
      'starvligth',
      'No results for "starvligth"; showing "starflight", "starlight". Page 1 of 1.',
      ['Starflight', 'Starlight'],
    ],
    ['not three', 'lamternbreak', 'No apps match.', []],
    ['not in a word of seven letters', 'comqaxs', 'No apps match.', []],
    ['not in the first two letters', 'lxnternbreke', 'No apps match.', []],
    ['not beside another word', 'lanternbreak zebra', 'No apps match.', []],
  ])('forgives two typos %s: %s', async ([, search, message, names]) => {
    for (const sort of ['', '&sort=popular']) {
      const reply = await lanterns.get(`/apps?search=${search}&category=empty${sort}`)
      expect([reply.body.message, namesOf(reply)]).toEqual([message, names])
    }
  })

  test('orders apps by downloads if their names are corrections alike', async () => {
    const service = await startService()
    await publish(service, [{ name: 'Ferry' }, { name: 'Ferrys', total_downloads: 1_000_000 }])
    expect(namesOf(await service.get('/apps?search=ferryx'))).toEqual(['Ferrys', 'Ferry'])
  })

  test.for(['ferryx', 'ferry zebra'])('a given sort also orders what %s finds', async (search) => {
    const service = await startService()
    await publish(service, [{ name: 'Ferry Line', total_downloads: 1_000_000 }, { name: 'Ferry' }])
    expect(namesOf(await service.get(`/apps?search=${search}`))).toEqual(['Ferry', 'Ferry Line'])
    expect(namesOf(await service.get(`/apps?search=${search}&sort=popular`))).toEqual([
      'Ferry Line',
      'Ferry',
    ])
  })

  const ferry = withApps([{ name: 'Ferry' }])
  test.for<[place: string, search: string, names: string[]]>([
    ['the eighth', 'a1 a2 a3 a4 a5 a6 a7 ferry', ['Ferry']],
    ['the eighth of nine', 'a1 a2 a3 a4 a5 a6 a7 ferry a9', ['Ferry']],
    ['the eighth, with one of them twice', 'a1 a1 a2 a3 a4 a5 a6 a7 ferry', ['Ferry']],
    ['the ninth', 'a1 a2 a3 a4 a5 a6 a7 a8 ferry', []],
    ['the eighth, with a typo', 'a1 a2 a3 a4 a5 a6 a7 ferryx', ['Ferry']],
    ['the ninth, with a typo', 'a1 a2 a3 a4 a5 a6 a7 a8 ferryx', []],
  ])('only the first eight words are tried alone: one that is %s', async ([, search, names]) => {
    for (const sort of ['', '&sort=popular'])
      expect(namesOf(await ferry.get(`/apps?search=${search}${sort}`))).toEqual(names)
  })

  test.for<[apps: number, info: object | undefined]>([
    [5, { full_matches: 126, corrected: 'calendar' }],
    [6, undefined],
  ])('a word that %i apps have, and a similar one many, is a typo: %o', async ([apps, info]) => {
    const service = await startService()
    const named = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ name: `${name} ${index}` }))
    await publish(service, [...named('Calender', apps), ...named('Calendar', 121)])
    const { body } = await service.get('/apps?search=calender')
    expect(body.data.search).toEqual(info)
  })

  const google = withApps([
    { name: 'Google+', description: 'An app.' },
    ...Array.from({ length: 21 }, (_, index) => ({ name: `Google App ${index}` })),
  ])
  test.for<[search: string, message: string, corrected: string | undefined]>([
    ['google+ app', 'Few results for "google+"; also showing "google".', 'google app'],
    ['GOOGLE+  Äpp', 'Few results for "google+"; also showing "google".', 'google app'],
    ['app google+ app', 'Few results for "google+"; also showing "google".', 'app google'],
    ['googlr app', 'No results for "googlr"; showing "google".', 'google app'],
    ['googlr google', 'No results for "googlr"; showing "google".', 'google'],
    [
      'google googlr gogle',
      'No results for "googlr"; showing "google". No results for "gogle"; showing "google".',
      'google',
    ],
    [
      'googlr zzz app',
      'No results for "googlr"; showing "google". No app has "zzz".',
      'google app',
    ],
    ['google zzz', 'No app has "zzz".', undefined],
    ['GOOGLE  äpp', '', undefined],
    ['app google', '', undefined],
  ])(
    'the corrected search of "%s" is what was searched for instead',
    async ([search, message, corrected]) => {
      const query = `search=${encodeURIComponent(search)}`
      for (const category of ['', '&category=empty']) {
        const { body } = await google.get(`/apps?${query}${category}`)
        expect(body.data.search?.corrected).toBe(corrected)
        const sentences = body.message.match(/(No|Few) results for .*?\.|No app has .*?\./g) ?? []
        expect(sentences.join(' ')).toBe(message)
      }
    },
  )

  test.for<[beginning: string, names: string[]]>([
    ['ra', ['Ferry']],
    ['rad', ['Radar', 'Ferry']],
  ])('the beginning %s is tried alone, and finds these apps', async ([beginning, names]) => {
    const service = await startService()
    await publish(service, [{ name: 'Ferry' }, { name: 'Radar' }])
    const found = namesOf(await service.get(`/apps?search=ferry+${beginning}&category=empty`))
    expect(found.toSorted()).toEqual(names.toSorted())
  })

  test.for(['ferry line', 'ferrry line'])(
    'a search and its correction put names with all words before those with some: %s',
    async (search) => {
      const service = await startService()
      await publish(service, [
        { name: 'Ferry', total_downloads: 1000 },
        { name: 'Ferry Line Timetable' },
        ...Array.from({ length: 9 }, (_, index) => ({ name: `Line ${index}` })),
      ])
      const reply = await service.get(`/apps?search=${search}&category=empty`)
      expect(namesOf(reply).slice(0, 2)).toEqual(['Ferry Line Timetable', 'Ferry'])
    },
  )

  test('of apps that have the same words and downloads, the newest comes first', async () => {
    const service = await startService()
    const ferries = [1, 2, 3].map((number) => ({ name: 'Ferry', slug: `ferry-no-${number}` }))
    await publish(service, [...ferries, { name: 'Radar' }])
    const { body } = await service.get('/apps?search=ferry+radar')
    const slugs = body.data.apps.map(({ slug }: Listed) => slug)
    expect(slugs.filter((slug: string) => slug.startsWith('ferry'))).toEqual([
      'ferry-no-3',
      'ferry-no-2',
      'ferry-no-1',
    ])
  })

  test.for<[place: string, at: number, first: string]>([
    ['ends within the first 250 characters', 244, 'Early'],
    ['is cut by their end', 245, 'Late'],
  ])('an app whose word %s, and a popular one that has it later: %s', async ([, at, first]) => {
    const service = await startService()
    const before = 'Early\nAda\n\n'.length
    await publish(service, [
      { name: 'Early', description: `${'.'.repeat(at - before)}zephyr`, total_downloads: 1 },
      { name: 'Late', description: `${'.'.repeat(400)}zephyr`, total_downloads: 1000 },
    ])
    expect(namesOf(await service.get('/apps?search=zephyr'))[0]).toBe(first)
  })

  test('finds an app that has all nine words', async () => {
    const service = await startService()
    await publish(service, [{ name: 'Ferry', description: 'b1 b2 b3 b4 b5 b6 b7 b8' }])
    const reply = await service.get('/apps?search=b1+b2+b3+b4+b5+b6+b7+b8+ferry')
    expect(fullMatchesOf(reply)).toEqual(['Ferry'])
  })

  test('finds the new text of an updated app in a script without spaces, and no longer the old one', async () => {
    const service = await startService()
    await publish(service, [{ id: 50, name: 'Words', description: '日本語辞書' }])
    const found = async (search: string) =>
      namesOf(await service.get(`/apps?category=empty&search=${encodeURIComponent(search)}`))
    expect(await found('日本語')).toEqual(['Words'])
    await service.request('PUT', '/apps/50', {
      key: service.world.keys.ada,
      json: { description: '語日本、天気図' },
    })
    expect([await found('天気図'), await found('日本語')]).toEqual([['Words'], []])
  })

  test('does not correct a word that an app of another category has', async () => {
    const service = await startService()
    await publish(service, [{ name: 'Tile Clock' }])
    const { body } = await service.get('/apps?search=tide&category=empty')
    expect([body.message, namesOf({ body })]).toEqual(['No apps match.', []])
  })

  test.for<[what: string, search: string, message: string, info: object, names: string[]]>([
    [
      'without an unknown word',
      'radar zzz',
      'No app has "zzz".',
      { full_matches: 0, dropped: ['zzz'] },
      ['Radar', 'Radar Weather Pro', 'Weather Radar', 'Umbrella', 'Forecast'],
    ],
    [
      'without an unknown word, and with a typo corrected',
      'zzz wether',
      'No results for "wether"; showing "weather". No app has "zzz".',
      { full_matches: 0, corrected: 'weather', dropped: ['zzz'] },
      ['Weather Radar', 'Radar Weather Pro', 'Umbrella', 'Forecast'],
    ],
    [
      'without words of the request, of which it says nothing',
      'how to radar',
      'No app matches all words; these match some of them.',
      { full_matches: 0 },
      ['Radar', 'Radar Weather Pro'],
    ],
    [
      'without such words and an unknown one, of which alone it says so',
      'please show zzz radar',
      'No app has "zzz".',
      { full_matches: 0, dropped: ['zzz'] },
      ['Radar', 'Radar Weather Pro'],
    ],
    [
      'by the rarer of two words',
      'radar pointers',
      'No app matches all words; these match some of them.',
      { full_matches: 0 },
      ['C++ Primer', 'Radar', 'Radar Weather Pro', 'Weather Radar'],
    ],
    [
      'by the words that it has together',
      'weather snow rice hail',
      'No app matches all words; these match some of them.',
      { full_matches: 0 },
      ['Forecast', 'Weather Radar'],
    ],
    [
      'by words of a script without spaces',
      '辞書 zzz',
      'No app has "zzz".',
      { full_matches: 0, dropped: ['zzz'] },
      ['日本語辞書'],
    ],
    [
      'by the first eight words',
      'radar a1 a2 a3 a4 a5 a6 a7 rice',
      'No app has "a1", "a2", "a3", "a4", "a5", "a6", "a7".',
      { full_matches: 0, dropped: ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'] },
      ['Radar', 'Radar Weather Pro'],
    ],
    [
      'by the words that apps of the category have',
      'tide radar',
      'After the first app, only some words match.',
      { full_matches: 1 },
      ['Radar', 'Radar Weather Pro'],
    ],
    [
      'after those that have all',
      'weather snow',
      'After the first app, only some words match.',
      { full_matches: 1 },
      ['Forecast', 'Weather Radar', 'Radar Weather Pro', 'Umbrella'],
    ],
  ])('finds apps %s', async ([, search, message, info, names]) => {
    const { body } = await service.get(`/apps?search=${encodeURIComponent(search)}&category=empty`)
    expect(body.message).toBe(`${message} Page 1 of 1.`)
    expect(body.data.search).toEqual(info)
    expect(namesOf({ body }).slice(0, names.length)).toEqual(names)
  })

  const fillers: Partial<NewAppRow>[] = [
    { name: 'MyDial', total_downloads: 1_000_000 },
    { name: 'Need a Ride' },
    { name: 'I Read' },
    { name: 'Please Open' },
    { name: 'Best Free' },
  ]
  const quills: Partial<NewAppRow>[] = [
    { name: 'Quill+', description: 'Letters.', total_downloads: 1_000_000_000 },
    { name: 'Quill', description: 'Letters.', total_downloads: 1_000_000_000 },
    ...Array.from({ length: 22 }, (_, index) => ({
      name: `Pen ${index}`,
      description: 'An app for a quill. Free.',
      total_downloads: 1000,
    })),
  ]
  const calculators: Partial<NewAppRow>[] = [
    { name: 'Please Knock' },
    { name: 'Open Kite' },
    ...Array.from({ length: 60 }, (_, index) => ({ name: `Calculator A${index}` })),
  ]
  test.for<[what: string, apps: Partial<NewAppRow>[], search: string, first: string[]]>([
    [
      'the subject of a search after a rarer word of it',
      calculators,
      'calculator kite',
      ['Open Kite', 'Calculator A9', 'Calculator A8'],
    ],
    [
      'the same despite words of a request, which no app need have',
      calculators,
      'please open the calculator',
      ['Open Kite', 'Calculator A9', 'Calculator A8'],
    ],
    [
      'the same among more such words',
      calculators,
      'where can i get a calculator with a kite, please',
      ['Open Kite', 'Calculator A9', 'Calculator A8'],
    ],
    [
      'the subject of a question before names with words of the question',
      [
        { name: 'Howlet', total_downloads: 1000 },
        { name: 'My Kite', total_downloads: 1000 },
        ...Array.from({ length: 40 }, (_, index) => ({
          name: `Chord Studio ${index}`,
          description: 'Make music.',
        })),
        ...Array.from({ length: 300 }, (_, index) => ({ name: `Other ${index}` })),
      ],
      'how to make music on my computer',
      ['Chord Studio 39', 'Chord Studio 38'],
    ],
    [
      'what is asked for before names with a word of the request and names that begin with one',
      [
        { name: 'Where', total_downloads: 1000 },
        { name: 'Wherever', total_downloads: 1000 },
        { name: 'Tide Table' },
        ...Array.from({ length: 20 }, (_, index) => ({ name: `Tide Clock ${index}` })),
      ],
      'where are the tides',
      ['Tide Table', 'Tide Clock 9'],
    ],
    [
      'names with or beginning with such words, if there are no others',
      [{ name: 'Where' }, { name: 'Howlet' }, { name: 'Unrelated' }],
      'where and how',
      ['Where', 'Howlet'],
    ],
    [
      'both of two misspelt words, of which one without its ending is another word',
      [{ name: 'Swim Diary' }, { name: 'Riverly Swimming' }, { name: 'Other' }],
      'rivrly swiming',
      ['Riverly Swimming'],
    ],
    [
      'such a word alone, after the apps that have another form of it',
      [{ name: 'Riverly Swimming' }, { name: 'Swim Diary' }],
      'swiming',
      ['Swim Diary', 'Riverly Swimming'],
    ],
    [
      'the corrections of two words, though no app has both',
      [
        { name: 'Swim Diary' },
        { name: 'Swimming' },
        { name: 'Riverly' },
        ...Array.from({ length: 20 }, (_, index) => ({ name: `Diary ${index}` })),
      ],
      'rivrly swiming diary',
      ['Riverly', 'Swim Diary', 'Swimming'],
    ],
    [
      'the correction of a word beside a word that many apps have',
      [
        { name: 'Riverly' },
        ...Array.from({ length: 20 }, (_, index) => ({ name: `Diary ${index}` })),
      ],
      'rivrly diary',
      ['Riverly', 'Diary 9'],
    ],
    [
      'an app that is named, beside one that mentions it',
      [
        { name: 'Instagram', description: 'Photos.', total_downloads: 1_000_000_000 },
        { name: 'Reposter', description: 'An app for Instagram.' },
      ],
      'instagram app',
      ['Instagram', 'Reposter'],
    ],
    [
      'known words before guesses',
      [{ name: 'Uber' }, { name: 'Uber Eats' }, { name: 'Left', total_downloads: 1_000_000 }],
      'uber lyft',
      ['Uber', 'Uber Eats'],
    ],
    [
      'a name and a number that other apps have',
      [
        { name: 'Firefox' },
        { name: 'Firefox Lite' },
        { name: 'Zero', description: 'Version 0.' },
        { name: 'Two', description: 'Version 2.' },
      ],
      'firefox 2.0',
      ['Firefox', 'Firefox Lite'],
    ],
    [
      'a name before one with the numbers in another order',
      [
        { name: 'Launcher Oak 8.1', total_downloads: 1000 },
        { name: 'Blockcraft' },
        { name: 'Oak' },
      ],
      'blockcraft 1.8',
      ['Blockcraft'],
    ],
    [
      'a name with the number that is searched for first',
      [{ name: 'Tiles 512' }, { name: 'Tiles 2048', total_downloads: 1000 }, { name: 'Oak' }],
      'free tiles 512',
      ['Tiles 512'],
    ],
    [
      'an app that does what is asked for before names with words of the question',
      [...fillers, { name: 'Fiddle', description: 'Tunes a violin by ear.' }],
      'what do i need to tune my violin',
      ['Fiddle'],
    ],
    [
      'the same before a popular name that is a frequent word',
      [
        { name: 'Best', total_downloads: 100_000 },
        { name: 'Fiddle', description: 'A violin.', total_downloads: 10_000 },
        { name: 'Shop', description: 'Cheap.' },
        ...Array.from({ length: 9 }, (_, index) => ({
          name: `App ${index}`,
          description: 'Best.',
        })),
        ...Array.from({ length: 50 }, (_, index) => ({ name: `Other ${index}` })),
      ],
      'best cheap violin',
      ['Fiddle'],
    ],
    [
      'the frequent word that a rare misspelling is meant to be',
      [
        { name: 'Diary', description: 'With a calender.' },
        ...Array.from({ length: 21 }, (_, index) => ({ name: `Calendar ${index}` })),
      ],
      'calender',
      ['Diary', 'Calendar 9'],
    ],
    [
      'words that begin with the search before joined words',
      [
        { name: 'The Medical App', total_downloads: 1_000_000 },
        { name: 'Theme Store', total_downloads: 1 },
      ],
      'theme',
      ['Theme Store'],
    ],
    [
      'joined words only as a whole',
      [{ name: 'In Style' }, { name: 'Instant' }],
      'inst',
      ['Instant'],
    ],
    ['joined words as a whole', [{ name: 'For Me' }, { name: 'Form' }], 'forme', ['For Me']],
    [
      'initials before beginnings',
      [
        { name: 'Attack of Tanks', total_downloads: 1_000_000 },
        { name: 'AT&T TV', total_downloads: 1000 },
      ],
      'AT&T',
      ['AT&T TV'],
    ],
    [
      'initials alone if no other word begins with them',
      [{ name: 'Big House' }, { name: 'B&H Photo' }],
      'B&H',
      ['B&H Photo'],
    ],
    ['the word without its symbols', [{ name: 'Notepad' }], 'notepad++', ['Notepad']],
    [
      'the word with its symbols, if there is one',
      [{ name: 'Notepad', total_downloads: 1_000_000 }, { name: 'Notepad++' }],
      'notepad++',
      ['Notepad++'],
    ],
    [
      'names that begin with the search before those with a part in camel case',
      [{ name: 'ERPNext' }, { name: 'Nextcloud' }],
      'next',
      ['Nextcloud', 'ERPNext'],
    ],
    ['a popular app before texts with a generic word', quills, 'quill app', ['Quill']],
    ['the same despite a symbol', quills, 'quill+ app', ['Quill', 'Quill+']],
    ['the same despite a further word', quills, 'quill free app', ['Quill']],
    [
      'an unpopular app after texts that have more of the search than its name',
      [...quills.slice(2), { name: 'Quill' }],
      'quill app',
      ['Pen 21', 'Pen 20'],
    ],
    ['a name without its trademark', [{ name: 'GEM™' }], 'gem', ['GEM™']],
    ['Persian letters by Arabic ones', [{ name: 'کتابخانه‌ی من' }], 'كتابخانهي', ['کتابخانه‌ی من']],
    ['teh marbuta by heh', [{ name: 'مكتبة' }], 'مكتبه', ['مكتبة']],
    ['heh with a hamza by heh', [{ name: 'خانۀ ما' }], 'خانه', ['خانۀ ما']],
    ['a nasal by an anusvara', [{ name: 'हिन्दी शब्दकोश' }], 'हिंदी', ['हिन्दी शब्दकोश']],
    ['an anusvara by a nasal', [{ name: 'हिंदी शब्दकोश' }], 'हिन्दी', ['हिंदी शब्दकोश']],
    [
      'the whole slug first',
      [{ name: 'Яндекс Карты', slug: 'yandeks-karty' }, { name: 'Karty' }],
      'yandeks-karty',
      ['Яндекс Карты', 'Karty'],
    ],
    [
      'the app of what is searched for before those that mention the words later',
      [
        {
          name: 'Courier',
          description: `Parcels. ${'More about parcels. '.repeat(20)} Send an email to a client.`,
          total_downloads: 1_000_000,
        },
        { name: 'K-9', description: 'An email client.' },
      ],
      'email client',
      ['K-9', 'Courier'],
    ],
    [
      'rare words before words that nearly all apps have',
      [
        ...Array.from({ length: 40 }, (_, index) => ({
          name: `App ${index}`,
          description: 'How to do things in my notes.',
          total_downloads: 1_000_000,
        })),
        { name: 'Sketch', description: 'Draw diagrams.' },
      ],
      'how do i draw in my notes',
      ['Sketch'],
    ],
  ])('finds %s', async ([, apps, search, first]) => {
    const service = await startService()
    await publish(service, apps)
    const found = namesOf(
      await service.get(`/apps?search=${encodeURIComponent(search)}&category=empty`),
    )
    // Of two apps, only those that are listed here.
    expect(apps.length > 2 ? found.slice(0, first.length) : found).toEqual(first)
  })

  test.for<
    [what: string, developer: string, apps: Partial<NewAppRow>[], search: string, names: string[]]
  >([
    [
      'before a more popular one that only mentions the developer',
      'Quillfox',
      [
        { name: 'Tray Extra', description: 'Works with Quillfox.', total_downloads: 1_000_000 },
        { name: 'Lampworks', developer_id: 0 },
      ],
      'quillfox',
      ['Lampworks', 'Tray Extra'],
    ],
    [
      'by a word of the name and one of the developer',
      'Quillfox Labs',
      [
        { name: 'Tray', description: 'Lampworks by Quillfox.', total_downloads: 1_000_000 },
        { name: 'Lampworks', developer_id: 0 },
      ],
      'quillfox lampworks',
      ['Lampworks', 'Tray'],
    ],
    [
      'after more popular ones of a subject that the developer is named like',
      'Music Labs',
      [
        { name: 'Player', description: 'Plays music.', total_downloads: 3000 },
        { name: 'Tuner', description: 'For music.', total_downloads: 2000 },
        { name: 'Calculator', developer_id: 0 },
      ],
      'music',
      ['Player', 'Tuner', 'Calculator'],
    ],
  ])("finds a developer's app %s", async ([, name, apps, search, names]) => {
    const service = await startService()
    const { id } = await service.database.write((runner) => findOrAddDeveloper(runner, name))
    const owned = apps.map((app) => (app.developer_id === 0 ? { ...app, developer_id: id } : app))
    await publish(service, owned)
    expect(namesOf(await service.get(`/apps?search=${search}&category=empty`))).toEqual(names)
  })

  test.for<[what: string, apps: Partial<NewAppRow>[], search: string, found: string[]]>([
    [
      'leaves out apps with only words of the request',
      [
        { name: 'Fiddle', description: 'A violin.' },
        { name: 'How to', total_downloads: 1_000_000 },
        { name: 'Play', description: 'How to win.' },
      ],
      'how to play the violin',
      ['Play', 'Fiddle'],
    ],
    [
      'takes another form of a word for no typo',
      [{ name: 'Recorder' }, { name: 'Recorderz', total_downloads: 1000 }, { name: 'Flute' }],
      'recorders flute',
      ['Flute', 'Recorder'],
    ],
    [
      'keeps them if no app has another word',
      [{ name: 'How to' }, { name: 'Fiddle' }],
      'how to violin',
      ['How to'],
    ],
    [
      'keeps apps with one of seven words',
      ['Alpha beta', 'Gamma', 'Delta', 'Epsilon', 'Zeta', 'Eta'].map((name) => ({ name })),
      'alpha beta gamma delta epsilon zeta eta',
      ['Alpha beta', 'Eta', 'Zeta', 'Epsilon', 'Delta', 'Gamma'],
    ],
  ])('%s', async ([, apps, search, found]) => {
    const service = await startService()
    await publish(service, apps)
    expect(namesOf(await service.get(`/apps?search=${search}&category=empty`))).toEqual(found)
  })

  test.for(['yandeks-karty', 'Yandeks-Karty&sort=latest'])(
    'finds an app by its slug: %s',
    async (search) => {
      const service = await startService()
      await publish(service, [{ name: 'Яндекс Карты', slug: 'yandeks-karty' }])
      const reply = await service.get(`/apps?search=${search}`)
      expect([namesOf(reply), reply.body.message]).toEqual([['Яндекс Карты'], 'Page 1 of 1.'])
    },
  )

  const eis = withApps([{ name: 'Eis e Mais', description: 'O gelo.' }])
  test.for<[search: string, message: string, names: string[]]>([
    ['e-mail', 'No apps match.', []],
    ['e mail', 'No apps match.', []],
    ['e-mail gelo', 'No app has "mail". Page 1 of 1.', ['Eis e Mais']],
    ['e-maiss', 'No results for "maiss"; showing "mais". Page 1 of 1.', ['Eis e Mais']],
    ['maix', 'No results for "maix"; showing "mais". Page 1 of 1.', ['Eis e Mais']],
    ['e-mais', 'Page 1 of 1.', ['Eis e Mais']],
  ])('a letter beside a short word may belong to it: %s', async ([search, message, names]) => {
    const { body } = await eis.get(`/apps?search=${search}&category=empty`)
    expect([body.message, namesOf({ body })]).toEqual([message, names])
  })

  test('finds nothing if no word is known', async () => {
    for (const sort of ['', '&sort=popular']) {
      const { body } = await service.get(`/apps?search=zzz+yyy&category=empty${sort}`)
      expect([body.message, body.data.search, namesOf({ body })]).toEqual([
        'No apps match.',
        undefined,
        [],
      ])
    }
  })

  test.for<[what: string, search: string, message: string, names: string[]]>([
    ['only apps that have all words', 'weather snow', '', ['Forecast']],
    [
      'apps that have the words of the best match, if none has all',
      'weather snow rice hail',
      'No app matches all words; these match some of them. ',
      ['Forecast'],
    ],
    [
      'all apps that have the known words',
      'radar zzz',
      'No app has "zzz". ',
      ['Umbrella', 'Forecast', 'Radar Weather Pro', 'Weather Radar', 'Radar'],
    ],
  ])('with a sort, finds %s', async ([, search, message, names]) => {
    const { body } = await service.get(
      `/apps?search=${encodeURIComponent(search)}&category=empty&sort=popular`,
    )
    expect([body.message, namesOf({ body })]).toEqual([`${message}Page 1 of 1.`, names])
  })

  const popular = withApps([
    { name: 'Maps', total_downloads: 3 },
    { name: 'Star Maps', total_downloads: 1_000_000 },
    { name: 'Instagram', total_downloads: 1_000_000_000 },
    { name: 'Insta Size', total_downloads: 10_000 },
    { name: 'Tile Game', total_downloads: 100 },
    { name: 'Game Tile', total_downloads: 100 },
    { name: 'Gam Online', total_downloads: 100 },
    { name: 'Planet Nine' },
    { name: 'Popular', description: 'Planet.', total_downloads: 1_000_000_000 },
  ])
  test.for<[what: string, search: string, first: string[]]>([
    ['an equal name, however few know it', 'maps', ['Maps', 'Star Maps']],
    [
      'a popular name that goes on before an unpopular closer one',
      'insta',
      ['Instagram', 'Insta Size'],
    ],
    ['of equally popular names the one that the search begins', 'tile', ['Tile Game', 'Game Tile']],
    ['of equally popular names the one with the whole word', 'gam', ['Gam Online', 'Game Tile']],
    ['a name before texts, however popular', 'planet', ['Planet Nine', 'Popular']],
    ['the words in their order', 'game tile', ['Game Tile', 'Tile Game']],
  ])('puts %s first', async ([, search, first]) => {
    const names = namesOf(await popular.get(`/apps?search=${search}&category=empty`))
    expect(names.filter((name) => first.includes(name))).toEqual(first)
    expect(names[0]).toBe(first[0])
  })

  test.for<[what: string, apps: Partial<NewAppRow>[], search: string, found: string[]]>([
    [
      'the word as it is written before its singular, however popular, and names before texts',
      [
        { name: 'Recorder', total_downloads: 1_000_000 },
        { name: 'Recorders of Ulm' },
        { name: 'Flute', description: 'Unlike recorders.', total_downloads: 1_000_000 },
        { name: 'Oboe', description: 'Unlike a recorder.', total_downloads: 1_000_000_000 },
      ],
      'recorders',
      ['Recorders of Ulm', 'Recorder', 'Flute', 'Oboe'],
    ],
    [
      'the singular before a text with the plural',
      [{ name: 'Compass' }, { name: 'Maps', description: 'With compasses.' }],
      'compasses',
      ['Compass', 'Maps'],
    ],
    [
      'who does what is searched for',
      [{ name: 'Picture Sharpener' }, { name: 'Pictures', total_downloads: 1_000_000 }],
      'sharpening pictures',
      ['Picture Sharpener', 'Pictures'],
    ],
    ['what is done', [{ name: 'Map Editor' }], 'edited maps', ['Map Editor']],
    ['a word whose ending doubles a letter', [{ name: 'Map' }], 'mapping', ['Map']],
    ['no other words of another language', [{ name: 'Dans' }], 'danser', []],
  ])('finds %s', async ([, apps, search, found]) => {
    const service = await startService()
    await publish(service, apps)
    expect(namesOf(await service.get(`/apps?search=${search}&category=empty`))).toEqual(found)
    if (search !== 'recorders') return
    const sorted = await service.get(`/apps?search=${search}&category=empty&sort=popular`)
    expect(namesOf(sorted)).toEqual(['Oboe', 'Flute', 'Recorder', 'Recorders of Ulm'])
  })

  test('returns at most 1,000 apps, and says so', async () => {
    const service = await startService()
    await publish(
      service,
      Array.from({ length: 1000 }, (_, index) => ({
        name: `Thing ${index}`,
        description: `Half${index % 2}`,
      })),
    )
    const all = 'search=thing&category=empty&limit=100'
    const whole = await service.get(`/apps?${all}&page=10`)
    expect([whole.body.message, whole.body.data.apps.length]).toEqual(['Page 10 of 10.', 100])
    const sorted = await service.get(`/apps?${all}&sort=popular&page=10`)
    expect([sorted.body.message, sorted.body.data.apps.length]).toEqual(['Page 10 of 10.', 100])
    await publish(service, [{ name: 'Thing, too', slug: 'thing-too' }])
    for (const [sort, which] of [
      ['', 'best'],
      ['&sort=latest', 'first'],
    ] as const) {
      const note = `More than 1,000 apps match; these are the ${which} 1,000.`
      const pages = []
      for (let page = 1; page <= 11; page++)
        pages.push(await service.get(`/apps?${all}${sort}&page=${page}`))
      expect(pages.map(({ body }) => body.message)).toEqual(
        pages.map((_, index) => `${note} Page ${index + 1} of 10.`),
      )
      expect(pages.map(({ body }) => body.data.apps.length)).toEqual([...Array(10).fill(100), 0])
      expect(new Set(pages.flatMap(namesOf)).size).toBe(1000)
      expect(pages[9]?.headers.link).toContain('rel="last"')
      expect(pages[9]?.headers.link).not.toContain('rel="next"')
    }
    const corrected = await service.get('/apps?search=thimg&category=empty')
    expect(corrected.body.data.search).toEqual({ full_matches: 1000, corrected: 'thing' })
    // The list itself is complete.
    expect(
      (await service.get('/apps?category=empty&limit=100')).body.data.pagination.total_pages,
    ).toBe(11)
    const half = await service.get('/apps?search=thing+half1&category=empty&limit=100')
    expect(half.body.message).toBe('After the first 500 apps, only some words match. Page 1 of 10.')
  })

  test('the message names the most frequent corrections first, and only those with results in the category', async () => {
    const service = await startService()
    await publish(service, [
      { name: 'Terms' },
      { name: 'Termux' },
      { name: 'Termux Tools' },
      { name: 'Term', category_id: service.world.categories.games },
    ])
    const { body } = await service.get('/apps?search=termx&category=empty')
    expect(body.message).toBe('No results for "termx"; showing "termux", "terms". Page 1 of 1.')
    expect(body.data.search).toEqual({ full_matches: 3, corrected: 'termux' })
  })

  test.for<[names: string[], shown: string, found: string[]]>([
    [['Inder', 'Binder'], '"binder", "inder"', ['Binder', 'Inder']],
    [
      ['Tinder', 'Binder', 'Finder'],
      '"binder", "finder", "tinder"',
      ['Finder', 'Binder', 'Tinder'],
    ],
    [
      ['Tinder', 'Binder', 'Finder', 'Cinder', 'Cinderella'],
      '"binder", "cinder", "finder" and others',
      ['Cinder', 'Finder', 'Binder', 'Tinder'],
    ],
  ])(
    'for %j the message names at most three words, equally frequent ones in code point order, and the page has an app for each',
    async ([names, shown, found]) => {
      const service = await startService()
      await publish(
        service,
        names.map((name) => ({ name })),
      )
      const reply = await service.get('/apps?search=xinder&sort=latest')
      expect(reply.body.message).toBe(`No results for "xinder"; showing ${shown}. Page 1 of 1.`)
      expect(namesOf(reply)).toEqual(found)
    },
  )

  test.for<[what: string, letters: string]>([
    ['accents', 'é '.repeat(9996)],
    ['letters with two marks', 'ệ '.repeat(9996)],
    ['letters with two marks, one word', 'ệ'.repeat(19_993)],
    ['letters that are two', 'ǆ'.repeat(19_993)],
    ['syllables of Hangul', '한'.repeat(19_993)],
  ])(
    'finds the last word of the longest description, and its developer: %s',
    async ([, letters]) => {
      const service = await startService()
      const description = `${letters} zenith`
      await publish(service, [{ name: 'Long', short_description: 'é'.repeat(200), description }])
      expect(namesOf(await service.get('/apps?search=zenith&category=empty'))).toEqual(['Long'])
      expect(namesOf(await service.get('/apps?search=ada&category=empty'))).toEqual(['Long'])
    },
  )

  test('finds an app by all its other texts if the index truncates its description', async () => {
    const service = await startService()
    const description = 'ﷺ'.repeat(20_000)
    await publish(service, [
      { name: 'Long', short_description: 'Of it.', package_name: 'org.example.wide', description },
    ])
    for (const search of ['ada', 'of', 'wide', 'صلى']) {
      expect(namesOf(await service.get(`/apps?search=${search}&category=empty`))).toEqual(['Long'])
    }
  })

  test('an index entry of a version with other tokens is replaced by an update and removed by a deletion', async () => {
    const service = await startService()
    const { keys, categories } = service.world
    await publish(service, [
      { id: 50, slug: 'a-50', name: 'Updated' },
      { id: 51, slug: 'a-51', name: 'Deleted' },
    ])
    const entry = toSearchDocument({ name: 'Former', description: 'ancient' }, 'Ada')
    await service.database.write(({ search }) =>
      search.index(
        [50, 51].map((id) => ({ id, slug: `a-${id}`, categoryId: categories.empty, ...entry })),
      ),
    )
    expect(await findNames(service.database, 'ancient')).toEqual(['Deleted', 'Updated'])
    const update = { key: keys.ada, json: { description: 'Modern.' } }
    await service.request('PUT', '/apps/50', update)
    await service.request('DELETE', '/apps/51', { key: keys.ada })
    expect(await findNames(service.database, 'ancient')).toEqual([])
    expect(await findNames(service.database, 'modern')).toEqual(['Updated'])
    await expectConsistent(service.database)
  })

  test('a corrected search gets a new ETag when the corrections change', async () => {
    const service = await startService()
    await publish(service, [{ name: 'Binder', description: 'Both.' }])
    const before = await service.get('/apps?search=xinder')
    // With another correction in the same app, only the message changes.
    const app = { name: 'Binder', description: 'Both.', short_description: 'Finder' }
    await service.database.write(async (runner) => {
      const { id = 0 } = (await runner.sql('apps').where({ name: app.name }).first('id')) ?? {}
      const found = await findApp(runner, id)
      if (found) await saveApp(runner, 'app update', found, app, { operator: 'test' })
    })
    const after = await service.get('/apps?search=xinder', {
      headers: { 'If-None-Match': String(before.headers.etag) },
    })
    expect([after.status, after.body.message]).toEqual([
      200,
      'No results for "xinder"; showing "binder", "finder". Page 1 of 1.',
    ])
  })

  test('pages have no gaps and no repetitions across ranks', async () => {
    const service = await startService()
    await publish(service, apps)
    const whole = namesOf(await service.get('/apps?search=radar'))
    for (const limit of [1, 2, 3]) {
      const pages = []
      for (let page = 1; page <= Math.ceil(whole.length / limit); page++) {
        const reply = await service.get(`/apps?search=radar&limit=${limit}&page=${page}`)
        expect(reply.body.data.pagination.total_pages).toBe(Math.ceil(whole.length / limit))
        pages.push(...namesOf(reply))
      }
      expect(pages).toEqual(whole)
    }
  })

  test('ranks names before texts and whole words before prefixes, in the same order on any pages', async () => {
    const service = await startService()
    const words = ['ant', 'antler', 'bee', 'beetle', 'cat', 'catfish']
    /** Some words, by the bits of a number. */
    const some = (bits: number) => words.filter((_, index) => (bits >> index) & 1).join(' ')
    const many = Array.from({ length: 160 }, (_, index) => ({
      slug: `s${index}`,
      name: some(1 + ((index * 37) % 63)),
      description: index % 4 === 0 ? 'bee cat' : some(1 + ((index * 11) % 63)),
      package_name: `${words[index % 6]}.p.a${index}`,
      // Powers of two, because search ranks each of them differently.
      total_downloads: 2 ** ((index * 7919) % 20),
    }))
    await publish(service, many)

    const tierOf = ({ name, description, package_name }: (typeof many)[number], search: string) => {
      const terms = search.split(' ')
      const has = (text: string, isWhole: boolean) =>
        terms.every((term) =>
          text.split(/[ .]/).some((word) => (isWhole ? word === term : word.startsWith(term))),
        )
      if (has(name, false)) return 'name'
      const texts = `${name} ${description} ada ${package_name}`
      if (has(`${name} ${description} ada`, true)) return 'lead'
      if (has(texts, true)) return 'whole'
      return has(texts, false) ? 'prefix' : 'none'
    }
    for (const search of [
      'ant',
      'an',
      'bee cat',
      'be ca',
      'ant beetle cat',
      'catfish',
      'c',
      'a p',
      'antler a12',
    ]) {
      const inTier = Map.groupBy(
        many.map((app, index) => ({ app, index })),
        ({ app }) => tierOf(app, search),
      )
      const slugsOf = (tier: 'name' | 'lead' | 'whole' | 'prefix') =>
        (inTier.get(tier) ?? [])
          .toSorted((a, b) => b.app.total_downloads - a.app.total_downloads || b.index - a.index)
          .map(({ app }) => app.slug)
      const whole = await allPages(service.database, search, 100)
      const named = whole.slice(0, slugsOf('name').length)
      expect(named.toSorted(), search).toEqual(slugsOf('name').toSorted())
      // Names that have only words of the search come before other texts with all words.
      const isNamed = (slug: string) =>
        many
          .find((app) => app.slug === slug)
          ?.name.split(' ')
          .every((word) => search.split(' ').includes(word))
      const far = [...slugsOf('lead'), ...slugsOf('whole'), ...slugsOf('prefix')].filter(
        (slug) => !isNamed(slug),
      )
      expect(
        whole.slice(named.length).filter((slug) => far.includes(slug)),
        search,
      ).toEqual(far)
      expect(await allPages(service.database, search, 19)).toEqual(whole)
    }
  })

  test('finds the same apps whichever way the index is used', async () => {
    const service = await startService()
    const many = Array.from({ length: 120 }, (_, index) => ({
      name: `Thing ${index}`,
      description: index % 3 === 0 ? 'common rare' : index % 40 === 1 ? 'rare' : 'common',
      total_downloads: (index * 7919) % 50,
    }))
    await publish(service, many)
    for (const search of ['common', 'rare', 'common rare', 't', 'thing 1']) {
      const pages: string[] = []
      for (let page = 1; page <= 13; page++) {
        pages.push(
          ...namesOf(
            await service.get(`/apps?search=${search}&sort=popular&limit=10&page=${page}`),
          ),
        )
      }
      const words = search.split(' ')
      const expected = many
        .map((app, index) => ({ ...app, index }))
        .filter(({ name, description }) =>
          words.every((word) =>
            `${name} ${description} text ada`
              .toLowerCase()
              .split(' ')
              .some((one) => one.startsWith(word)),
          ),
        )
        .sort((a, b) => b.total_downloads - a.total_downloads || b.index - a.index)
        .map(({ name }) => name)
      // The world's own apps match "t" too.
      expect(pages.filter((name) => name.startsWith('Thing'))).toEqual(expected)
    }
  })
})

describe('order', () => {
  const ties = Array.from({ length: 11 }, (_, index) => ({
    name: `Tie ${index}`,
    total_downloads: index % 2,
    approved_at: `2030-01-0${1 + (index % 3)}T00:00:00.000Z`,
  }))
  const key: Record<string, (index: number) => string> = {
    latest: (index) => `${ties[index]?.approved_at} ${index + 100}`,
    popular: (index) => `${ties[index]?.total_downloads} ${index + 100}`,
    rating: (index) => `${index + 100}`,
  }
  test.for(sortOrders)(
    '%s breaks ties by id, and pages are slices of the whole list',
    async (sort) => {
      const service = await startService()
      await publish(service, ties)
      const rank = key[sort]
      if (!rank) throw new Error(sort)
      const expected = ties
        .map((_, index) => index)
        .sort((a, b) => (rank(a) < rank(b) ? 1 : -1))
        .map((index) => `Tie ${index}`)
      for (const limit of [1, 2, 3, 4, 10, 100]) {
        const pages: string[] = []
        const last = Math.ceil(ties.length / limit)
        for (let page = 1; page <= last + 1; page++) {
          const names = namesOf(
            await service.get(`/apps?category=empty&sort=${sort}&limit=${limit}&page=${page}`),
          )
          expect(names.length).toBe(
            page < last ? limit : page === last ? ties.length - limit * (last - 1) : 0,
          )
          pages.push(...names)
        }
        expect(pages).toEqual(expected)
      }
    },
  )

  test('late pages, which are read from the end of the order, continue the earlier ones', async () => {
    const service = await startService()
    const { world } = service
    // Enough that late pages are on either side of the middle.
    const apps = Array.from({ length: 2350 }, (_, index) => ({
      name: `Late ${index}`,
      total_downloads: 1000 + (index % 7),
      approved_at: `2030-01-0${1 + (index % 5)}T00:00:00.000Z`,
      category_id: index % 20 === 0 ? world.categories.tools : world.categories.empty,
    }))
    await publish(service, apps)
    const numbered = apps.map((app, index) => ({ ...app, index }))
    const orders = {
      latest: numbered.toSorted((a, b) =>
        a.approved_at < b.approved_at ? 1 : a.approved_at > b.approved_at ? -1 : b.index - a.index,
      ),
      popular: numbered.toSorted(
        (a, b) => b.total_downloads - a.total_downloads || b.index - a.index,
      ),
    }
    for (const [sort, inOrder] of Object.entries(orders)) {
      for (const category of [undefined, 'empty']) {
        const expected = inOrder.filter(
          (app) => category === undefined || app.category_id === world.categories.empty,
        )
        // All others are older and have fewer downloads.
        const total = expected.length + (category === undefined ? 2 : 0)
        for (const page of [10, 11, 12, 13, Math.ceil(expected.length / 100)]) {
          const reply = await service.get(
            `/apps?limit=100&page=${page}&sort=${sort}${category === undefined ? '' : `&category=${category}`}`,
          )
          const names = expected.slice((page - 1) * 100, page * 100).map(({ name }) => name)
          expect(namesOf(reply).slice(0, names.length), `${sort} ${category} ${page}`).toEqual(
            names,
          )
          expect(reply.body.data.pagination.total_pages).toBe(Math.ceil(total / 100))
        }
      }
    }
  })

  test('rating is by average, then by number of reviews', async () => {
    const service = await startService()
    await publish(service, [
      { name: 'Two fives' },
      { name: 'One five' },
      { name: 'A four' },
      { name: 'None' },
    ])
    const ratings: Record<string, number[]> = {
      'One five': [5],
      'Two fives': [5, 5],
      'A four': [4, 4, 4],
    }
    await service.database.write(async (runner) => {
      for (const [name, stars] of Object.entries(ratings)) {
        const app = await runner.sql('apps').where({ name }).first('id')
        const review = { reviewer_name: 'R', comment: '', created_at: '2030-01-01T00:00:00.000Z' }
        await addReviews(
          runner,
          stars.map((rating) => ({ ...review, app_id: app?.id ?? 0, rating })),
        )
      }
    })
    expect(namesOf(await service.get('/apps?category=empty&sort=rating'))).toEqual([
      'Two fives',
      'One five',
      'A four',
      'None',
    ])
  })
})

test('writes the JSON that JSON.stringify writes, whatever the characters', async () => {
  const service = await startService()
  await publish(service, [
    {
      name: 'Quote " \\ / <b>',
      description: 'a\tb\nc\r\u0001\u001f\u007f\u0080\u2028\ufeff\uffff 日本 𠮷 é',
      average_rating: 3.07,
    },
  ])
  const { text } = await service.get('/apps?category=empty')
  expect(text).toContain('average_rating":3.07')
  expect(text).toBe(JSON.stringify(JSON.parse(text)))
})

test('writes average ratings without trailing zeros, in lists and searches', async () => {
  const service = await startService()
  await publish(service, [
    { name: 'Whole', average_rating: 4 },
    { name: 'Half', average_rating: 4.5, total_downloads: 1 },
  ])
  for (const query of ['category=empty&sort=popular', 'category=empty&sort=popular&search=ada']) {
    const { text } = await service.get(`/apps?${query}`)
    expect(text.match(/"average_rating":[^,}]*/g)).toEqual([
      '"average_rating":4.5',
      '"average_rating":4',
    ])
  }
})

test.for<[what: string, query: string, message: string, links: Record<string, number>]>([
  ['the first page', 'limit=2', 'Page 1 of 3.', { first: 1, next: 2, last: 3 }],
  ['a page between', 'limit=2&page=2', 'Page 2 of 3.', { first: 1, prev: 1, next: 3, last: 3 }],
  ['the last page', 'limit=2&page=3', 'Page 3 of 3.', { first: 1, prev: 2, last: 3 }],
  ['a page past the end', 'limit=2&page=9', 'Page 9 of 3.', { first: 1, prev: 3, last: 3 }],
  ['the only page, which is full', 'limit=5', 'Page 1 of 1.', { first: 1, last: 1 }],
  [
    'a page where nothing matches',
    'limit=2&page=9&search=nothing',
    'No apps match.',
    { first: 1, prev: 1 },
  ],
])(
  '%s has its number in the message, and links to its neighbours',
  async ([, query, message, links]) => {
    const service = await startService()
    await publish(
      service,
      Array.from({ length: 5 }, (_, index) => ({ name: `App ${index}` })),
    )
    const { headers, body } = await service.get(`/apps?category=empty&${query}`)
    expect(body.message).toBe(message)
    const found = [...String(headers.link).matchAll(/<[^>]*[?&]page=(\d+)[^>]*>; rel="(\w+)"/g)]
    expect(Object.fromEntries(found.map(([, page, relation]) => [relation, Number(page)]))).toEqual(
      links,
    )
  },
)

test('counters stay exact under any sequence of changes', async () => {
  const service = await startService()
  const { keys } = service.world
  const step = fc.record({
    what: fc.constantFrom('create', 'approve', 'reject', 'update', 'move', 'delete'),
    which: fc.nat(9),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      for (const { what, which } of steps) await take(what, which)
      await expectConsistent(service.database)
      // Every app of the test has the word in its name.
      const [row] = await service.database.read(({ sql }) =>
        sql('apps')
          .where({ status: 'approved' })
          .whereNull('deleted_at')
          .whereLike('name', 'Zebra%')
          .count({ count: '*' }),
      )
      const { pagination } = (await service.get('/apps?search=zebra&limit=1')).body.data
      expect(pagination.total_pages).toBe(Number(row?.count))
    }),
    { numRuns: 8, seed },
  )

  async function take(what: string, which: number) {
    if (what === 'create') {
      const json = { name: `Zebra ${which}`, description: 'Stripes.', category_id: 1 + (which % 3) }
      await service.request('POST', '/apps', { key: keys.ada, json })
      return
    }
    const rows = await service.database.read(({ sql }) =>
      sql('apps').whereLike('name', 'Zebra%').orderBy('id', 'desc').limit(10),
    )
    const app = rows[which % Math.max(1, rows.length)]
    if (!app) return
    if (what === 'approve' || what === 'reject') return service.decide(what, app.id)
    if (what === 'delete') await service.request('DELETE', `/apps/${app.id}`, { key: keys.ada })
    else {
      const json =
        what === 'move'
          ? { category_id: 1 + ((app.category_id + which) % 3) }
          : { name: `Zebra new ${which}` }
      await service.request('PUT', `/apps/${app.id}`, { key: keys.ada, json })
    }
  }
})

/** Adds listed apps that no search finds, which takes a tenth of the time. */
const addUnsearchable = ({ database, world }: Service, count: number) =>
  database.write(async ({ sql, insertRows }) => {
    const at = '2026-01-01T00:00:00.000Z'
    const category_id = world.categories.empty
    const [columns] = await sql('apps').where({ status: 'approved' }).limit(1)
    const rows = Array.from({ length: count }, (_, index) => {
      const { id, ...row } = columns ?? expect.fail()
      const names = { slug: `more-${index}`, package_name: null, package_key: null }
      return { ...row, ...names, category_id, approved_at: at }
    })
    await insertRows('apps', rows)
    await sql('categories').where({ id: category_id }).increment('listed_apps', count)
  })

test.for<[what: string, query: Partial<Parameters<typeof findAppPage>[1]>]>([
  ['a search', { search: 'app' }],
  ['a search in an order', { search: 'app', sort: 'popular' }],
  ['a search in a category', { search: 'app', category: 'empty' }],
  ['a search for some of the words', { search: 'app zephyr' }],
  ['an app by its slug', { slug: 'app-0' }],
  ['an app by its package name, searched', { search: 'app', package_name: 'org.example.app' }],
  ['a list far behind the first page', { page: 1002, limit: 1 }],
  ['a list of a category far behind the first page', { page: 1002, limit: 1, category: 'empty' }],
])(
  'a page of %s is of one moment, whichever of its statements a change comes before',
  async ([, query]) => {
    const service = await startService()
    const { database } = service
    await publish(service, [{ package_name: 'org.example.app', total_downloads: 9 }, {}])
    const [id = 0] = await database.read(({ sql }) =>
      sql('apps').where({ slug: 'app-0' }).pluck('id'),
    )
    if (query.page !== undefined) await addUnsearchable(service, 1002)
    const page = (of: Database) => findAppPage(of, { page: 1, limit: 20, ...query })
    const changes = [
      () => service.decide('reject', id),
      () => service.decide('approve', id),
      () => database.write(async ({ sql }) => sql('apps').where({ id }).update({ name: 'Else' })),
    ]
    // Each change, before each statement.
    for (let at = 0, isOver = false; !isOver; at++) {
      const before = await page(database)
      let statements = 0
      const watch =
        (way: 'read' | 'snapshot'): Database['read'] =>
        (work, options) =>
          database[way](
            (runner) =>
              work({
                ...runner,
                async rows(...statement) {
                  if (statements++ === at + 1) await changes[at % changes.length]?.()
                  return runner.rows(...statement)
                },
              }),
            options,
          )
      const found = await page({ ...database, read: watch('read'), snapshot: watch('snapshot') })
      expect(found, `changed before statement ${at + 2}`).toEqual(before)
      isOver = at + 1 >= statements
    }
  },
)

test.for<[slug: string, full: number | undefined, message: RegExp]>([
  ['radar-rain', undefined, /^Page 1 of 1\.$/],
  ['radar', 0, /^No app matches all words; these match some of them\. Page 1 of 1\.$/],
])(
  'a search with the slug %s says how many of its own apps match all words: %j',
  async ([slug, full, message]) => {
    const service = await startService()
    await publish(service, [{ name: 'Radar Rain' }, { name: 'Radar' }])
    const { body } = await service.get(`/apps?search=radar+rain&slug=${slug}`)
    expect([body.data.apps.map((app: Listed) => app.slug), body.data.search?.full_matches]).toEqual(
      [[slug], full],
    )
    expect(body.message).toMatch(message)
  },
)
