import { describe, expect, test } from 'vitest'
import type { NamedAppRow } from '../../src/catalogue/app-store.ts'
import {
  batchKeys,
  isAccepted,
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
    lines.map((one, index) => ({ number: index + 1, app: one })),
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
      'belongs to app 8, moon',
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
  /** The numbers of the refused lines, and the ids of the apps that lose their package names. */
  const exchange = (lines: Line[], ...existing: NamedAppRow[]) => {
    const matches = matchAll(lines, ...existing)
    refuseTakenNames(matches)
    const refused = matches.filter((match) => !isAccepted(match)).map(({ source }) => source.number)
    return [refused, matches.filter(isAccepted).flatMap(({ holder }) => holder?.id ?? [])]
  }
  const moons: Line = {
    ...line,
    id: 8,
    slug: 'moon',
    created_at: time(1),
    package_name: 'org.example.stars',
  }
  const renamed = { ...moons, package_name: 'org.example.new' }
  const taker = { ...taking, id: 9, slug: 'sun' }

  test.for<[what: string, lines: Line[], refused: number[], givers: number[]]>([
    ['which takes the name of the first', [taking, moons], [], [8, 7]],
    ['which gets a new one', [taking, renamed], [], [8]],
    ['which gets a new one before', [renamed, taking], [], [8]],
    ['which gets none', [taking, { ...moons, package_name: null }], [], [8]],
    ['which keeps it', [taking], [1], []],
    ['whose line keeps it', [taking, { ...moons, package_name: 'org.example.moon' }], [1], []],
    ['whose line is refused', [taking, { ...moons, package_name: 'org.example.mars' }], [1, 2], []],
    ['for a new app, and the other gets a new one', [taker, renamed], [], [8]],
    ['for a new app, and the other keeps it', [taker], [1], []],
    ['but identifies its own app only by slug', [{ ...taking, id: 9 }, renamed], [1], []],
    ['but has no id', [withoutId, renamed], [1], []],
    ['but has no creation time', [withoutTime, renamed], [1], []],
    ['and its slug', [{ ...taking, id: 9, slug: 'moon' }], [], []],
  ])('%s', ([, lines, refused, givers]) => {
    const mars = {
      ...app,
      id: 10,
      slug: 'mars',
      package_name: 'org.example.mars',
      package_key: 'org.example.mars',
    }
    expect(exchange(lines, app, moon, mars)).toEqual([refused, givers])
  })

  test('in a chain of which all are refused if the last app keeps its name', () => {
    const row = Array.from({ length: 1000 }, (_, index) => {
      const package_name = `org.example.p${index}`
      return { ...app, id: index + 1, slug: `a${index}`, package_name, package_key: package_name }
    })
    const lines = row.map(({ id, slug }, index) => {
      return {
        ...line,
        id,
        slug,
        created_at: time(1),
        package_name: `org.example.p${(index + 1) % 1000}`,
      }
    })
    const numbers = row.slice(1).map((_, index) => index + 1)
    expect(exchange(lines.slice(0, -1), ...row)).toEqual([numbers, []])
    expect(exchange(lines.slice(0, -1).toReversed(), ...row)).toEqual([numbers, []])
    expect(exchange(lines, ...row)).toEqual([
      [],
      [...row.slice(1), ...row.slice(0, 1)].map(({ id }) => id),
    ])
  })
})
