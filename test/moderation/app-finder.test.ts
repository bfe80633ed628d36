import { expect, test } from 'vitest'
import { accountStore } from '../../src/accounts/account-store.ts'
import { appStore, type NewAppRow } from '../../src/catalogue/app-store.ts'
import { categoryStore } from '../../src/catalogue/category-store.ts'
import type { Database } from '../../src/db/database.ts'
import { findApps } from '../../src/moderation/app-finder.ts'
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
]

let database: Database
share(async () => {
  database = await openEmptyCatalogue()
  await database.write(async (runner) => {
    await accountStore(runner).findOrAddDeveloper('Ada')
    await accountStore(runner).findOrAddDeveloper('Bob')
    await categoryStore(runner).add('tools', 'Tools', actor)
    const rows = apps.map((app) => ({
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
    }))
    for (const row of rows) await appStore(runner).insertAll('app create', [row], actor)
  })
})

const find = (text: string, limit = 50) => database.read((runner) => findApps(runner, text, limit))

test.for<[what: string, text: string, ids: number[]]>([
  ['an id', '3', [3]],
  ['an id of a deleted app', '4', [4]],
  ['an id with #', '#3', [3]],
  ['an id with a revision', '3@k3f9a', [3]],
  ['an id with # and a revision', '#3@k3f9a', [3]],
  ['an id that is also a slug and the beginning of a name', '7', [7, 6]],
  ['an id with # that is also the beginning of a name', '#7', [7, 22]],
  ['an id that no app has', '999', []],
  ['an id beyond all numbers', '9'.repeat(30), []],
  ['a slug', 'tide-clock', [1]],
  ['a slug of a deleted app', 'ebb', [4]],
  ['a slug that is also the beginning of names', 'tide', [5, 1, 2, 3]],
  ['a slug in upper case, which is none', 'TIDE-CLOCK', []],
  ['a package name', 'org.example.TideClock', [1]],
  ['a package name in another case', 'ORG.example.tideclock', [1]],
  ['a package name of a deleted app', 'org.example.ebb', [4]],
  ['the beginning of a package name, which is none', 'org.example', []],
  ['a developer, the newest app first', 'Bob', [25, 24, 23]],
  ['a slug that is the name of a developer in lower case', 'bob', [25, 23, 24]],
  ['the beginning of names, in another case', 'TIDE', [1, 2, 3]],
  ['the beginning of names with a space at its end', 'tide ', [5, 1, 2, 3]],
  ['a whole name', 'tides', [3]],
  ['the middle of a name, which is none', 'clock', []],
  ['a name with %', '100%', [8]],
  ['% alone', '%', []],
  ['a name with _', 'snake_', [10]],
  ['the beginning of names with _ and without', 'snake', [10, 11]],
  ['a Turkish İ', 'İstanbul', [12]],
  ['a Turkish İ before upper case', 'İSTANBUL', [12]],
  ['an I that Turkish would fold to ı', 'istanbul', [12, 13]],
  ['Arabic', 'ساعة', [14]],
  ['an emoji', '🌊', [16, 15]],
  ['half of an emoji', '\uD83C', []],
  ['an accented letter in lower case', 'école', [18, 17]],
  ['an accented letter in upper case', 'ÉCOLE', [18, 17]],
  ['Cyrillic in lower case', 'прилив', [20, 19]],
  ['Cyrillic in upper case', 'ПРИЛИВ', [20, 19]],
  ['Cyrillic words in lower case', 'прилив и', [19]],
  ['a name that ends with the greatest character', 'last', [21]],
  ['nothing', '', []],
  ['white space', ' \n ', []],
  ['a NUL', 'tide\0', []],
  ['100 %', '%'.repeat(100), []],
  ['100 quotes', `'"`.repeat(50), []],
  ['100 backslashes', '\\'.repeat(100), []],
  ['100 NULs', '\0'.repeat(100), []],
  ['100 halves of surrogate pairs', '\uDC00'.repeat(100), []],
  ['100 times the greatest character', '\u{10FFFF}'.repeat(100), []],
  ['100 letters whose upper case is longer', 'ΐ'.repeat(100), []],
  ['a text longer than any field', 'x'.repeat(10_000), []],
])('finds by %s', async ([, text, ids]) => {
  expect(await find(text)).toEqual({ ids, hasMore: false })
})

test.for<[text: string, limit: number, ids: number[], hasMore: boolean]>([
  ['tide', 1, [5], true],
  ['tide', 3, [5, 1, 2], true],
  ['tide', 4, [5, 1, 2, 3], false],
  ['Bob', 2, [25, 24], true],
  ['Bob', 3, [25, 24, 23], false],
  ['7', 1, [7], true],
  ['7', 2, [7, 6], false],
  ['прилив', 1, [20], true],
  ['snake', 1, [10], true],
])('of %j, at most %i: %j, and whether there are more', async ([text, limit, ids, hasMore]) => {
  expect(await find(text, limit)).toEqual({ ids, hasMore })
})
