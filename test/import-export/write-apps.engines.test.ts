import { describe, expect, inject, test } from 'vitest'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import type { Line } from '../../src/import-export/line.ts'
import { required } from '../../src/util/helpers.ts'
import {
  exampleLine as app,
  counts,
  exampleReview,
  exportLines,
  importLines,
} from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue, openWorld } from '../support/database.ts'
import { startService } from '../support/service.ts'
import { mapOptional, noFields, optionalFields, otherFields } from '../support/whole-app.ts'

/**
 * The apps that lines create and update. Which app a line describes, and which columns it changes,
 * are in find-apps-of-lines.test.ts and line-to-row.test.ts; here is what the database has to do
 * with it.
 */

const review = (rating: number) => ({ ...exampleReview, rating })
const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()

/** The apps that lines have created, in the order of their ids. The world's have the first six. */
const importedApps = async (database: DatabaseWithTools) =>
  (await exportLines(database)).map((line) => JSON.parse(line)).filter(({ id }) => id > 6)

type Scenario = {
  name: string
  /** Lines of an earlier file. */
  existing?: object[]
  lines: object[]
  /** How many of the lines, except for the refused ones. */
  reported: Parameters<typeof counts>[0]
  /** The refused ones. */
  rejects?: { line: number; fields: string[] }[]
  /** Fields of all imported apps afterwards, in the order of their ids. */
  after: object[]
}

