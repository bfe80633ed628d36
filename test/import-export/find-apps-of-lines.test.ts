import { describe, expect, test } from 'vitest'
import type { NamedAppRow } from '../../src/catalogue/app-store.ts'
import {
  batchKeys,
  firstOfEachApp,
  matchLines,
  refuseSecondLines,
  refuseTakenNames,
} from '../../src/import-export/find-apps-of-lines.ts'
import type { Line } from '../../src/import-export/line.ts'
import { line, app as row, time } from './star-map.ts'

/** App 7 of Ada: Star Map, star-map, org.example.stars, created on day 1, approved on day 2. */
const app: NamedAppRow = {
  ...row,
  developer_name: 'Ada',
  category_name: 'Tools',
  category_slug: 'tools',
}
const named = (package_name: string | null) => ({
  package_name,
  package_key: package_name?.toLowerCase() ?? null,
})
const unpackaged = { ...app, ...named(null) }
const moon = { ...app, id: 8, slug: 'moon', ...named('org.example.moon') }
const mars = { ...app, id: 10, slug: 'mars', ...named('org.example.mars') }
const ofEve = { developer_id: 9, developer_name: 'Eve' }
const deleted = { ...app, deleted_at: time(4), updated_at: time(4) }

/** The line of an export, for app 7. */
const exact: Line = { ...line, id: 7, slug: 'star-map', created_at: time(1) }
const bySlug: Line = { ...line, slug: 'star-map' }
const byPackageName: Line = { ...line, package_name: 'org.example.stars' }
const restoring: Line = { ...bySlug, deleted_at: null }

const matchAll = (lines: Line[], ...apps: NamedAppRow[]) =>
  matchLines(
    lines.map((one, index) => ({ number: index + 1, raw: '', app: one })),
    apps,
  )

/** Matches lines, and refuses those with package names of other apps. */
function match(lines: Line[], ...apps: NamedAppRow[]) {
  const matches = matchAll(lines, ...apps)
  refuseTakenNames(matches)
  return matches
}

type Described = {
  name: string
  line: Line
  existing: NamedAppRow[]
  /** Creates an app, updates one, or is refused because of a field. */
  outcome: string
}

