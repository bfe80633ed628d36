import { expect, test } from 'vitest'
import { findPage, type ListedApp, namesOn, numbered, openListed } from '../support/listed-apps.ts'

/** The sentences of a page about what its search found. */

const names = (...all: string[]): ListedApp[] => all.map((name) => ({ name }))

const google = [{ name: 'Google+', description: 'An app.' }, ...numbered(21, 'Google App')]
const weather = [
  ...names('Weather Radar', 'Rain Radar', 'Sun Radar'),
  { name: 'Forecast', description: 'Weather.' },
]

test.for<{ catalogue: ListedApp[]; search: string; notes: string[] }>([
  {
    catalogue: weather,
    search: 'rain radar',
    notes: ['After the first app, only some words match.'],
  },
  {
    catalogue: [...names('Sun Radar'), ...weather],
    search: 'sun radar',
    notes: ['After the first 2 apps, only some words match.'],
  },
  { catalogue: weather, search: 'radar', notes: [] },
  { catalogue: [{ name: 'Карты', slug: 'karty-2' }], search: 'karty-2', notes: [] },
  {
    catalogue: [{ name: 'Карты дорог', slug: 'karty-dorog-2' }],
    search: 'karty-dorog-2',
    notes: [],
  },
  {
    catalogue: weather,
    search: 'sun rain',
    notes: ['No app matches all words; these match some of them.'],
  },
  { catalogue: weather, search: 'radar zzz yyy', notes: ['No app has "zzz", "yyy".'] },
  {
    catalogue: weather,
    search: 'how to radar',
    notes: ['No app matches all words; these match some of them.'],
  },
  { catalogue: weather, search: 'how to zzz radar', notes: ['No app has "zzz".'] },
  {
    catalogue: weather,
    search: 'zzz wether',
    notes: ['No results for "wether"; showing "weather".', 'No app has "zzz".'],
  },
  {
    catalogue: weather,
    search: 'wether rador',
    notes: [
      'No results for "wether"; showing "weather".',
      'No results for "rador"; showing "radar".',
      'After the first app, only some words match.',
    ],
  },
  {
    catalogue: weather,
    search: 'Wéther für паролей radar',
    notes: ['No results for "Wéther"; showing "weather".', 'No app has "für", "паролей".'],
  },
  {
    catalogue: weather,
    search: 'Größenangabe+zz-Contraseñas Radar ÇÉ++',
    notes: ['No app has "Größenangabe", "zz", "Contraseñas", "ÇÉ++".'],
  },
  {
    catalogue: google,
    search: 'google+ app',
    notes: ['Few results for "google+"; also showing "google".'],
  },
  {
    catalogue: google,
    search: 'google googlr gogle',
    notes: [
      'No results for "googlr"; showing "google".',
      'No results for "gogle"; showing "google".',
      'After the first 21 apps, only some words match.',
    ],
  },
])('$search: $notes', async ({ catalogue, search, notes }) => {
  expect((await findPage(await openListed(catalogue), { search })).notes).toEqual(notes)
})

test.for<{ apps: string[]; shown: string; found: string[] }>([
  { apps: ['Inder', 'Binder'], shown: '"binder", "inder"', found: ['Binder', 'Inder'] },
  {
    apps: ['Tinder', 'Binder', 'Finder'],
    shown: '"binder", "finder", "tinder"',
    found: ['Finder', 'Binder', 'Tinder'],
  },
  {
    apps: ['Tinder', 'Binder', 'Finder', 'Cinder', 'Cinderella'],
    shown: '"binder", "cinder", "finder" and others',
    found: ['Cinder', 'Finder', 'Binder', 'Tinder'],
  },
])(
  'of equally frequent corrections, at most three are named, in code point order: $shown',
  async ({ apps, shown, found }) => {
    const database = await openListed(names(...apps))
    const page = await findPage(database, { search: 'xinder', sort: 'latest' })
    expect(page.notes).toEqual([`No results for "xinder"; showing ${shown}.`])
    expect(namesOn(page)).toEqual(found)
  },
)

test('the most frequent corrections are named first, and only those of apps in the category', async () => {
  const database = await openListed([
    ...names('Terms', 'Termux', 'Termux Tools'),
    { name: 'Term', category: 'games' },
  ])
  const { notes, search } = await findPage(database, { search: 'termx', category: 'empty' })
  expect(notes).toEqual(['No results for "termx"; showing "termux", "terms".'])
  expect(search).toEqual({ full_matches: 3, corrected: 'termux' })
})
