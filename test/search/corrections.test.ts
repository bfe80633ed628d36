import { describe, expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { share } from '../support/lifetime.ts'
import {
  findPage,
  fullMatchesOn,
  type ListedApp,
  namesOn,
  numbered,
  openListed,
} from '../support/listed-apps.ts'

/** Which words of a search are taken for typos, what is searched for instead, and what that finds. */

const names = (...all: string[]): ListedApp[] => all.map((name) => ({ name }))

type Search = { search: string; corrected: string | undefined; apps: string[]; rule: string }

describe('one typo', () => {
  let database: Database
  share(async () => {
    database = await openListed([
      ...names('Radar', 'Weather Vane', 'Tide Map', 'Hail', 'Quokkat'),
      { name: 'Compass', status: 'pending' },
      { name: 'Quokka', id: 50 },
    ])
    // The index of words may still have this one.
    await database.write((runner) =>
      decideApp(runner, 'reject', 50, { operator: 'test' }, { reason: 'No.' }),
    )
  })

  test.for<Search>([
    { search: 'raadar', corrected: 'radar', apps: ['Radar'], rule: 'is corrected' },
    {
      search: 'weather vale',
      corrected: 'weather vane',
      apps: ['Weather Vane'],
      rule: 'is corrected in one of two words',
    },
    {
      search: 'wether vale',
      corrected: 'weather vane',
      apps: ['Weather Vane'],
      rule: 'is corrected in each of two words',
    },
    { search: 'tidemp', corrected: 'tidemap', apps: ['Tide Map'], rule: 'is in words as one' },
    { search: 'hal', corrected: undefined, apps: [], rule: 'is in no word of three letters' },
    { search: 'rada', corrected: undefined, apps: ['Radar'], rule: 'is no beginning of a word' },
    { search: 'compas', corrected: undefined, apps: [], rule: 'is in no word of hidden apps' },
    {
      search: 'quokkas',
      corrected: 'quokkat',
      apps: ['Quokkat'],
      rule: 'is in no word of apps that were listed',
    },
  ])('$rule: $search', async ({ search, corrected, apps }) => {
    const page = await findPage(database, { search })
    expect([page.search?.corrected, fullMatchesOn(page)]).toEqual([corrected, apps])
  })
})

describe('two typos', () => {
  let database: Database
  share(async () => {
    database = await openListed([
      { name: 'Lanternbrake', description: 'For starflights.' },
      ...names('Harbour Lights', 'Starlight'),
      { name: 'Starflight', total_downloads: 1_000_000 },
      { name: 'Compass' },
    ])
  })

  test.for<Search>([
    {
      search: 'lanternbreak',
      corrected: 'lanternbrake',
      apps: ['Lanternbrake'],
      rule: 'are forgiven in a long word',
    },
    {
      search: 'harborlihts',
      corrected: 'harbourlights',
      apps: ['Harbour Lights'],
      rule: 'are forgiven in two words as one',
    },
    {
      search: 'starlighz',
      corrected: 'starlight',
      apps: ['Starlight'],
      rule: 'are not assumed where one would do',
    },
    {
      search: 'starvligth',
      corrected: 'starflight',
      apps: ['Starflight', 'Starlight', 'Lanternbrake'],
      rule: 'are those of the most downloaded first',
    },
    { search: 'lamternbreak', corrected: undefined, apps: [], rule: 'are not three' },
    { search: 'comqaxs', corrected: undefined, apps: [], rule: 'are in no word of seven letters' },
    {
      search: 'lxnternbreke',
      corrected: undefined,
      apps: [],
      rule: 'are not in the first letters',
    },
    { search: 'lanternbreak zebra', corrected: undefined, apps: [], rule: 'have no word beside' },
  ])('$rule: $search', async ({ search, corrected, apps }) => {
    for (const order of [{}, { sort: 'popular' as const }]) {
      const page = await findPage(database, { search, ...order })
      expect([page.search?.corrected, namesOn(page)]).toEqual([corrected, apps])
    }
  })
})

describe('what was searched for instead', () => {
  let database: Database
  share(async () => {
    database = await openListed([
      { name: 'Google+', description: 'An app.' },
      ...numbered(21, 'Google App'),
    ])
  })

  test.for<{ search: string; corrected: string | undefined }>([
    { search: 'google+ app', corrected: 'google app' },
    { search: 'GOOGLE+  Äpp', corrected: 'google app' },
    { search: 'app google+ app', corrected: 'app google' },
    { search: 'googlr app', corrected: 'google app' },
    { search: 'googlr google', corrected: 'google' },
    { search: 'google googlr gogle', corrected: 'google' },
    { search: 'googlr zzz app', corrected: 'google app' },
    { search: 'google zzz', corrected: undefined },
    { search: 'GOOGLE  äpp', corrected: undefined },
    { search: 'app google', corrected: undefined },
  ])('is $corrected: $search', async ({ search, corrected }) => {
    for (const category of [{}, { category: 'empty' }])
      expect((await findPage(database, { search, ...category })).search?.corrected).toBe(corrected)
  })
})

test.for<{ apps: number; corrected: string | undefined }>([
  { apps: 5, corrected: 'calendar' },
  { apps: 6, corrected: undefined },
])(
  'a word that $apps apps have, and a similar one many, is corrected to $corrected',
  async ({ apps, corrected }) => {
    const database = await openListed([...numbered(apps, 'Calender'), ...numbered(121, 'Calendar')])
    const { search } = await findPage(database, { search: 'calender' })
    expect(search?.corrected).toBe(corrected)
  },
)

test.for<[search: string, corrected: string | undefined]>([
  ['tand', undefined],
  ['thee', undefined],
  ['anythingg', undefined],
  ['forr', 'fort'],
])('no word of grammar corrects %s', async ([search, corrected]) => {
  const database = await openListed([
    ...numbered(50, 'Anything for the sea and you'),
    ...numbered(2, 'Tandem'),
    ...names('Fort'),
  ])
  const page = await findPage(database, { search })
  expect(page.search?.corrected).toBe(corrected)
  expect(page.total).toBeLessThanOrEqual(2)
})

test('a word that an app of another category has is not corrected', async () => {
  const database = await openListed([
    { name: 'Tile Clock' },
    { name: 'Tide Clock', category: 'tools' },
  ])
  expect((await findPage(database, { search: 'tide', category: 'empty' })).apps).toEqual([])
})

const isPopular = { total_downloads: 1_000_000 }

/** Each has its own catalogue. */
test.for<{ rule: string; catalogue: ListedApp[]; search: string; first: string[] }>([
  {
    rule: 'apps whose names are corrections alike are sorted by downloads',
    catalogue: [{ name: 'Ferry' }, { name: 'Ferrys', ...isPopular }],
    search: 'ferryx',
    first: ['Ferrys', 'Ferry'],
  },
  {
    rule: 'a rare misspelling is meant to be a frequent word',
    catalogue: [{ name: 'Diary', description: 'With a calender.' }, ...numbered(21, 'Calendar')],
    search: 'calender',
    first: ['Diary', 'Calendar 9'],
  },
  {
    rule: 'a misspelt word that is another one without its ending is corrected beside others',
    catalogue: names('Swim Diary', 'Riverly Swimming', 'Other'),
    search: 'rivrly swiming',
    first: ['Riverly Swimming'],
  },
  {
    rule: 'such a word is corrected alone',
    catalogue: names('Swim Diary', 'Riverly Swimming'),
    search: 'swiming',
    first: ['Riverly Swimming'],
  },
  {
    rule: 'two words are corrected, though no app has both',
    catalogue: [...names('Swim Diary', 'Swimming', 'Riverly'), ...numbered(20, 'Diary')],
    search: 'rivrly swiming diary',
    first: ['Riverly', 'Swimming', 'Swim Diary'],
  },
  {
    rule: 'a word is corrected beside one that many apps have',
    catalogue: [...names('Riverly'), ...numbered(20, 'Diary')],
    search: 'rivrly diary',
    first: ['Riverly', 'Diary 9'],
  },
  {
    rule: 'another form of a word is no typo of a third',
    catalogue: [{ name: 'Recorder' }, { name: 'Recorderz', ...isPopular }, { name: 'Flute' }],
    search: 'recorders flute',
    first: ['Flute', 'Recorder'],
  },
])('$rule: $search', async ({ catalogue, search, first }) => {
  const found = namesOn(await findPage(await openListed(catalogue), { search }))
  expect(found.slice(0, first.length)).toEqual(first)
})