const scenarios: Scenario[] = [
  {
    name: 'a new app, and its line again',
    lines: [app, app],
    reported: { created: 1 },
    rejects: [{ line: 2, fields: [''] }],
    after: [{ name: 'Star Map', slug: 'star-map', developer_name: 'Ada', status: 'pending' }],
  },
  {
    name: 'a name whose slug is taken',
    existing: [app],
    lines: [{ ...app, developer_name: 'Bob' }],
    reported: { created: 1 },
    after: [{ developer_name: 'Ada' }, { developer_name: 'Bob', slug: 'star-map-2' }],
  },
  {
    name: 'a free slug, beside an app of the same name with a numbered slug',
    existing: [{ ...app, slug: 'stars-2' }],
    lines: [{ ...app, slug: 'stars' }],
    reported: { created: 1 },
    after: [{ slug: 'stars-2' }, { slug: 'stars' }],
  },
  {
    name: 'a name whose slug is taken, and then the slug with the next number',
    existing: [app],
    lines: [
      { ...app, package_name: 'org.example.stars' },
      { ...app, name: 'Sky', slug: 'star-map-2' },
    ],
    reported: { created: 2 },
    after: [{ slug: 'star-map' }, { name: 'Star Map' }, { name: 'Sky', slug: 'star-map-2' }],
  },
  {
    name: 'an app found by its owner and name',
    existing: [app],
    lines: [{ ...app, description: 'All stars.' }],
    reported: { updated: 1 },
    after: [{ description: 'All stars.' }],
  },
  {
    name: 'an app found by its owner and name, beside others that have package names or were deleted',
    existing: [
      { ...app, package_name: 'org.example.a' },
      { ...app, package_name: 'org.example.b' },
      { ...app, slug: 'c', deleted_at: time(1) },
      { ...app, slug: 'd' },
    ],
    lines: [{ ...app, version: '2' }],
    reported: { updated: 1 },
    after: [{ version: '1.0.0' }, { version: '1.0.0' }, { slug: 'c' }, { slug: 'd', version: '2' }],
  },
  {
    name: 'an owner and name of two apps',
    existing: [
      { ...app, slug: 'a' },
      { ...app, slug: 'b' },
    ],
    lines: [app],
    reported: {},
    rejects: [{ line: 1, fields: ['/name'] }],
    after: [{ slug: 'a' }, { slug: 'b' }],
  },
  {
    name: 'an app found by its package name in another case, whose owner and name change',
    existing: [{ ...app, package_name: 'org.example.stars' }],
    lines: [{ ...app, name: 'Sky', developer_name: 'Grace', package_name: 'org.Example.Stars' }],
    reported: { updated: 1 },
    after: [
      { name: 'Sky', slug: 'star-map', developer_name: 'Grace', package_name: 'org.Example.Stars' },
    ],
  },
  {
    name: 'apps with empty package names, one of which is found by its owner and name',
    lines: [
      { ...app, package_name: '' },
      { ...app, name: 'Sky', package_name: '' },
      { ...app, version: '2', package_name: '' },
    ],
    reported: { created: 2 },
    rejects: [{ line: 3, fields: [''] }],
    after: [
      { name: 'Star Map', version: '1.0.0', package_name: null },
      { name: 'Sky', package_name: null },
    ],
  },
  {
    name: 'an app found by its slug, which loses its package name by an empty one',
    existing: [{ ...app, slug: 'stars', package_name: 'org.example.stars' }],
    lines: [{ ...app, slug: 'stars', package_name: '' }],
    reported: { updated: 1 },
    after: [{ package_name: null }],
  },
  {
    name: 'an app found by its slug, which gets a package name and a category',
    existing: [{ ...app, slug: 'stars' }],
    lines: [{ ...app, slug: 'stars', package_name: 'org.example.stars', category: 'games' }],
    reported: { updated: 1 },
    after: [{ package_name: 'org.example.stars', category: { slug: 'games' } }],
  },
  {
    name: 'an app found by its id, slug and creation time, of which everything else changes',
    existing: [
      { ...app, id: 70, slug: 'stars', package_name: 'org.example.a', created_at: time(1) },
    ],
    lines: [
      {
        ...app,
        id: 70,
        slug: 'stars',
        created_at: time(1),
        package_name: 'org.example.b',
        name: 'Sky',
        developer_name: 'Grace',
      },
    ],
    reported: { updated: 1 },
    after: [{ id: 70, name: 'Sky', developer_name: 'Grace', package_name: 'org.example.b' }],
  },
  {
    name: 'an app found by its package name, and then by its slug',
    existing: [{ ...app, slug: 'stars', package_name: 'org.example.stars', status: 'approved' }],
    lines: [
      { ...app, package_name: 'org.example.stars', category: 'games', version: '2' },
      { ...app, slug: 'stars', category: 'empty' },
    ],
    reported: { updated: 1 },
    rejects: [{ line: 2, fields: [''] }],
    after: [{ category: { slug: 'games' }, version: '2' }],
  },
  {
    name: 'refused lines among others of the same batch',
    existing: [{ ...app, slug: 'stars', package_name: 'org.example.stars' }],
    lines: [
      { ...app, slug: 'stars', version: '2' },
      { name: 'x' },
      { ...app, package_name: 'org.example.stars', version: '3' },
      { ...app, name: 'Sky', category: 'none' },
      { ...app, slug: 'stars', developer_name: 'Mallory', category: { slug: 'x', name: 'X' } },
      { ...app, name: 'Moon' },
    ],
    reported: { created: 1, updated: 1 },
    rejects: [
      { line: 2, fields: ['/description', '/category', '/developer_name'] },
      { line: 3, fields: [''] },
      { line: 4, fields: ['/category'] },
      { line: 5, fields: ['/slug'] },
    ],
    after: [{ slug: 'stars', version: '2' }, { name: 'Moon' }],
  },
  {
    name: 'a deleted app, until a newer line restores it',
    existing: [{ ...app, slug: 'stars', updated_at: time(2), deleted_at: time(2) }],
    lines: [
      { ...app, slug: 'stars' },
      { ...app, slug: 'stars', updated_at: time(3), deleted_at: null },
    ],
    reported: { updated: 1 },
    rejects: [{ line: 1, fields: [''] }],
    after: [{ deleted_at: null }],
  },
  {
    name: 'lines with and without ids, in any order',
    lines: [
      { ...app, reviews: [review(4)] },
      { ...app, name: 'Moon', id: 7, reviews: [{ ...review(5), id: 4 }] },
      { ...app, name: 'Sun', id: 8 },
    ],
    reported: { created: 3 },
    after: [{ id: 7, name: 'Moon' }, { id: 8, name: 'Sun' }, { name: 'Star Map' }],
  },
  {
    name: 'other reviews, which replace those of the app',
    existing: [{ ...app, reviews: [review(4), review(5)] }],
    lines: [{ ...app, reviews: [review(1)] }],
    reported: { updated: 1 },
    after: [{ reviews: [review(1)] }],
  },
  {
    name: 'the same reviews in another order',
    existing: [{ ...app, reviews: [review(4), review(5)] }],
    lines: [{ ...app, reviews: [review(5), review(4)] }],
    reported: { unchanged: 1 },
    after: [{ reviews: [review(4), review(5)] }],
  },
  {
    name: 'changed reviews of a line with a time, which the app gets',
    existing: [{ ...app, slug: 'stars', created_at: time(1), reviews: [review(5)] }],
    lines: [{ ...app, slug: 'stars', created_at: time(1), updated_at: time(9), reviews: [] }],
    reported: { updated: 1 },
    after: [{ updated_at: time(9), reviews: [] }],
  },
]

