import { expect, test } from 'vitest'
import {
  addDevelopers,
  findOrAddDeveloper,
  removeDeveloper,
  renameDeveloper,
} from '../../src/accounts/account-store.ts'
import { changeApps, type NewAppRow, saveApp } from '../../src/catalogue/app-store.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { findApps } from '../../src/moderation/finder.ts'
import { required } from '../../src/util/helpers.ts'
import { openEmptyCatalogue } from '../support/database.ts'
import { share } from '../support/lifetime.ts'

const past = '2020-01-01T00:00:00.000Z'
const actor = { operator: 'test' }

const pending = { status: 'pending', approved_at: null, rejection_reason: null } as const
const approved = { ...pending, status: 'approved', approved_at: past } as const
const rejected = { ...pending, status: 'rejected', rejection_reason: 'Because.' } as const
const deleted = { ...approved, deleted_at: past }

/** Each app has another id, slug and name; the developer is Ada. */
const apps: Partial<NewAppRow>[] = [
  { id: 1, slug: 'tide-clock', name: 'Tide Clock', package_name: 'org.example.TideClock' },
  { id: 2, slug: 'tide-table', name: 'tide table', ...pending },
  { id: 3, slug: 'tides', name: 'TIDES', ...rejected },
  { id: 4, slug: 'ebb', name: 'Ebb', ...deleted, package_name: 'org.example.ebb' },
  { id: 5, slug: 'tide', name: 'Flood' },
  { id: 6, slug: '7', name: '7 Minutes' },
  { id: 7, slug: 'seven', name: 'Seven' },
  { id: 8, slug: 'percent', name: '100% Pure' },
  { id: 9, slug: 'pure', name: '100 Pure' },
  { id: 10, slug: 'snake', name: 'snake_case' },
  { id: 11, slug: 'snakes', name: 'snakes' },
  { id: 12, slug: 'istanbul', name: 'İstanbul Haritası' },
  { id: 13, slug: 'istanbul-2', name: 'ISTANBUL map' },
  { id: 14, slug: 'saat', name: 'ساعة المد' },
  { id: 15, slug: 'app', name: '🌊🕰️ Clock' },
  { id: 16, slug: 'app-2', name: '🌊' },
  { id: 17, slug: 'ecole', name: 'École des Marées' },
  { id: 18, slug: 'ecole-2', name: 'ÉCOLE' },
  { id: 19, slug: 'priliv', name: 'Прилив И Отлив' },
  { id: 20, slug: 'priliv-2', name: 'ПРИЛИВ' },
  { id: 21, slug: 'greatest', name: 'Last\u{10FFFF}\u{10FFFF}' },
  { id: 22, slug: 'hash', name: '#7 Hash' },
  { id: 23, slug: 'bob-1', name: 'Bob’s first', developer_id: 2 },
  { id: 24, slug: 'bob-2', name: 'Bob’s second', developer_id: 2, ...deleted },
  { id: 25, slug: 'bob', name: 'Rob', developer_id: 2, ...pending },
  { id: 26, slug: 'yoho', name: '天気予報アプリ' },
  { id: 27, slug: 'new-pipe', name: 'NewPipe' },
  { id: 29, slug: 'one', name: 'One', developer_id: 3 },
  { id: 30, slug: 'two', name: 'Two', developer_id: 4, ...deleted },
  { id: 28, slug: 'marsh', name: 'Marsh', package_name: 'org.sample.low_water' },
]

const toInsert = (app: Partial<NewAppRow>) => ({
  at: past,
  app: {
    name: '',
    developer_id: 1,
    category_id: 1,
    version: '1',
    total_downloads: 0,
    description: 'D',
    created_at: past,
    updated_at: past,
    short_description: null,
    package_name: null,
    ...approved,
    ...app,
  },
})

let database: Database
share(async () => {
  database = await openEmptyCatalogue()
  await database.write(async (runner) => {
    await findOrAddDeveloper(runner, 'Ada')
    await findOrAddDeveloper(runner, 'Bob')
    await addDevelopers(runner, ['Harbour Software', 'Old Harbour'], past)
    await addCategory(runner, 'tools', 'Tools', actor)
    for (const app of apps)
      await changeApps(runner, 'app create', { inserts: [toInsert(app)] }, actor)
  })
})

