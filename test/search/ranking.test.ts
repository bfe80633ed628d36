import { describe, expect, test } from 'vitest'
import type { Sort } from '../../src/contract/contract.ts'
import type { Database } from '../../src/db/database.ts'
import { share } from '../support/lifetime.ts'
import { findPage, type ListedApp, namesOn, numbered, openListed } from '../support/listed-apps.ts'

/** Which of the apps that a search finds come first. */

const million = { total_downloads: 1_000_000 }
const billion = { total_downloads: 1_000_000_000 }
const thousand = { total_downloads: 1000 }
const names = (...all: string[]): ListedApp[] => all.map((name) => ({ name }))

/** One app for each way to match. The better ones have fewer downloads. */
const gitGo: ListedApp[] = [
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
const gitGoInOrder = [
  ...['Git-Go', 'Go git it', 'Gitter gopher', 'Gitter and gopher', 'Package', 'Git package'],
  ...['Words', 'Git words', 'Other', 'Beginnings'],
]

/** No two rows of the searches below have a word in common. */
const mixed: ListedApp[] = [
  { name: 'Maps', total_downloads: 3 },
  { name: 'Star Maps', ...million },
  { name: 'Instagram', description: 'Photos.', ...billion },
  { name: 'Insta Size', total_downloads: 10_000 },
  { name: 'Reposter', description: 'An app for Instagram.' },
  { name: 'Tile Game', total_downloads: 100 },
  { name: 'Game Tile', total_downloads: 100 },
  { name: 'Gam Online', total_downloads: 100 },
  { name: 'Planet Nine' },
  { name: 'Popular', description: 'Planet.', ...billion },
  { name: 'Hail', description: 'Ice.', total_downloads: 2 },
  { name: 'Hail Cannon', description: 'Noise.', total_downloads: 9 },
  { name: 'Hail Insurance', description: 'Paper of Rida.', total_downloads: 9 },
  { name: 'Storm', description: 'Hail and thunder.', total_downloads: 9 },
  { name: 'Thunder', description: 'No hail.', total_downloads: 9 },
  { name: 'Recorder', ...million },
  { name: 'Recorders of Ulm' },
  { name: 'Flute', description: 'Unlike recorders.', ...million },
  { name: 'Oboe', description: 'Unlike a recorder.', ...billion },
  { name: 'Uber' },
  { name: 'Uber Eats' },
  { name: 'Left', ...million },
  { name: 'Firefox' },
  { name: 'Firefox Lite' },
  { name: 'Zero', description: 'Version 0.' },
  { name: 'Two', description: 'Version 2.' },
  { name: 'Launcher Oak 8.1', ...thousand },
  { name: 'Blockcraft' },
  { name: 'Blocks 512' },
  { name: 'Blocks 2048', ...thousand },
  { name: 'The Medical App', ...million },
  { name: 'Theme Store' },
  { name: 'Up Stream' },
  { name: 'Upstairs' },
  { name: 'For Me' },
  { name: 'Form' },
  { name: 'Attack of Tanks', ...million },
  { name: 'AT&T TV', ...thousand },
  { name: 'Big House' },
  { name: 'B&H Photo' },
  { name: 'Editpad' },
  { name: 'Notepad', ...million },
  { name: 'Notepad++' },
  { name: 'ERPNext' },
  { name: 'Nextcloud' },
  { name: 'Яндекс Карты', slug: 'yandeks-karty' },
  { name: 'Karty' },
  { name: 'Compass' },
  { name: 'Sextant', description: 'Better than compasses.' },
  { name: 'Picture Sharpener' },
  { name: 'Pictures', ...million },
  { name: 'Dans' },
  { name: 'Tray Extra', description: 'Works with Quillfox. Not by Quillworm.', ...million },
  { name: 'Lampworks', developer: 'Quillfox' },
  { name: 'Tray', description: 'Shadeworks by Quillworm.', ...million },
  { name: 'Shadeworks', developer: 'Quillworm Labs' },
  { name: 'Player', description: 'Plays music.', total_downloads: 3000 },
  { name: 'Tuner', description: 'For music.', total_downloads: 2000 },
  { name: 'Abacus', developer: 'Music Makers' },
]

const quills: ListedApp[] = [
  { name: 'Quill+', description: 'Letters.', ...billion },
  { name: 'Quill', description: 'Letters.', ...billion },
  ...numbered(22, 'Pen', { description: 'An app for a quill. Free.', ...thousand }),
]

const calculators = [...names('Please Knock', 'Open Kite'), ...numbered(60, 'Calculator A')]
const openKite = ['Open Kite', 'Calculator A 9', 'Calculator A 8']

type Search = {
  search: string
  sort?: Sort
  /** The first apps, or all of them. */
  first?: string[]
  all?: string[]
  /** What comes first, or is found at all. */
  rule: string
}

const catalogues: { catalogue: string; apps: ListedApp[]; searches: Search[] }[] = [
  {
    catalogue: 'an app for each way to match',
    apps: gitGo,
    searches: [
      { search: 'git-go', all: gitGoInOrder, rule: 'each way to match, each by downloads' },
      {
        search: 'git-go',
        sort: 'latest',
        all: gitGo.map(({ name }) => name).toReversed(),
        rule: 'the newest, if they are asked for',
      },
      {
        search: 'GIT.go.Example',
        first: ['Other', 'Git-Go', 'Git package'],
        rule: 'the app with the package name, however many mention it',
      },
    ],
  },
  {
    catalogue: 'names and texts of all kinds',
    apps: mixed,
    searches: [
      { search: 'maps', first: ['Maps'], rule: 'an equal name, however few know it' },
      { search: 'insta', first: ['Instagram'], rule: 'a popular name before a closer one' },
      {
        search: 'tile',
        first: ['Tile Game'],
        rule: 'of equally popular names, one that begins so',
      },
      { search: 'gam', first: ['Gam Online'], rule: 'of equally popular names, the whole word' },
      { search: 'planet', first: ['Planet Nine'], rule: 'a name before texts, however popular' },
      { search: 'game tile', first: ['Game Tile', 'Tile Game'], rule: 'the words in their order' },
      {
        search: 'hail',
        first: ['Hail', 'Hail Cannon', 'Hail Insurance', 'Thunder', 'Storm'],
        rule: 'of equally popular apps the shorter name, and the newer text',
      },
      {
        search: 'recorders',
        first: ['Recorder', 'Recorders of Ulm', 'Flute', 'Oboe'],
        rule: 'names with the word or its singular by downloads, and then texts',
      },
      {
        search: 'recorders',
        sort: 'popular',
        all: ['Oboe', 'Flute', 'Recorder', 'Recorders of Ulm'],
        rule: 'the most downloaded, if they are asked for',
      },
      { search: 'instagram app', first: ['Instagram'], rule: 'a name before who mentions it' },
      { search: 'firefox 2.0', first: ['Firefox', 'Firefox Lite'], rule: 'a name before numbers' },
      { search: 'blockcraft 1.8', first: ['Blockcraft'], rule: 'the same, in another order' },
      { search: 'free blocks 512', first: ['Blocks 512'], rule: 'a name with the number' },
      { search: 'theme', first: ['Theme Store'], rule: 'beginnings of words before joined words' },
      { search: 'upst', all: ['Upstairs'], rule: 'joined words only as a whole' },
      { search: 'forme', first: ['For Me', 'Form'], rule: 'joined words as a whole' },
      { search: 'AT&T', all: ['AT&T TV'], rule: 'initials before beginnings' },
      { search: 'B&H', all: ['B&H Photo'], rule: 'initials, if no other word begins with them' },
      { search: 'editpad++', first: ['Editpad'], rule: 'the word without its symbols' },
      { search: 'notepad++', all: ['Notepad++'], rule: 'the word with them, if there is one' },
      { search: 'next', first: ['Nextcloud'], rule: 'a beginning before a part in camel case' },
      { search: 'yandeks-karty', first: ['Яндекс Карты', 'Karty'], rule: 'the whole slug' },
      { search: 'compasses', first: ['Compass', 'Sextant'], rule: 'the singular in a name' },
      {
        search: 'sharpening pictures',
        first: ['Picture Sharpener'],
        rule: 'who does what is asked',
      },
      { search: 'danser', all: [], rule: 'no other words of another language' },
      { search: 'quillfox', first: ['Tray Extra', 'Lampworks'], rule: "a developer's app, too" },
      {
        search: 'quillworm shadeworks',
        first: ['Shadeworks', 'Tray'],
        rule: 'an app by a word of its name and one of its developer',
      },
      {
        search: 'music',
        first: ['Player', 'Tuner', 'Abacus'],
        rule: 'popular apps of a subject that a developer is named like',
      },
    ],
  },
  {
    catalogue: 'many apps of one kind and a rare word',
    apps: calculators,
    searches: [
      { search: 'calculator kite', first: openKite, rule: 'the rarer word before the subject' },
      {
        search: 'please open the calculator',
        first: openKite,
        rule: 'the same despite words of a request, which no app need have',
      },
      {
        search: 'where can i get a calculator with a kite, please',
        first: openKite,
        rule: 'the same among more such words',
      },
    ],
  },
  {
    catalogue: 'a popular app and many that mention it',
    apps: quills,
    searches: [
      { search: 'quill app', first: ['Quill'], rule: 'a name before texts with a generic word' },
      { search: 'quill+ app', first: ['Quill', 'Quill+'], rule: 'the same despite a symbol' },
    ],
  },
  {
    catalogue: 'an unpopular app and many that mention it',
    apps: [...quills.slice(2), { name: 'Quill' }],
    searches: [
      {
        search: 'quill software',
        first: ['Quill', 'Pen 21'],
        rule: 'a name, despite what any app is',
      },
      { search: 'quill free', first: ['Pen 21', 'Pen 20'], rule: 'texts with more words' },
    ],
  },
  {
    catalogue: 'names with words of a question',
    apps: [
      { name: 'MyDial', ...million },
      ...names('Need a Ride', 'I Read', 'Please Open', 'Best Free'),
      { name: 'Fiddle', description: 'Tunes a violin by ear.' },
    ],
    searches: [
      { search: 'what do i need to tune my violin', first: ['Fiddle'], rule: 'what is asked for' },
    ],
  },
  {
    catalogue: 'a popular name that is a frequent word',
    apps: [
      { name: 'Best', total_downloads: 100_000 },
      { name: 'Fiddle', description: 'A violin.', total_downloads: 10_000 },
      { name: 'Shop', description: 'Cheap.' },
      ...numbered(9, 'App', { description: 'Best.' }),
      ...numbered(50, 'Other'),
    ],
    searches: [{ search: 'best cheap violin', first: ['Fiddle'], rule: 'what is asked for' }],
  },
  {
    catalogue: 'words that nearly all apps have',
    apps: [
      ...numbered(40, 'App', { description: 'How to do things in my notes.', ...million }),
      { name: 'Sketch', description: 'Draw diagrams.' },
    ],
    searches: [{ search: 'how do i draw in my notes', first: ['Sketch'], rule: 'rare words' }],
  },
  {
    catalogue: 'a subject, and names with words of a question about it',
    apps: [
      { name: 'Howlet', ...thousand },
      { name: 'My Kite', ...thousand },
      ...numbered(40, 'Chord Studio', { description: 'Make music.' }),
      ...numbered(300, 'Other'),
    ],
    searches: [
      {
        search: 'how to make music on my computer',
        first: ['Chord Studio 39', 'Chord Studio 38'],
        rule: 'the subject',
      },
    ],
  },
  {
    catalogue: 'names with or beginning with a word of a question',
    apps: [
      { name: 'Where', ...thousand },
      { name: 'Wherever', ...thousand },
      { name: 'Howlet' },
      { name: 'Tide Table' },
      ...numbered(20, 'Tide Clock'),
    ],
    searches: [
      { search: 'where are the tides', first: ['Tide Table', 'Tide Clock 9'], rule: 'the subject' },
      { search: 'where and how', first: ['Where'], rule: 'these names, if there are no others' },
    ],
  },
]

describe.for(catalogues)('of $catalogue', ({ apps, searches }) => {
  let database: Database
  share(async () => {
    database = await openListed(apps)
  })

  test.for(searches)('$rule: $search', async ({ first, all, rule: _, ...query }) => {
    const found = namesOn(await findPage(database, query))
    if (all) expect(found).toEqual(all)
    else expect(found.slice(0, first?.length)).toEqual(first)
  })
})

test('of apps with the same words and downloads, the newest comes first', async () => {
  const ferries = [1, 2, 3].map((number) => ({ name: 'Ferry', slug: `ferry-${number}` }))
  const { apps } = await findPage(await openListed(ferries), { search: 'ferry' })
  expect(apps.map(({ slug }) => slug)).toEqual(['ferry-3', 'ferry-2', 'ferry-1'])
})

test.for([
  { word: 'ends within the first 250 characters', at: 244, isFound: true },
  { word: 'is cut by their end', at: 245, isFound: false },
])('an app with only some words is found by one that $word: $isFound', async ({ at, isFound }) => {
  const before = 'Early\nAda\n\n'.length
  const database = await openListed([
    { name: 'Early', description: `${'.'.repeat(at - before)}zephyr` },
    { name: 'Ferry' },
  ])
  const found = namesOn(await findPage(database, { search: 'zephyr ferry' }))
  expect(found.includes('Early')).toBe(isFound)
})