const described: Described[] = [
  { name: 'a new app', line, existing: [], outcome: 'creates an app' },
  {
    name: 'the package name of an app, in any case',
    line: { ...line, package_name: 'Org.Example.Stars' },
    existing: [app],
    outcome: 'updates 7',
  },
  {
    name: 'the slug and package name of an app of another developer',
    line: { ...bySlug, package_name: 'org.example.stars' },
    existing: [{ ...app, ...ofEve }],
    outcome: 'updates 7',
  },
  { name: 'the slug of an app', line: bySlug, existing: [app], outcome: 'updates 7' },
  {
    name: 'the slug of an app, and a null package name',
    line: { ...bySlug, package_name: null },
    existing: [app],
    outcome: 'updates 7',
  },
  {
    name: 'the slug of an app, and its first package name',
    line: { ...bySlug, package_name: 'org.example.new' },
    existing: [unpackaged],
    outcome: 'updates 7',
  },
  {
    name: 'the slug of an app with another package name',
    line: { ...bySlug, package_name: 'org.example.new' },
    existing: [app],
    outcome: 'refused: /slug',
  },
  {
    name: 'the slug of an app of another developer',
    line: bySlug,
    existing: [{ ...app, ...ofEve }],
    outcome: 'refused: /slug',
  },
  {
    name: 'the package name of one app, and the slug of another',
    line: { ...byPackageName, slug: 'moon' },
    existing: [app, { ...unpackaged, id: 8, slug: 'moon' }],
    outcome: 'refused: /slug',
  },
  {
    name: 'the package name of an app, and another slug',
    line: { ...byPackageName, slug: 'other' },
    existing: [app],
    outcome: 'refused: /slug',
  },
  {
    name: 'the id, slug and creation time of an app of another developer',
    line: exact,
    existing: [{ ...app, ...ofEve }],
    outcome: 'updates 7',
  },
  {
    name: 'the id, slug and creation time of an app with another package name',
    line: { ...exact, package_name: 'org.example.new' },
    existing: [app],
    outcome: 'updates 7',
  },
  {
    name: 'the id, slug and creation time of one app, and the package name of another',
    line: { ...exact, package_name: 'org.example.moon' },
    existing: [app, moon],
    outcome: 'refused: /package_name',
  },
  {
    name: 'the id and slug of an app of another developer, with another time',
    line: { ...exact, created_at: time(2) },
    existing: [{ ...unpackaged, ...ofEve }],
    outcome: 'refused: /slug',
  },
  {
    name: 'the slug and creation time of an app of another developer, with another id',
    line: { ...exact, id: 8 },
    existing: [{ ...app, ...ofEve }],
    outcome: 'refused: /slug',
  },
  {
    name: 'an export of another catalogue with the slug of an app that has a package name',
    line: { ...exact, id: 9, created_at: time(2) },
    existing: [app],
    outcome: 'refused: /slug',
  },
  {
    name: 'an export of another catalogue with the id, too, and a null package name',
    line: { ...exact, created_at: time(2), package_name: null },
    existing: [app],
    outcome: 'refused: /slug',
  },
  {
    name: 'the slug and creation time of an app that got another id in an import',
    line: { ...exact, id: 9, package_name: null },
    existing: [app],
    outcome: 'updates 7',
  },
  {
    name: 'an export of another catalogue, if neither has a package name',
    line: { ...exact, id: 9, created_at: time(2) },
    existing: [unpackaged],
    outcome: 'updates 7',
  },
  {
    name: 'the owner and name of an app without a package name',
    line,
    existing: [unpackaged],
    outcome: 'updates 7',
  },
  {
    name: 'the owner and name of an app with a package name',
    line,
    existing: [app],
    outcome: 'creates an app',
  },
  {
    name: 'the owner and name of an app, and another slug',
    line: { ...line, slug: 'other' },
    existing: [unpackaged],
    outcome: 'creates an app',
  },
  {
    name: 'the owner and name of an app, and a package name',
    line: { ...line, package_name: 'org.example.moon' },
    existing: [unpackaged],
    outcome: 'creates an app',
  },
  {
    name: 'the owner and name of two apps, of which one is deleted',
    line,
    existing: [{ ...unpackaged, id: 6, deleted_at: time(4) }, unpackaged],
    outcome: 'updates 7',
  },
  {
    name: 'the owner and name of two apps',
    line,
    existing: [unpackaged, { ...unpackaged, id: 8 }],
    outcome: 'refused: /name',
  },
  { name: 'a deleted app', line: bySlug, existing: [deleted], outcome: 'refused: the line' },
  {
    name: 'a deleted app, and a later change',
    line: { ...bySlug, updated_at: time(5) },
    existing: [deleted],
    outcome: 'refused: the line',
  },
  {
    name: 'a deleted app, and a restoration at the time of the deletion',
    line: { ...restoring, updated_at: time(4) },
    existing: [deleted],
    outcome: 'refused: the line',
  },
  {
    name: 'a deleted app, and a restoration without a time',
    line: restoring,
    existing: [deleted],
    outcome: 'refused: the line',
  },
  {
    name: 'a deleted app, and a later restoration',
    line: { ...restoring, updated_at: time(5) },
    existing: [deleted],
    outcome: 'updates 7',
  },
  {
    name: 'a deleted app, and a deletion',
    line: { ...restoring, deleted_at: time(4) },
    existing: [deleted],
    outcome: 'updates 7',
  },
  {
    name: 'an approval before the creation of the app',
    line: { ...bySlug, approved_at: time(0) },
    existing: [app],
    outcome: 'updates 7',
  },
  {
    name: 'a creation after the approval of the app',
    line: { ...bySlug, created_at: time(5) },
    existing: [app],
    outcome: 'updates 7',
  },
  {
    name: 'a line that finds its app by an id and slug and is created after its approval',
    line: { ...exact, created_at: time(5) },
    existing: [unpackaged],
    outcome: 'refused: /created_at',
  },
  {
    name: 'an app whose own times contradict each other',
    line: bySlug,
    existing: [{ ...app, approved_at: time(0) }],
    outcome: 'updates 7',
  },
  {
    name: 'a creation after the deletion that the line undoes',
    line: { ...restoring, created_at: time(2), approved_at: time(2), updated_at: time(5) },
    existing: [{ ...deleted, deleted_at: time(1) }],
    outcome: 'updates 7',
  },
]