test.for(scenarios)(
  'lines with $name',
  async ({ existing = [], lines, reported, rejects = [], after }) => {
    const database = await openWorld()
    await importLines(database, existing)
    const result = await importLines(database, lines)
    expect(result).toMatchObject(counts({ ...reported, rejected: rejects.length }))
    expect(result.rejects.toSorted((one, other) => one.line - other.line)).toEqual(rejects)
    expect(await importedApps(database)).toMatchObject(after)
    await expectConsistent(database)
    const again = await importLines(database, lines)
    expect(again).toMatchObject({ created: 0, updated: 0 })
  },
)

test('a refused line adds no developer and no category', async () => {
  const database = await openWorld()
  await importLines(database, [{ ...app, slug: 'stars' }])
  const refused = { developer_name: 'Mallory', category: { slug: 'ghost', name: 'Ghost' } }
  const { rejects } = await importLines(database, [{ ...app, slug: 'stars', ...refused }])
  expect(rejects).toEqual([{ line: 1, fields: ['/slug'] }])
  await database.read(async ({ sql }) => {
    expect(await sql('developers').pluck('name')).not.toContain('Mallory')
    expect(await sql('categories').pluck('slug')).not.toContain('ghost')
  })
})

test('--only-new creates new apps and changes nothing else, not even categories', async () => {
  const database = await openWorld()
  const sky = { id: 50, slug: 'sky', name: 'Sky', created_at: time(1) }
  const taken = { id: 70, slug: 'stars', created_at: time(1), package_name: 'org.example.stars' }
  await importLines(database, [{ ...app, ...taken }, { category: sky }])
  const before = await exportLines(database)
  const lines = [
    { ...app, ...taken, description: 'Changed.', category: { slug: 'ghost', name: 'Ghost' } },
    { ...app, name: 'Moon' },
    { ...app, id: 71, slug: 'sun', created_at: time(1), package_name: 'org.example.stars' },
    { category: { ...sky, name: 'Air' } },
  ]
  expect(await importLines(database, lines, true)).toMatchObject(
    counts({ created: 1, unchanged: 3 }),
  )
  expect((await exportLines(database)).slice(0, before.length)).toEqual(before)
})