const find = (text: string) => database.read((runner) => findApps(runner, text, 50))

test.for<[what: string, text: string, ids: number[]]>([
  ['an id', '3', [3]],
  ['an id of a deleted app', '4', [4]],
  ['an id with #', '#3', [3]],
  ['an id with a revision', '3@k3f9a', [3]],
  ['an id with # and a revision', '#3@k3f9a', [3]],
  ['an id that is also a slug and a word of names', '7', [7, 6, 22]],
  ['an id with # that is also a word of names', '#7', [7, 22, 6]],
  ['an id that no app has', '999', []],
  ['an id beyond all numbers', '9'.repeat(30), []],
  ['a slug', 'tide-clock', [1]],
  ['a slug of a deleted app', 'ebb', [4]],
  ['a slug that is also a word of names and the beginning of one', 'tide', [5, 2, 1, 3]],
  ['a slug in upper case, whose words a name has', 'TIDE-CLOCK', [1]],
  ['a package name', 'org.example.TideClock', [1]],
  ['a package name in another case', 'ORG.example.tideclock', [1]],
  ['a package name of a deleted app', 'org.example.ebb', [4]],
  ['the beginning of a package name, which is none', 'org.example', []],
  ['a part of package names, the newest app first', 'example', [4, 1]],
  ['the beginning of a part, in another case', 'TIDEC', [1]],
  ['a part with an underscore, and its beginning', 'low_w', [28]],
  ['what is behind an underscore of a part, which is none', 'water', []],
  ['a part with a word behind it, which is none', 'example ebb', []],
  ['a developer, the newest app first', 'Bob', [25, 24, 23]],
  ['a word of developers', 'harbour', [30, 29]],
  ['the beginning of another word of one, in another case', 'SOFT', [29]],
  ['two words of one', 'harbour soft', [29]],
  ['a word of a developer and one of an app, which is none', 'harbour one', []],
  ['the end of a word of developers, which is none', 'ware', []],
  ['a slug that is the name of a developer in lower case', 'bob', [25, 24, 23]],
  ['a word of names, the newest app first, then its beginning, in another case', 'TIDE', [2, 1, 3]],
  ['a word with a space at its end', 'tide ', [5, 2, 1, 3]],
  ['a whole name', 'tides', [3]],
  ['the last word of names', 'clock', [15, 1]],
  ['the beginning of the last word', 'clo', [15, 1]],
  ['words in another order', 'clock tide', [1]],
  ['beginnings in another order', 'cl ti', [1]],
  ['the words as one', 'tideclock', [1]],
  ['the beginning of the words as one', 'tidecl', [1]],
  ['one word as two', 'snake s', [11, 10]],
  ['one word that names have, and one that they have not', 'tide chart', []],
  ['the middle of a word, which is none', 'lock', []],
  ['a name with other letters that look the same', 'Tide C1ock', [1]],
  ['a name with %', '100%', [9, 8]],
  ['% alone', '%', []],
  ['a name with _', 'snake_', [10, 11]],
  ['words that _ joins', 'case', [10]],
  ['a Turkish İ', 'İstanbul', [13, 12]],
  ['a Turkish İ before upper case', 'İSTANBUL', [13, 12]],
  ['a slug, and an I that Turkish would fold to ı', 'istanbul', [12, 13]],
  ['Arabic', 'ساعة', [14]],
  ['the second word, in Arabic', 'المد', [14]],
  ['two characters of a longer Japanese name', '予報', [26]],
  ['one character of it', '予', [26]],
  ['characters in another order', '報予', []],
  ['a word that a capital begins', 'pipe', [27]],
  ['an emoji, first of a whole name', '🌊', [16, 15]],
  ['half of an emoji', '\uD83C', []],
  ['an accented letter in lower case', 'école', [18, 17]],
  ['an accented letter in upper case', 'ÉCOLE', [18, 17]],
  ['no accent', 'marees', [17]],
  ['Cyrillic in lower case', 'прилив', [20, 19]],
  ['Cyrillic in upper case', 'ПРИЛИВ', [20, 19]],
  ['Cyrillic words in lower case', 'прилив и', [19]],
  ['a name that ends with the greatest character', 'last', [21]],
  ['nothing', '', []],
  ['white space', ' \n ', []],
  ['a NUL after a word', 'tides\0', [3]],
  ['100 %', '%'.repeat(100), []],
  ['100 quotes', `'"`.repeat(50), []],
  ['100 backslashes', '\\'.repeat(100), []],
  ['100 NULs', '\0'.repeat(100), []],
  ['100 halves of surrogate pairs', '\uDC00'.repeat(100), []],
  ['100 times the greatest character', '\u{10FFFF}'.repeat(100), []],
  ['100 letters whose upper case is longer', 'ΐ'.repeat(100), []],
  ['100 ligatures of 18 letters', '\uFDFA'.repeat(100), []],
  ['80 words', Array.from({ length: 80 }, (_, index) => index + 10).join(' '), []],
  ['a text longer than any field', 'x'.repeat(10_000), []],
])('finds by %s', async ([, text, ids]) => {
  expect(await find(text)).toEqual({ ids, hasMore: false })
})