test.for(described)('$name: $outcome', ({ line, existing, outcome }) => {
  const [found] = match([line], ...existing)
  const [problem] = found?.problems ?? []
  const updates = found?.app ? `updates ${found.app.id}` : 'creates an app'
  expect(problem ? `refused: ${problem.field || 'the line'}` : updates).toBe(outcome)
  expect(found?.problems.length).toBeLessThan(2)
})

test('a refusal names the existing app and says what to do', () => {
  const messageOf = (line: Line, ...existing: NamedAppRow[]) =>
    match([line], ...existing)[0]?.problems[0]?.message
  expect([
    messageOf(line, unpackaged, { ...unpackaged, id: 8 }),
    messageOf({ ...byPackageName, slug: 'other' }, app),
    messageOf({ ...exact, package_name: 'org.example.moon' }, app, moon),
    messageOf({ ...bySlug, package_name: 'org.example.new' }, app),
    messageOf(bySlug, deleted),
    messageOf({ ...bySlug, developer_name: "Ada O'Neil" }, { ...app, ...ofEve }),
    messageOf({ ...exact, id: 9, created_at: time(2) }, app),
  ]).toEqual([
    'belongs to several apps of this owner: identify the app by slug or package_name',
    'of this app is star-map and cannot change',
    'belongs to app 8, moon; if this file gives that app another one, import the refused lines first with "package_name": null, then as they are',
    'belongs to an app with the package name org.example.stars',
    'describes app 7, which was deleted; restore it with: ./apps-service app restore 7',
    "belongs to app 7 of Eve: if that app is meant, run ./apps-service app transfer 7 --to 'Ada O'\\''Neil' first; if not, leave the slug out to get another",
    'belongs to app 7, which was created at another time and has the package name org.example.stars: leave it out to get another, or give that package name to update app 7',
  ])
})

const withSlug = { ...line, slug: 'sky' }
const withPackageName = { ...line, package_name: 'Org.Example.S' }

type LaterLine = { name: string; first: Line; second: Line; isFound: boolean }
const laterLines: LaterLine[] = [
  { name: 'its owner and name', first: line, second: line, isFound: true },
  { name: 'another name', first: line, second: { ...line, name: 'Moon' }, isFound: false },
  {
    name: 'the slug made of its name',
    first: line,
    second: { ...bySlug, developer_name: 'Bob' },
    isFound: true,
  },
  { name: 'its slug', first: withSlug, second: { ...withSlug, name: 'Moon' }, isFound: true },
  { name: 'its name, though it has a slug', first: withSlug, second: line, isFound: true },
  {
    name: 'its name and another slug',
    first: withSlug,
    second: { ...line, slug: 'sea' },
    isFound: false,
  },
  {
    name: 'its package name, in any case',
    first: withPackageName,
    second: { ...line, name: 'Moon', package_name: 'org.example.s' },
    isFound: true,
  },
  {
    name: 'the slug beside its package name',
    first: { ...withPackageName, slug: 'sky' },
    second: { ...withSlug, name: 'Moon' },
    isFound: true,
  },
  {
    name: 'its name, though it has a package name',
    first: withPackageName,
    second: line,
    isFound: false,
  },
  {
    name: 'the slug made of its name, though it has a package name',
    first: withPackageName,
    second: { ...bySlug, developer_name: 'Bob' },
    isFound: true,
  },
  {
    name: 'its id, and another slug and name',
    first: { ...line, id: 7 },
    second: { ...withSlug, id: 7, name: 'Moon' },
    isFound: true,
  },
  {
    name: 'the slug made of its name, with a number',
    first: withPackageName,
    second: { ...line, slug: 'star-map-2' },
    isFound: false,
  },
]