describe('each field of a line', () => {
  const whole: Line = {
    ...app,
    ...optionalFields,
    package_name: null,
    version: '2',
    status: 'approved',
    total_downloads: 5,
    average_rating: 4,
    rating_count: 10,
    created_at: time(1),
    updated_at: time(3),
    approved_at: time(2),
  }
  /**
   * Each change, and the columns that the audit records; none for columns that it does not record.
   */
  const changes: Record<
    Exclude<keyof Line, 'id' | 'slug'>,
    { to: Partial<Line>; audited: string[] }
  > = {
    name: { to: { name: 'Sky Map' }, audited: ['name'] },
    description: { to: { description: 'All stars.' }, audited: ['description'] },
    version: { to: { version: '3' }, audited: ['version'] },
    ...mapOptional((field) => ({ to: { [field]: otherFields[field] }, audited: [field] })),
    category: { to: { category: 'games' }, audited: ['category_id'] },
    developer_name: { to: { developer_name: 'Bob' }, audited: ['developer_id'] },
    status: { to: { status: 'pending' }, audited: ['status'] },
    rejection_reason: {
      to: { status: 'rejected', rejection_reason: 'Dark.' },
      audited: ['rejection_reason', 'status'],
    },
    total_downloads: { to: { total_downloads: 6 }, audited: ['total_downloads'] },
    average_rating: { to: { average_rating: 4.5, rating_count: 10 }, audited: ['average_rating'] },
    rating_count: { to: { average_rating: 4, rating_count: 11 }, audited: ['other_rating_count'] },
    created_at: { to: { created_at: time(0) }, audited: [] },
    updated_at: { to: { updated_at: time(4) }, audited: [] },
    approved_at: { to: { approved_at: time(1) }, audited: ['approved_at'] },
    deleted_at: { to: { deleted_at: time(5) }, audited: ['deleted_at'] },
    reviews: { to: { reviews: [review(4), review(5)] }, audited: ['average_rating'] },
  }
  const names = Object.keys(changes) as (keyof typeof changes)[]
  const slugOf = (name: string) => name.replaceAll('_', '-')

  test('changes only its own column, and is audited', async () => {
    const database = await openWorld()
    const before = names.map((name) => ({ ...whole, slug: slugOf(name) }))
    expect(await importLines(database, before)).toMatchObject(counts({ created: names.length }))
    const existing = await importedApps(database)
    // With its id, slug and time an app is known whoever owns it; the time is what one of the lines
    // changes.
    const after = names.map((name, index) => ({
      ...app,
      id: existing[index].id,
      slug: slugOf(name),
      created_at: whole.created_at,
      ...changes[name].to,
    }))
    expect(await importLines(database, after)).toMatchObject(counts({ updated: names.length }))

    const now = await importedApps(database)
    for (const [index, name] of names.entries()) {
      const { category, ...to } = changes[name].to
      expect(now[index], name).toMatchObject({
        ...to,
        ...(category && { category: { slug: category } }),
      })
      const others = Object.keys(existing[index]).filter(
        (field) => !(field in changes[name].to || field === 'updated_at'),
      )
      for (const field of others)
        expect(now[index][field], `${name}: ${field}`).toEqual(existing[index][field])
    }

    const entries = await database.read(({ sql }) =>
      sql('audit')
        .join('apps', 'apps.id', 'audit.app_id')
        .where({ action: 'app import', operator: 'test' })
        .whereNotNull('before')
        .select('apps.slug', 'audit.after'),
    )
    const audited = entries.map(({ slug, after }) => [
      slug,
      Object.keys(JSON.parse(after)).toSorted(),
    ])
    expect(Object.fromEntries(audited)).toEqual(
      Object.fromEntries(names.map((name) => [slugOf(name), changes[name].audited])),
    )
    await expectConsistent(database)
  })

  test('keeps its value if it is left out', async () => {
    const database = await openWorld()
    const lines = names.map((name) => ({ ...whole, slug: slugOf(name), ...changes[name].to }))
    await importLines(database, lines)
    const before = await importedApps(database)
    const least = lines.map(
      ({ name, description, category, developer_name, slug, deleted_at }) => ({
        ...{ name, description, category, developer_name, slug },
        ...(deleted_at && { deleted_at }),
      }),
    )
    expect(await importLines(database, least)).toMatchObject(counts({ unchanged: names.length }))
    expect(await importedApps(database)).toEqual(before)
  })

  test('has a default in a new app', async () => {
    const now = new Date(freezeClock()).toISOString()
    const database = await openWorld()
    await importLines(database, [app, { ...app, name: 'Moon Map', status: 'approved' }])
    const common = {
      ...app,
      ...noFields,
      rejection_reason: null,
      rating_count: null,
      approved_at: null,
      deleted_at: null,
      category: { id: 1, slug: 'tools', name: 'Tools' },
      version: '1.0.0',
      total_downloads: 0,
      average_rating: null,
      reviews: [],
      created_at: now,
      updated_at: now,
    }
    expect(await importedApps(database)).toEqual([
      { ...common, id: 7, slug: 'star-map', status: 'pending' },
      {
        ...common,
        id: 8,
        name: 'Moon Map',
        slug: 'moon-map',
        status: 'approved',
        approved_at: now,
      },
    ])
  })
})

