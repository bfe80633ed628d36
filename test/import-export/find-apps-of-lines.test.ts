import { describe, expect, test } from 'vitest'
import type { NamedAppRow } from '../../src/catalogue/app-store.ts'
import {
  batchKeys,
  matchLines,
  refuseTakenNames,
  splitRepeats,
} from '../../src/import-export/find-apps-of-lines.ts'
import type { Line } from '../../src/import-export/line.ts'
import { line, app as row, time } from './star-map.ts'

const app: NamedAppRow = {
  ...row,
  developer_name: 'Ada',
  category_name: 'Tools',
  category_slug: 'tools',
}
const withoutPackageName: NamedAppRow = { ...app, package_name: null, package_key: null }
const appOfEve: NamedAppRow = { ...app, developer_id: 9, developer_name: 'Eve' }

const matchAll = (lines: Line[], ...apps: NamedAppRow[]) =>
  matchLines(
    lines.map((one, index) => ({ number: index + 1, raw: '', app: one })),
    apps,
  )
function match(described: Line, ...apps: NamedAppRow[]) {
  const [made] = matchAll([described], ...apps)
  if (!made) throw new Error('a line has no match')
  return made
}
/** Why each of the lines is refused. */
function conflicts(lines: Line[], ...apps: NamedAppRow[]) {
  const matches = matchAll(lines, ...apps)
  refuseTakenNames(matches)
  return matches.map(({ problems }) => problems)
}

describe('a line describes', () => {
  test.for<[what: string, line: Line, existing: NamedAppRow[], id: number | undefined]>([
    ['no app if none exists', line, [], undefined],
    [
      'an app by its package name, in any case',
      { ...line, package_name: 'Org.Example.Stars' },
      [app],
      7,
    ],
    ['an app by its slug', { ...line, slug: 'star-map' }, [app], 7],
    [
      'an app of another developer by its id, slug and creation time',
      { ...line, id: 7, slug: 'star-map', created_at: time(1) },
      [appOfEve],
      7,
    ],
    [
      'the app with its id, slug and creation time before the one with its package name',
      { ...line, id: 7, slug: 'star-map', created_at: time(1), package_name: 'org.example.moon' },
      [
        app,
        {
          ...app,
          id: 8,
          slug: 'moon',
          package_name: 'org.example.moon',
          package_key: 'org.example.moon',
        },
      ],
      7,
    ],
    [
      'no app by its name if it has a slug',
      { ...line, slug: 'other' },
      [withoutPackageName],
      undefined,
    ],
    [
      'no app by its name if it has a package name',
      { ...line, package_name: 'org.example.moon' },
      [withoutPackageName],
      undefined,
    ],
    ['an app without a package name by its name', line, [withoutPackageName], 7],
    ['no app with a package name by its name', line, [app], undefined],
    [
      'the app with its package name before the one with its slug',
      { ...line, slug: 'other', package_name: 'org.example.stars' },
      [app, { ...app, id: 8, slug: 'other', package_name: null, package_key: null }],
      7,
    ],
  ])('%s', ([, described, existing, id]) => {
    expect(match(described, ...existing).app?.id).toBe(id)
  })
})

const slugged = { ...line, slug: 'sky' }
const packaged = { ...line, package_name: 'Org.Example.S' }
const both = { ...packaged, slug: 'sky' }

test.for<[what: string, first: Line, second: Line, isFound: boolean]>([
  ['its owner and name', line, { ...line }, true],
  ['another name', line, { ...line, name: 'Moon' }, false],
  ['the slug made of its name', line, { ...line, developer_name: 'Bob', slug: 'star-map' }, true],
  ['its slug', slugged, { ...slugged, name: 'Moon' }, true],
  ['only its name, though it has a slug', slugged, line, true],
  ['its name and another slug', slugged, { ...line, slug: 'sea' }, false],
  [
    'its package name, in any case',
    packaged,
    { ...line, name: 'Moon', package_name: 'org.example.s' },
    true,
  ],
  ['the slug beside its package name', both, { ...slugged, name: 'Moon' }, true],
  ['only its name, though it has a package name', packaged, line, false],
  ['the slug made of its name, with a number', packaged, { ...line, slug: 'star-map-2' }, false],
  [
    'the slug made of its name, though it has a package name',
    packaged,
    { ...line, developer_name: 'Bob', slug: 'star-map' },
    true,
  ],
])('a line that has %s of a line before it', ([, first, second, isFound]) => {
  const { claims } = batchKeys(first)
  expect(batchKeys(second).finds.some((key) => claims.includes(key))).toBe(isFound)
})

test('lines for the same app are split into the first and the repeated ones', () => {
  const lines = [
    { ...line, slug: 'star-map' },
    { ...line, name: 'New' },
    { ...line, package_name: 'org.example.stars' },
    { ...line, name: 'Newer' },
  ]
  const { first, repeated } = splitRepeats(matchAll(lines, app))
  expect([first, repeated].map((some) => some.map(({ source }) => source.number))).toEqual([
    [1, 2, 4],
    [3],
  ])
})