test.for(laterLines)(
  'a later line with $name may describe the app of a line: $isFound',
  ({ first, second, isFound }) => {
    const { claims } = batchKeys({ app: first })
    expect(batchKeys({ app: second }).finds.some((key) => claims.includes(key))).toBe(isFound)
  },
)

test('only the first of the lines that find an app may be written now', () => {
  const lines = [bySlug, { ...line, name: 'New' }, byPackageName, { ...line, name: 'Newer' }]
  const first = firstOfEachApp(matchAll(lines, app))
  expect(first.map(({ source }) => source.number)).toEqual([1, 2, 4])
})

test('a second line about an app is refused, and names the first', () => {
  const matches = matchAll([bySlug, { ...line, slug: 'moon' }, { ...line, name: 'New' }], app, moon)
  refuseSecondLines(matches, new Map([[8, 5]]))
  expect(matches.map(({ problems }) => problems.map(({ message }) => message))).toEqual([
    [],
    ['is about app 8, moon, as line 5 is: keep one of the two'],
    [],
  ])
})

describe('a line takes the package name of app 8', () => {
  const taking: Line = { ...exact, package_name: 'org.example.moon' }
  const byNewApp: Line = { ...taking, id: 9, slug: 'sun' }
  const { id: _, ...withoutId } = taking
  const { created_at: __, ...withoutTime } = taking
  const ofMoon = (package_name: string | null): Line => ({
    ...exact,
    ...{ id: 8, slug: 'moon', package_name },
  })
  const renaming = ofMoon('org.example.new')
  const ofMars: Line = { ...exact, id: 10, slug: 'mars', package_name: 'org.example.moon' }

  type Taking = { name: string; lines: Line[]; refused: number[] }
  const takings: Taking[] = [
    { name: 'which got a new one before', lines: [renaming, taking], refused: [] },
    { name: 'which got none before', lines: [ofMoon(null), taking], refused: [] },
    { name: 'which gets a new one afterwards', lines: [taking, renaming], refused: [1] },
    {
      name: 'which takes its own in exchange',
      lines: [taking, ofMoon('org.example.stars')],
      refused: [1, 2],
    },
    { name: 'which has no line', lines: [taking], refused: [1] },
    { name: 'whose line keeps it', lines: [ofMoon('org.example.moon'), taking], refused: [2] },
    { name: 'whose line omits it', lines: [{ ...line, slug: 'moon' }, taking], refused: [2] },
    {
      name: 'whose line is refused',
      lines: [ofMoon('org.example.mars'), taking],
      refused: [1, 2],
    },
    {
      name: 'whose line is refused for its slug',
      lines: [{ ...renaming, created_at: time(0) }, taking],
      refused: [1, 2],
    },
    {
      name: 'in a row of three',
      lines: [renaming, ofMars, { ...taking, package_name: 'org.example.mars' }],
      refused: [],
    },
    {
      name: 'for a new app, after it got a new one',
      lines: [renaming, byNewApp],
      refused: [],
    },
    { name: 'for a new app, before it gets a new one', lines: [byNewApp, renaming], refused: [1] },
    {
      name: 'with another id than that of its slug',
      lines: [renaming, { ...taking, id: 9 }],
      refused: [2],
    },
    { name: 'without an id', lines: [renaming, withoutId], refused: [2] },
    { name: 'without a creation time', lines: [renaming, withoutTime], refused: [2] },
    { name: 'with its slug, too', lines: [{ ...taking, id: 9, slug: 'moon' }], refused: [] },
  ]

  test.for(takings)('$name: refuses $refused', ({ lines, refused }) => {
    const problems = match(lines, app, moon, mars).map((matched) => matched.problems)
    expect(problems.flatMap((some, index) => (some.length > 0 ? [index + 1] : []))).toEqual(refused)
  })
})