test('changed reviews keep their ids, count in the average, and are in the audit', async () => {
  const database = await openWorld()
  const line = (first: number) => ({
    ...app,
    slug: 'stars',
    reviews: [
      { ...review(first), id: 50 },
      { ...review(5), id: 51 },
    ],
  })
  await importLines(database, [line(5)])
  expect(await importLines(database, [line(1)])).toMatchObject(counts({ updated: 1 }))
  await database.read(async ({ sql }) => {
    const row = required(await sql('apps').where({ slug: 'stars' }).first(), 'the app')
    expect(row).toMatchObject({ average_rating: 3, review_count: 2 })
    expect(await sql('reviews').where({ app_id: row.id }).pluck('id')).toEqual([50, 51])
    const entry = await sql('audit').where({ app_id: row.id }).orderBy('id', 'desc').first()
    expect(JSON.parse(entry?.after ?? '')).toEqual({ average_rating: 3 })
  })
})

test('changing reviews back and forth within a millisecond gives a new ETag each time', async () => {
  const { database, get } = await startService()
  const line = (rating: number) => ({
    ...app,
    id: 70,
    status: 'approved',
    slug: 'stars',
    reviews: [
      { ...review(5), id: 50 },
      { ...review(rating), id: 51 },
    ],
  })
  await importLines(database, [line(1)])
  freezeClock()
  const etags = new Set<unknown>()
  for (const rating of [2, 1, 2]) {
    expect(await importLines(database, [line(rating)])).toMatchObject(counts({ updated: 1 }))
    etags.add((await get('/apps/70')).headers.etag)
  }
  expect(etags.size).toBe(3)
})

test('the greatest ids of lines leave ids for new apps, categories and reviews', async () => {
  const { database, request, get, world, decide } = await startService()
  const [id, large] = [2 ** 39 - 1, 2 ** 52 - 1]
  const last = {
    ...app,
    id,
    category: { id: large, slug: 'last', name: 'Last' },
    reviews: [{ ...review(5), id: large }],
  }
  expect(await importLines(database, [last])).toMatchObject(counts({ created: 1 }))
  const json = { name: 'Next', description: 'After the last.', category_id: large }
  const created = await request('POST', '/apps', { key: world.keys.ada, json })
  expect([created.status, created.body.data.app_id]).toEqual([201, id + 1])
  await decide('approve', id + 1)
  expect((await get('/apps?search=next')).body.data.apps).toMatchObject([{ id: id + 1 }])
  const category = { slug: 'more', name: 'More' }
  const more = { ...app, name: 'More', status: 'approved', reviews: [review(4)], category }
  expect(await importLines(database, [more])).toMatchObject(counts({ created: 1 }))
  expect((await importedApps(database)).at(-1)).toMatchObject({
    id: id + 2,
    category: { id: large + 1 },
    reviews: [{ id: large + 1 }],
  })
  await expectConsistent(database)
})