const exact: Line = { ...line, id: 7, slug: 'star-map', created_at: time(1) }
const deleted = { ...app, deleted_at: time(4), updated_at: time(4) }
const restored: Line = { ...line, slug: 'star-map', deleted_at: null }

describe('a line is refused', () => {
  test.for<[what: string, line: Line, existing: NamedAppRow[], fields: string[]]>([
    [
      'with another slug for its app',
      { ...line, package_name: 'org.example.stars', slug: 'other' },
      [app],
      ['/slug'],
    ],
    ['of a deleted app', { ...line, slug: 'star-map' }, [{ ...app, deleted_at: time(4) }], ['']],
    ['of a deleted app, with an older time', { ...restored, updated_at: time(3) }, [deleted], ['']],
    [
      'of a deleted app, with the time of the deletion',
      { ...restored, updated_at: time(4) },
      [deleted],
      [''],
    ],
    [
      'of a deleted app, without a time',
      { ...line, slug: 'star-map', deleted_at: null },
      [deleted],
      [''],
    ],
    [
      'of a deleted app, without deleted_at',
      { ...line, slug: 'star-map', updated_at: time(5) },
      [deleted],
      [''],
    ],
    ['not if the app was restored later', { ...restored, updated_at: time(5) }, [deleted], []],
    ['not if it is deleted in both', { ...restored, deleted_at: time(4) }, [deleted], []],
    [
      'with the package name of another app',
      { ...exact, package_name: 'org.example.moon' },
      [
        app,
        {
          ...app,
          id: 8,
          slug: 'moon',
          package_name: 'org.example.moon',
          package_key: 'org.example.moon',
        },
      ],
      ['/package_name'],
    ],
    [
      'with the slug of an app with another package name',
      { ...line, slug: 'star-map', package_name: 'org.example.new' },
      [app],
      ['/slug'],
    ],
    [
      'not with a new package name for the app with its id, slug and creation time',
      { ...exact, package_name: 'org.example.new' },
      [app],
      [],
    ],
    [
      'not with the first package name of its app',
      { ...line, slug: 'star-map', package_name: 'org.example.new' },
      [withoutPackageName],
      [],
    ],
    [
      'not with the same package name in another case',
      { ...line, slug: 'star-map', package_name: 'Org.Example.Stars' },
      [app],
      [],
    ],
    ['with the slug of another developer', { ...line, slug: 'star-map' }, [appOfEve], ['/slug']],
    [
      'with the id and slug of an app of another developer that was created at another time',
      { ...line, id: 7, slug: 'star-map', created_at: time(2) },
      [appOfEve],
      ['/slug'],
    ],
    [
      'likewise of an app without a package name',
      { ...line, id: 7, slug: 'star-map', created_at: time(2) },
      [{ ...appOfEve, package_name: null, package_key: null }],
      ['/slug'],
    ],
    [
      'with the slug and creation time of an app of another developer',
      { ...line, id: 8, slug: 'star-map', created_at: time(1) },
      [appOfEve],
      ['/slug'],
    ],
    [
      'with the slug of another developer, and the package name of an own app',
      { ...line, slug: 'moon', package_name: 'org.example.stars' },
      [app, { ...appOfEve, id: 8, slug: 'moon', package_name: null, package_key: null }],
      ['/slug'],
    ],
    [
      'not with the package name of an app of another developer',
      { ...line, slug: 'star-map', package_name: 'org.example.stars' },
      [appOfEve],
      [],
    ],
    [
      'with an approval before the creation of its app',
      { ...line, slug: 'star-map', approved_at: time(0) },
      [app],
      ['/approved_at'],
    ],
    [
      'with a creation after the approval of its app',
      { ...line, slug: 'star-map', created_at: time(5) },
      [app],
      ['/created_at'],
    ],
    [
      'not with a later approval and deletion',
      { ...line, slug: 'star-map', approved_at: time(1), deleted_at: time(2) },
      [app],
      [],
    ],
    [
      'not if only its app has times that contradict each other',
      { ...line, slug: 'star-map' },
      [{ ...app, approved_at: time(0) }],
      [],
    ],
    [
      'not with a creation after a deletion that it undoes',
      { ...restored, created_at: time(2), approved_at: time(2), updated_at: time(5) },
      [{ ...deleted, deleted_at: time(1) }],
      [],
    ],
    [
      'of the export of another catalogue, without the package name of its namesake',
      { ...exact, id: 9, created_at: time(2) },
      [app],
      ['/slug'],
    ],
    [
      'of the export of another catalogue, with a null package name',
      { ...exact, created_at: time(2), package_name: null },
      [app],
      ['/slug'],
    ],
    [
      'not if it has the creation time of its namesake, which got another id when it was imported',
      { ...exact, id: 9, package_name: null },
      [app],
      [],
    ],
    [
      'not of an export, if its namesake has no package name either',
      { ...exact, id: 9, created_at: time(2) },
      [withoutPackageName],
      [],
    ],
    [
      'not with a null package name, if it is not of an export',
      { ...line, slug: 'star-map', package_name: null },
      [app],
      [],
    ],
    ['not for a new app', line, [], []],
    ['not without a slug', { ...line, package_name: 'org.example.stars' }, [app], []],
    [
      'not if slug and package name match',
      { ...line, slug: 'star-map', package_name: 'org.example.stars' },
      [app],
      [],
    ],
  ])('%s', ([, described, existing, fields]) => {
    expect(conflicts([described], ...existing)[0]?.map(({ field }) => field)).toEqual(fields)
  })

  test('if several apps have its owner and name', () => {
    const message =
      'belongs to several apps of this owner: identify the app by slug or package_name'
    expect(conflicts([line], withoutPackageName, { ...withoutPackageName, id: 8 })).toMatchObject([
      [{ field: '/name', message }],
    ])
  })

  test('with a message that names the existing app', () => {
    const moon = {
      ...app,
      id: 8,
      slug: 'moon',
      package_name: 'org.example.moon',
      package_key: 'org.example.moon',
    }
    const messages = (described: Line, ...existing: NamedAppRow[]) =>
      conflicts([described], ...existing).flatMap((problems) =>
        problems.map(({ message }) => message),
      )
    expect([
      ...messages({ ...line, package_name: 'org.example.stars', slug: 'other' }, app),
      ...messages({ ...exact, package_name: 'org.example.moon' }, app, moon),
      ...messages({ ...line, slug: 'star-map', package_name: 'org.example.new' }, app),
      ...messages({ ...line, slug: 'star-map' }, deleted),
      ...messages({ ...line, slug: 'star-map' }, appOfEve),
      ...messages({ ...exact, id: 9, created_at: time(2) }, app),
    ]).toEqual([
      'of this app is star-map and cannot change',
      'belongs to app 8, moon; if this file gives that app another one, import the refused lines first with "package_name": null, then as they are',
      'belongs to an app with the package name org.example.stars',
      'describes app 7, which was deleted; restore it with: ./apps-service app restore 7',
      'belongs to an app of Eve: leave it out to get another',
      'belongs to app 7, which was created at another time and has the package name org.example.stars: leave it out to get another, or give that package name to update app 7',
    ])
  })
})