/** Runs the work with what the actions leave, which is rolled back. */
async function after(
  change: (runner: QueryRunner) => Promise<unknown>,
  expectFound: (runner: QueryRunner) => Promise<unknown>,
) {
  const undone = new Error('rolled back')
  const write = database.write(async (runner) => {
    await change(runner)
    await expectFound(runner)
    throw undone
  })
  await expect(write).rejects.toBe(undone)
}

test('a renamed app is found by its new name only', () =>
  after(
    async (runner) => {
      const app = required(await runner.sql('apps').where({ id: 1 }).first(), 'the app')
      await saveApp(runner, 'app update', app, { name: 'Tide Bell' }, actor)
    },
    async (runner) => {
      expect((await findApps(runner, 'tide clock', 50)).ids).toEqual([])
      expect((await findApps(runner, 'tide clo', 50)).ids).toEqual([])
      expect((await findApps(runner, 'tide bell', 50)).ids).toEqual([1])
      expect((await findApps(runner, 'tide', 50)).ids).toEqual([5, 2, 1, 3])
    },
  ))

test('a renamed developer is found by the new name only, a removed one not at all', () =>
  after(
    async (runner) => {
      await renameDeveloper(runner, 'Harbour Software', 'Quay Works', actor)
      await runner.sql('apps').where({ developer_id: 4 }).update({ developer_id: 3 })
      await removeDeveloper(runner, 'Old Harbour', actor)
    },
    async (runner) => {
      expect((await findApps(runner, 'harbour', 50)).ids).toEqual([])
      expect((await findApps(runner, 'works', 50)).ids).toEqual([30, 29])
    },
  ))

test('an app is found by a part of its new package name only', () =>
  after(
    async (runner) => {
      const app = required(await runner.sql('apps').where({ id: 1 }).first(), 'the app')
      const changes = { package_name: 'net.harbour.bell' }
      await saveApp(runner, 'app update', app, changes, actor)
    },
    async (runner) => {
      expect((await findApps(runner, 'example', 50)).ids).toEqual([4])
      expect((await findApps(runner, 'bell', 50)).ids).toEqual([1])
    },
  ))

test('a rare word finds its app among any number of apps with the frequent one', () =>
  after(
    async (runner) => {
      const rows = Array.from({ length: 12_000 }, (_, index) => ({
        id: 1e6 + index,
        tokens: ['tide'],
      }))
      await runner.names.index(rows)
    },
    async (runner) => {
      for (const text of ['tide clock', 'clock tide', 'ti cl'])
        expect((await findApps(runner, text, 50)).ids, text).toEqual([1])
    },
  ))

test.for([1000, 1001])('of %i apps with a word, 1,000 are found', (count) =>
  after(
    (runner) => {
      const inserts = Array.from({ length: count }, (_, index) =>
        toInsert({ name: `Many ${index}` }),
      )
      return changeApps(runner, 'app create', { inserts }, actor)
    },
    async (runner) => {
      const found = await findApps(runner, 'many', 1000)
      expect(found).toMatchObject({ hasMore: count > 1000 })
      const newest = await runner.sql('apps').orderBy('id', 'desc').limit(1000).pluck('id')
      expect(found.ids).toEqual(newest)
    },
  ),
)