describe('a second line with the id of an earlier line of its file', () => {
  const first = { ...app, id: 70, name: 'First', slug: 'first', created_at: time(1) }
  const second = { ...app, id: 70, name: 'Second', slug: 'second' }
  const { created_at: _, ...handWritten } = first
  const others = Array.from({ length: 1100 }, (_, index) => ({ ...app, name: `Star ${index}` }))

  type RepeatedId = {
    name: string
    existing?: object[]
    lines: object[]
    reported: Parameters<typeof counts>[0]
    refused?: number[]
  }
  const repeatedIds: RepeatedId[] = [
    {
      name: 'is refused, each time',
      lines: [handWritten, second, second],
      reported: { created: 1 },
      refused: [2, 3],
    },
    {
      name: 'is refused beside an app with a creation time',
      lines: [first, second],
      reported: { created: 1 },
      refused: [2],
    },
    {
      name: 'is refused if it has the same time, as in an export whose slug was edited',
      lines: [first, { ...second, created_at: time(1) }],
      reported: { created: 1 },
      refused: [2],
    },
    {
      name: 'is refused after more lines than a batch has',
      lines: [first, ...others, second],
      reported: { created: 1101 },
      refused: [1102],
    },
    {
      name: 'gets a free id if it has another time, so that it is of another catalogue',
      lines: [first, { ...second, created_at: time(2) }],
      reported: { created: 2 },
    },
    {
      name: 'gets a free id if it has a time, and the first has not',
      lines: [handWritten, { ...second, created_at: time(1) }],
      reported: { created: 2 },
    },
    {
      name: 'gets a free id if the line with that id has updated another app',
      existing: [{ ...app, id: 7, slug: 'first', name: 'First' }],
      lines: [handWritten, second],
      reported: { created: 1, unchanged: 1 },
    },
  ]

  test.for(repeatedIds)('$name', async ({ existing = [], lines, reported, refused = [] }) => {
    const database = await openWorld()
    await importLines(database, existing)
    expect(await importLines(database, lines)).toMatchObject({
      ...counts({ ...reported, rejected: refused.length }),
      rejects: refused.map((line) => ({ line, fields: ['/id'] })),
    })
    // The same file again creates nothing, and refuses the same lines.
    expect(await importLines(database, lines)).toMatchObject({
      created: 0,
      rejected: refused.length,
    })
    // A file of its own is another catalogue's, or one whose line was corrected.
    const corrected = { ...second, slug: 'third', name: 'Third' }
    expect(await importLines(database, [corrected])).toMatchObject(counts({ created: 1 }))
  })
})