describe('a line takes the package name of another app', () => {
  const moon = {
    ...app,
    id: 8,
    slug: 'moon',
    package_name: 'org.example.moon',
    package_key: 'org.example.moon',
  }
  const taking: Line = { ...exact, package_name: 'org.example.moon' }
  const { id: _, ...withoutId } = taking
  const { created_at: __, ...withoutTime } = taking
  const mars = {
    ...app,
    id: 10,
    slug: 'mars',
    package_name: 'org.example.mars',
    package_key: 'org.example.mars',
  }
  const moons: Line = {
    ...line,
    id: 8,
    slug: 'moon',
    created_at: time(1),
    package_name: 'org.example.stars',
  }
  const renamed = { ...moons, package_name: 'org.example.new' }
  const cleared = { ...moons, package_name: null }
  const taker = { ...taking, id: 9, slug: 'sun' }
  const marses = { ...moons, id: 10, slug: 'mars', package_name: 'org.example.moon' }

  test.for<[what: string, lines: Line[], refused: number[]]>([
    ['which gets a new one before', [renamed, taking], []],
    ['which gets none before', [cleared, taking], []],
    ['which gets a new one afterwards', [taking, renamed], [1]],
    ['which gets none afterwards', [taking, cleared], [1]],
    ['which takes the name of the first', [taking, moons], [1, 2]],
    ['which keeps it', [taking], [1]],
    ['whose line keeps it', [{ ...moons, package_name: 'org.example.moon' }, taking], [2]],
    ['whose line has none', [{ ...line, slug: 'moon' }, taking], [2]],
    ['whose line is refused', [{ ...moons, package_name: 'org.example.mars' }, taking], [1, 2]],
    ['in a row of three', [renamed, marses, { ...taking, package_name: 'org.example.mars' }], []],
    ['for a new app, and the other gets a new one before', [renamed, taker], []],
    ['for a new app, and the other gets a new one afterwards', [taker, renamed], [1]],
    ['for a new app, and the other keeps it', [taker], [1]],
    ['but identifies its own app only by slug', [renamed, { ...taking, id: 9 }], [2]],
    ['but has no id', [renamed, withoutId], [2]],
    ['but has no creation time', [renamed, withoutTime], [2]],
    ['and its slug', [{ ...taking, id: 9, slug: 'moon' }], []],
  ])('%s', ([, lines, refused]) => {
    const problems = conflicts(lines, app, moon, mars)
    expect(problems.flatMap((some, index) => (some.length > 0 ? [index + 1] : []))).toEqual(refused)
  })
})