describe('a package name', () => {
  const line = (id: number, letter: string | null) => ({
    ...app,
    id,
    slug: `a${id}`,
    created_at: time(1),
    package_name: letter && `org.example.${letter}`,
  })
  const { package_name: _, ...unnamed } = line(90, null)
  const packageNames = async (database: DatabaseWithTools) =>
    Object.fromEntries(
      (await importedApps(database)).map(({ id, package_name }) => [
        id,
        package_name?.split('.').at(-1) ?? null,
      ]),
    )

  type Transfer = {
    name: string
    lines: object[]
    reported: Parameters<typeof counts>[0]
    /** The refused lines, and why. */
    rejects?: { line: number; fields: string[] }[]
    /** The last parts of the package names, by id. Before, they are { 70: 'a', 71: 'b', 72: 'c' }. */
    after: Record<number, string | null>
  }
  const transfers: Transfer[] = [
    {
      name: 'goes to the app of a later line',
      lines: [line(70, null), line(71, 'a')],
      reported: { updated: 2 },
      after: { 70: null, 71: 'a', 72: 'c' },
    },
    {
      name: 'goes to new and existing apps, in a row',
      lines: [line(72, 'x'), line(75, 'c'), unnamed, line(71, 'y'), line(70, 'b')],
      reported: { created: 2, updated: 3 },
      after: { 70: 'b', 71: 'y', 72: 'x', 75: 'c', 90: null },
    },
    {
      name: 'stays with its app, whose second line would give it up',
      lines: [line(70, 'x'), line(71, 'a'), line(71, 'y'), line(72, 'a')],
      reported: { updated: 2 },
      rejects: [
        { line: 3, fields: [''] },
        { line: 4, fields: ['/package_name'] },
      ],
      after: { 70: 'x', 71: 'a', 72: 'c' },
    },
    {
      name: 'of an app that only a later line renames is refused',
      lines: [line(71, 'a'), line(70, 'x')],
      reported: { updated: 1 },
      rejects: [{ line: 1, fields: ['/package_name'] }],
      after: { 70: 'x', 71: 'b', 72: 'c' },
    },
    {
      name: 'is refused if the line that would give it up is refused for its category',
      lines: [{ ...line(70, 'x'), category: 'none' }, line(71, 'a')],
      reported: {},
      rejects: [
        { line: 1, fields: ['/category'] },
        { line: 2, fields: ['/package_name'] },
      ],
      after: { 70: 'a', 71: 'b', 72: 'c' },
    },
    {
      name: 'that two lines take goes to the first',
      lines: [line(70, 'x'), line(71, 'a'), line(72, 'a')],
      reported: { updated: 2 },
      rejects: [{ line: 3, fields: ['/package_name'] }],
      after: { 70: 'x', 71: 'a', 72: 'c' },
    },
  ]

  test.for(transfers)('$name', async ({ lines, reported, rejects = [], after }) => {
    const database = await openWorld()
    await importLines(database, [line(70, 'a'), line(71, 'b'), line(72, 'c')])
    expect(await importLines(database, lines)).toMatchObject({
      ...counts({ ...reported, rejected: rejects.length }),
      rejects,
    })
    expect(await packageNames(database)).toEqual(after)
    await expectConsistent(database)
  })

  test('is exchanged by two apps as the refusal advises', async () => {
    const database = await openWorld()
    await importLines(database, [line(70, 'a'), line(71, 'b')])
    const exchanged = [line(70, 'b'), line(71, 'a')]
    expect(await importLines(database, [...exchanged, line(72, 'c')])).toMatchObject({
      created: 1,
      rejects: [1, 2].map((number) => ({ line: number, fields: ['/package_name'] })),
    })
    const without = exchanged.map((one) => ({ ...one, package_name: null }))
    for (const lines of [without, exchanged])
      expect(await importLines(database, lines)).toMatchObject(counts({ updated: 2 }))
    expect(await packageNames(database)).toEqual({ 70: 'b', 71: 'a', 72: 'c' })
  })

  test('that apps have exchanged at the source is whole in a new mirror', async () => {
    const database = await openWorld()
    for (const [seventy, seventyOne] of [
      ['a', 'b'],
      ['x', 'b'],
      ['x', 'a'],
      ['b', 'a'],
    ] as const)
      await importLines(database, [line(70, seventy), line(71, seventyOne)])
    const lines = await exportLines(database)
    const mirror = await openEmptyCatalogue()
    expect(await importLines(mirror, lines)).toMatchObject(counts({ created: lines.length }))
    expect(await exportLines(mirror)).toEqual(lines)
  })
})

describe('more values than a statement may have', () => {
  /** SQLite takes 32,766, PostgreSQL 65,535. */
  const tooMany = inject('engine') === 'sqlite' ? 33_000 : 66_000

  test('are the ids of the reviews of a line', async () => {
    const database = await openWorld()
    const reviews = Array.from({ length: tooMany }, (_, index) => ({
      ...review(5),
      id: 100 + index,
    }))
    const line = { ...app, reviews }
    expect(await importLines(database, [line])).toMatchObject(counts({ created: 1 }))
    expect(await importLines(database, [line])).toMatchObject(counts({ unchanged: 1 }))
    // Their ids are in use, so these get others.
    const other = { ...app, developer_name: 'Bob', reviews: reviews.slice(0, 2) }
    expect(await importLines(database, [other])).toMatchObject(counts({ created: 1 }))
  })

  test('are the apps with the name of a line', async () => {
    const database = await openWorld()
    await database.write(async ({ sql, insertRows }) => {
      const row = required(await sql('apps').where({ package_name: null }).first(), 'an app')
      const { id: _, ...other } = row
      const namesakes = Array.from({ length: tooMany }, (_, index) => ({
        ...{ ...other, developer_id: 1, name: 'Namesake', deleted_at: null },
        slug: `namesake-${index}`,
      }))
      await insertRows('apps', namesakes)
    })
    const { rejects } = await importLines(database, [{ ...app, name: 'Namesake' }])
    expect(rejects).toEqual([{ line: 1, fields: ['/name'] }])
  })
})
