import { Readable, Writable } from 'node:stream'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { issueKey, renameDeveloper } from '../../src/accounts/account-store.ts'
import { addCategory, renameCategory } from '../../src/catalogue/category-store.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import { withTemporaryCopy } from '../../src/db/copy-database.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { exportCatalogue } from '../../src/import-export/export-catalogue.ts'
import type { ImportSummary } from '../../src/import-export/import-lines.ts'
import type { Line } from '../../src/import-export/line.ts'
import { moderationStore } from '../../src/moderation/moderation-store.ts'
import { chunk, required } from '../../src/util/helpers.ts'
import { exportLines, importFrom, importLines, toLines } from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue, openWorld } from '../support/database.ts'
import { startService } from '../support/service.ts'

const { apps } = inject('world')
const actor = { operator: 'test' }

const app = {
  name: 'Star Map',
  description: 'The sky above you.',
  category: 'tools',
  developer_name: 'Ada',
}
const review = (rating: number, seconds = 0) => ({
  reviewer_name: 'Cy',
  rating,
  comment: 'Seen.',
  created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString(),
})

const manyApps = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ ...app, name: `Star ${from + index}` }))

const countsOf = ({ created, updated, unchanged, rejected }: ImportSummary) => [
  created,
  updated,
  unchanged,
  rejected,
]

describe('the effect of a line', () => {
  test.for<[what: string, first: object[], second: object[], counts: number[], fields?: string[]]>([
    ['a new app', [], [app], [1, 0, 0, 0]],
    ['the same line again', [app], [app], [0, 0, 1, 0]],
    ['the same line twice in one file', [], [app, app], [1, 0, 1, 0]],
    [
      'a name, then the slug made of it',
      [],
      [app, { ...app, slug: 'star-map', total_downloads: 5 }],
      [1, 1, 0, 0],
    ],
    ['a slug, then the name it is made of', [], [{ ...app, slug: 'star-map' }, app], [1, 0, 1, 0]],
    [
      'a slug, then the name of another app that it is made of',
      [],
      [{ ...app, name: 'Sky', slug: 'star-map' }, app],
      [2, 0, 0, 0],
    ],
    [
      'another slug, then the name alone',
      [],
      [
        { ...app, slug: 'stars' },
        { ...app, total_downloads: 5 },
      ],
      [1, 1, 0, 0],
    ],
    [
      'a package name and a slug, then the slug alone',
      [],
      [
        { ...app, package_name: 'org.example.stars', slug: 'stars' },
        { ...app, slug: 'stars', total_downloads: 5 },
      ],
      [1, 1, 0, 0],
    ],
    [
      'a package name without a slug, then the slug made of its name',
      [],
      [
        { ...app, package_name: 'org.example.stars' },
        { ...app, slug: 'star-map', total_downloads: 5 },
      ],
      [1, 1, 0, 0],
    ],
    [
      'a package name without a slug, then that slug of another developer',
      [],
      [
        { ...app, package_name: 'org.example.stars' },
        { ...app, slug: 'star-map', developer_name: 'Bob' },
      ],
      [1, 0, 0, 1],
      ['/slug'],
    ],
    [
      'a name whose slug is taken, then that slug with the next number',
      [app],
      [
        { ...app, package_name: 'org.example.stars' },
        { ...app, name: 'Sky', slug: 'star-map-2' },
      ],
      [2, 0, 0, 0],
    ],
    [
      'a null package name',
      [{ ...app, package_name: null }],
      [{ ...app, package_name: null }],
      [0, 0, 1, 0],
    ],
    [
      'a free slug, beside an app of the same name with a numbered slug',
      [{ ...app, slug: 'stars-2' }],
      [{ ...app, slug: 'stars' }],
      [1, 0, 0, 0],
    ],
    [
      'a changed text, found by owner and name',
      [app],
      [{ ...app, description: 'All stars.' }],
      [0, 1, 0, 0],
    ],
    ['the same name of another owner', [app], [{ ...app, developer_name: 'Bob' }], [1, 0, 0, 0]],
    [
      'a changed name, found by package name in another case',
      [{ ...app, package_name: 'org.example.stars' }],
      [{ ...app, name: 'Sky', package_name: 'org.Example.Stars' }],
      [0, 1, 0, 0],
    ],
    [
      'a changed name, found by slug',
      [{ ...app, slug: 'stars' }],
      [{ ...app, slug: 'stars', name: 'Sky' }],
      [0, 1, 0, 0],
    ],
    [
      'a package name for an app that had none',
      [{ ...app, slug: 'stars' }],
      [{ ...app, slug: 'stars', package_name: 'org.example.stars' }],
      [0, 1, 0, 0],
    ],
    [
      'a package name of one app and the slug of another',
      [
        { ...app, package_name: 'org.example.a', slug: 'a' },
        { ...app, package_name: 'org.example.b', slug: 'b' },
      ],
      [{ ...app, package_name: 'org.example.a', slug: 'b' }],
      [0, 0, 0, 1],
      ['/slug'],
    ],
    [
      'a new package name under a slug that is taken',
      [{ ...app, package_name: 'org.example.a', slug: 'a' }],
      [{ ...app, package_name: 'org.example.c', slug: 'a' }],
      [0, 0, 0, 1],
      ['/slug'],
    ],
    [
      'a slug that an app of another developer has',
      [{ ...app, slug: 'stars' }],
      [{ ...app, slug: 'stars', developer_name: 'Grace' }],
      [0, 0, 0, 1],
      ['/slug'],
    ],
    [
      'another owner, found by package name',
      [{ ...app, package_name: 'org.example.stars' }],
      [{ ...app, package_name: 'org.example.stars', developer_name: 'Grace' }],
      [0, 1, 0, 0],
    ],
    [
      'another owner, name and package name, found by id, slug and creation time',
      [
        {
          ...app,
          id: 70,
          slug: 'stars',
          package_name: 'org.example.a',
          created_at: '2026-01-01T00:00:00Z',
        },
      ],
      [
        {
          ...app,
          id: 70,
          slug: 'stars',
          name: 'Sky',
          package_name: 'org.example.b',
          created_at: '2026-01-01T00:00:00Z',
          developer_name: 'Grace',
        },
      ],
      [0, 1, 0, 0],
    ],
    [
      'the same id and slug of another developer, created at another time',
      [{ ...app, id: 70, slug: 'stars', created_at: '2026-01-01T00:00:00Z' }],
      [
        {
          ...app,
          id: 70,
          slug: 'stars',
          created_at: '2026-01-02T00:00:00Z',
          developer_name: 'Grace',
        },
      ],
      [0, 0, 0, 1],
      ['/slug'],
    ],
    [
      'the package name of another app of the same developer',
      [
        { ...app, id: 70, slug: 'a', created_at: '2026-01-01T00:00:00Z' },
        { ...app, slug: 'b', package_name: 'org.example.b' },
      ],
      [
        {
          ...app,
          id: 70,
          slug: 'a',
          created_at: '2026-01-01T00:00:00Z',
          package_name: 'org.example.b',
        },
      ],
      [0, 0, 0, 1],
      ['/package_name'],
    ],
    ['another category', [app], [{ ...app, category: 'games' }], [0, 1, 0, 0]],
    ['a missing category', [], [{ ...app, category: 'sky' }], [0, 0, 0, 1], ['/category']],
    [
      'a new category with its name',
      [],
      [
        { ...app, category: { slug: 'sky', name: 'Sky' } },
        { ...app, name: 'Moon', category: 'sky' },
      ],
      [2, 0, 0, 0],
    ],
    [
      'a category whose name is taken',
      [],
      [{ ...app, category: { slug: 'sky', name: 'Tools' } }],
      [0, 0, 0, 1],
      ['/category'],
    ],
    [
      'more reviews',
      [{ ...app, reviews: [review(4)] }],
      [{ ...app, reviews: [review(4), review(5)] }],
      [0, 1, 0, 0],
    ],
    ...Object.entries({
      reviewer_name: 'Di',
      rating: 1,
      comment: 'Unseen.',
      created_at: '2026-01-02T00:00:00.000Z',
    }).map(([field, value]): [string, object[], object[], number[]] => [
      `the ${field} of the second of two reviews`,
      [{ ...app, reviews: [review(4), review(5)] }],
      [{ ...app, reviews: [review(4), { ...review(5), [field]: value }] }],
      [0, 1, 0, 0],
    ]),
    [
      'the same reviews in another order',
      [{ ...app, reviews: [review(4), review(5)] }],
      [{ ...app, reviews: [review(5), review(4)] }],
      [0, 0, 1, 0],
    ],
    [
      'no reviews, for an app that has some',
      [{ ...app, reviews: [review(4)] }],
      [app],
      [0, 0, 1, 0],
    ],
    [
      'ratings, for an app with reviews',
      [{ ...app, reviews: [review(4)] }],
      [{ ...app, average_rating: 3, rating_count: 20 }],
      [0, 1, 0, 0],
    ],
    [
      'no ratings, for an app that has some',
      [{ ...app, average_rating: 3, rating_count: 20 }],
      [{ ...app, reviews: [] }],
      [0, 0, 1, 0],
    ],
    [
      'a bad line among good ones',
      [],
      [app, { name: 'x' }, { ...app, name: 'Moon' }],
      [2, 0, 0, 1],
      ['/description', '/category', '/developer_name'],
    ],
  ])('%s', async ([, first, second, counts, fields]) => {
    const { database } = await startService()
    await importLines(database, first)
    const before = await exportLines(database)
    const result = await importLines(database, second)
    expect(countsOf(result)).toEqual(counts)
    if (fields) expect(result.rejects.map((reject) => reject.fields)).toEqual([fields])
    await expectConsistent(database)
    if (counts[0] === 0 && counts[1] === 0) expect(await exportLines(database)).toEqual(before)
    // The same again changes nothing more.
    expect(countsOf(await importLines(database, second)).slice(0, 2)).toEqual([0, 0])
  })
})

describe('each field of a line', () => {
  const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
  const whole: Line = {
    ...app,
    short_description: 'Stars.',
    version: '2',
    website_url: 'https://sky.example/',
    source_code_url: 'https://code.example/sky',
    license: 'MIT',
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
    short_description: { to: { short_description: 'Planets.' }, audited: ['short_description'] },
    description: { to: { description: 'All stars.' }, audited: ['description'] },
    version: { to: { version: '3' }, audited: ['version'] },
    package_name: { to: { package_name: 'org.example.stars' }, audited: ['package_name'] },
    website_url: { to: { website_url: 'https://stars.example/' }, audited: ['website_url'] },
    source_code_url: {
      to: { source_code_url: 'https://code.example/stars' },
      audited: ['source_code_url'],
    },
    license: { to: { license: 'GPL-3.0-only' }, audited: ['license'] },
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
  const exported = async (...[database]: Parameters<typeof exportLines>) => {
    const lines = (await exportLines(database)).map((line) => JSON.parse(line))
    return names.map((name) => lines.find(({ slug }) => slug === slugOf(name)))
  }

  test('changes only its own column, and is audited', async () => {
    const { database } = await startService()
    const before = names.map((name) => ({ ...whole, slug: slugOf(name) }))
    expect(countsOf(await importLines(database, before))).toEqual([names.length, 0, 0, 0])
    const existing = await exported(database)
    // With its id, slug and time an app is known whoever owns it; the time is what one of the lines
    // changes.
    const after = names.map((name, index) => ({
      ...app,
      id: existing[index].id,
      slug: slugOf(name),
      created_at: whole.created_at,
      ...changes[name].to,
    }))
    expect(countsOf(await importLines(database, after))).toEqual([0, names.length, 0, 0])

    const now = await exported(database)
    for (const [index, name] of names.entries()) {
      const { category, average_rating, reviews, ...to } = changes[name].to
      expect(now[index], name).toMatchObject(to)
      // Nothing else changes but updated_at.
      const others = Object.keys(existing[index]).filter(
        (field) => !(field in changes[name].to || field === 'updated_at'),
      )
      for (const field of others)
        expect(now[index][field], `${name}: ${field}`).toEqual(existing[index][field])
    }
    expect(now[names.indexOf('category')].category.slug).toBe('games')
    expect(now[names.indexOf('average_rating')].average_rating).toBe(4.5)
    expect(now[names.indexOf('reviews')].reviews).toMatchObject([review(4), review(5)])

    const entries = await database.read(({ sql }) =>
      sql('audit')
        .join('apps', 'apps.id', 'audit.app_id')
        .orderBy('audit.id')
        .select('apps.slug', 'audit.after'),
    )
    const audited = new Map(
      entries.map(({ slug, after }) => [slug, Object.keys(JSON.parse(after)).toSorted()]),
    )
    expect(names.map((name) => [name, audited.get(slugOf(name))])).toEqual(
      names.map((name) => [name, changes[name].audited]),
    )
    await expectConsistent(database)
  })

  test('keeps its value if it is left out', async () => {
    const { database } = await startService()
    await importLines(
      database,
      names.map((name) => ({ ...whole, slug: slugOf(name), ...changes[name].to })),
    )
    const before = await exported(database)
    const least = names.map((name) => {
      const { description, category, developer_name, deleted_at } = {
        ...whole,
        ...changes[name].to,
      }
      const needed = {
        name: changes[name].to.name ?? whole.name,
        description,
        category,
        developer_name,
      }
      return { ...needed, slug: slugOf(name), ...(deleted_at && { deleted_at }) }
    })
    expect(countsOf(await importLines(database, least))).toEqual([0, 0, names.length, 0])
    expect(await exported(database)).toEqual(before)
  })

  test('has a default in a new app', async () => {
    const now = new Date(freezeClock()).toISOString()
    const { database } = await startService()
    await importLines(database, [app, { ...app, name: 'Moon Map', status: 'approved' }])
    const [least, approved] = (await exportLines(database))
      .slice(-2)
      .map((line) => JSON.parse(line))
    const common = {
      ...app,
      short_description: null,
      package_name: null,
      website_url: null,
      source_code_url: null,
      license: null,
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
    expect(least).toEqual({
      ...common,
      id: expect.any(Number),
      slug: 'star-map',
      status: 'pending',
    })
    expect(approved).toEqual({
      ...common,
      id: least.id + 1,
      name: 'Moon Map',
      slug: 'moon-map',
      status: 'approved',
      approved_at: now,
    })
  })
})

test('changing reviews back and forth within a millisecond gives a new ETag each time', async () => {
  const service = await startService()
  const line = (comment: string) => ({
    ...app,
    slug: 'stars',
    status: 'approved',
    reviews: [{ ...review(4), id: 50, comment }],
  })
  await importLines(service.database, [line('A')])
  const [{ id }] = (await service.get('/apps?search=star')).body.data.apps
  freezeClock()
  const etags = new Set<unknown>()
  for (const comment of ['B', 'A', 'B']) {
    expect(countsOf(await importLines(service.database, [line(comment)]))).toEqual([0, 1, 0, 0])
    etags.add((await service.get(`/apps/${id}`)).headers.etag)
  }
  expect(etags.size).toBe(3)
})

test('a category gets the id of its line if that is free', async () => {
  const { database } = await startService()
  const category = (slug: string, id: number) => ({
    ...app,
    name: slug,
    category: { id, slug, name: slug },
  })
  expect(
    countsOf(
      await importLines(database, [category('sky', 40), category('sea', 1), category('sun', 40)]),
    ),
  ).toEqual([3, 0, 0, 0])
  const ids = await database.read(({ sql }) =>
    sql('categories').whereIn('slug', ['sea', 'sky', 'sun']).orderBy('slug').pluck('id'),
  )
  expect([ids[1], new Set([1, ...ids]).size]).toEqual([40, 4])
})

test('the greatest ids of lines leave ids for new apps, categories and reviews', async () => {
  const service = await startService()
  const { database, request, world, decide } = service
  const [id, large] = [2 ** 39 - 1, 2 ** 52 - 1]
  const line = (name: string, appId: number, otherId: number) => ({
    ...app,
    name,
    id: appId,
    status: 'approved',
    category: { id: otherId, slug: name, name },
    reviews: [{ ...review(5), id: otherId }],
  })
  const lines = [
    line('last', id, large),
    line('beyond', id + 1, large + 1),
    { ...app, id: 2 ** 40 - 1 },
  ]
  expect((await importLines(database, lines)).rejects).toEqual([
    { line: 2, fields: ['/id', '/category/id', '/reviews/0/id'] },
    { line: 3, fields: ['/id'] },
  ])
  const json = { name: 'Next', description: 'After the last.', category_id: large }
  const created = await request('POST', '/apps', { key: world.keys.ada, json })
  expect([created.status, created.body.data.app_id]).toEqual([201, id + 1])
  await decide('approve', id + 1)
  expect((await service.get('/apps?search=next')).body.data.apps).toMatchObject([{ id: id + 1 }])
  const more = {
    ...app,
    name: 'More',
    status: 'approved',
    reviews: [review(4)],
    category: { slug: 'more', name: 'More' },
  }
  expect(countsOf(await importLines(database, [more]))).toEqual([1, 0, 0, 0])
  expect(JSON.parse((await exportLines(database)).at(-1) ?? '')).toMatchObject({
    id: id + 2,
    category: { id: large + 1 },
    reviews: [{ id: large + 1 }],
  })
  await expectConsistent(database)
})

test('the export of another catalogue overwrites no namesake that has a package name', async () => {
  const { database } = await startService()
  const created_at = '2026-01-01T00:00:00.000Z'
  const own = ['stars', 'moon'].map((slug) => ({
    ...app,
    slug,
    created_at,
    package_name: `org.example.${slug}`,
  }))
  await importLines(database, own)
  const before = await exportLines(database)
  const [stars, moon] = before.slice(-2).map((line) => JSON.parse(line))
  const others = { created_at: '2025-12-01T00:00:00.000Z', description: 'Of another catalogue.' }
  const theirs = [
    { ...stars, ...others, id: 900, package_name: null },
    // By chance, it has the same id.
    { ...moon, ...others, package_name: null },
  ]
  for (const onlyNew of [false, true]) {
    const counts = onlyNew ? [0, 0, 2, 0] : [0, 0, 0, 2]
    expect(countsOf(await importLines(database, theirs, onlyNew))).toEqual(counts)
    expect(await exportLines(database)).toEqual(before)
  }
  const { slug: _, ...unnamed } = theirs[0]
  const named = { ...theirs[1], package_name: 'org.example.moon' }
  expect(countsOf(await importLines(database, [unnamed, named]))).toEqual([1, 1, 0, 0])
})

test('lines for the same app are reported under their own numbers', async () => {
  const { database } = await startService()
  const known = { ...app, package_name: 'org.example.stars', slug: 'stars' }
  await importLines(database, [known, { ...app, name: 'Moon', slug: 'moon' }])
  const { slug: _, ...byPackage } = known
  const { package_name: __, ...bySlug } = known
  const refused = { ...byPackage, slug: 'moon' }
  const lines = [
    { ...byPackage, version: '2' },
    { ...bySlug, version: '3' },
    { ...app, category: 'none' },
    refused,
    app,
  ]
  const { rejects, ...summary } = await importLines(database, lines)
  expect(rejects.toSorted((one, other) => one.line - other.line)).toEqual([
    { line: 3, fields: ['/category'] },
    { line: 4, fields: ['/slug'] },
  ])
  expect(countsOf(summary)).toEqual([1, 2, 0, 2])
  expect(JSON.parse((await exportLines(database)).at(-3) ?? '')).toMatchObject({
    slug: 'stars',
    version: '3',
  })
})

test('merging a catalogue of another developer changes no existing app, and refuses slugs that are in use', async () => {
  const { database } = await startService()
  const own = [
    { ...app, slug: 'stars', reviews: [review(5)] },
    { ...app, slug: 'moon', name: 'Moon', reviews: [review(4)] },
  ]
  await importLines(database, own)
  const before = await exportLines(database)
  const theirs = [
    { ...app, slug: 'stars', developer_name: 'Grace', reviews: [] },
    { ...app, slug: 'moon', developer_name: 'Grace', created_at: '2026-01-02T00:00:00.000Z' },
    { ...app, slug: 'sun', developer_name: 'Grace', name: 'Sun' },
    { ...app, developer_name: 'Grace' },
  ]
  const merged = await importLines(database, theirs)
  expect(countsOf(merged)).toEqual([2, 0, 0, 2])
  expect(merged.rejects).toEqual([
    { line: 1, fields: ['/slug'] },
    { line: 2, fields: ['/slug'] },
  ])
  expect(countsOf(await importLines(database, theirs))).toEqual([0, 0, 2, 2])
  expect((await exportLines(database)).slice(0, before.length)).toEqual(before)
})

test('a refused line adds no developer', async () => {
  const { database } = await startService()
  await importLines(database, [{ ...app, slug: 'stars' }])
  const refused = await importLines(database, [
    { ...app, slug: 'stars', developer_name: 'Mallory' },
  ])
  expect(refused.rejects).toEqual([{ line: 1, fields: ['/slug'] }])
  expect(await database.read(({ sql }) => sql('developers').pluck('name'))).not.toContain('Mallory')
})

test('--only-new creates new apps and changes nothing else, not even categories', async () => {
  const { database } = await startService()
  const sky = { id: 50, slug: 'sky', name: 'Sky', created_at: '2026-01-01T00:00:00.000Z' }
  await importLines(database, [{ ...app, slug: 'stars' }, { category: sky }])
  const before = await exportLines(database)
  const lines = [
    { ...app, slug: 'stars', description: 'Changed.', category: { slug: 'ghost', name: 'Ghost' } },
    { ...app, name: 'Moon' },
    { category: { ...sky, name: 'Air' } },
  ]
  expect(countsOf(await importLines(database, lines, true))).toEqual([1, 0, 2, 0])
  expect((await exportLines(database)).slice(0, before.length)).toEqual(before)
  expect(await database.read(({ sql }) => sql('categories').where({ slug: 'ghost' }))).toEqual([])
})

test('two lines that find the same app by different keys', async () => {
  const { database } = await startService()
  const both = { ...app, package_name: 'org.example.stars', slug: 'stars', status: 'approved' }
  await importLines(database, [both])
  const { slug: _, ...byPackage } = both
  const { package_name: __, ...bySlug } = both
  const lines = [
    { ...byPackage, category: 'games' },
    { ...bySlug, category: 'empty' },
  ]
  expect(countsOf(await importLines(database, lines))).toEqual([0, 2, 0, 0])
  await expectConsistent(database)
  expect(JSON.parse((await exportLines(database)).at(-1) ?? '')).toMatchObject({
    category: { slug: 'empty' },
  })
})

test('a package name, then the same in another case', async () => {
  const { database } = await startService()
  const lines = ['org.example.stars', 'org.Example.Stars'].map((package_name) => ({
    ...app,
    package_name,
  }))
  expect(countsOf(await importLines(database, lines))).toEqual([1, 1, 0, 0])
  expect(JSON.parse((await exportLines(database)).at(-1) ?? '')).toMatchObject({
    package_name: 'org.Example.Stars',
  })
})

test('lines with and without ids, in any order', async () => {
  const { database } = await startService()
  const numbered = { ...app, name: 'Moon', id: 7, reviews: [{ ...review(5), id: 4 }] }
  const lines = [{ ...app, reviews: [review(4)] }, numbered, { ...app, name: 'Sun', id: 8 }]
  expect(countsOf(await importLines(database, lines))).toEqual([3, 0, 0, 0])
  const ids = await database.read(({ sql }) =>
    sql('apps').whereIn('name', ['Star Map', 'Moon', 'Sun']).orderBy('name').pluck('id'),
  )
  expect([ids[0], ids[2], new Set(ids).size]).toEqual([7, 8, 3])
})

test('changed reviews keep their ids, count in the average, and are in the audit', async () => {
  const { database } = await startService()
  const line = (first: number) => ({
    ...app,
    slug: 'stars',
    reviews: [
      { ...review(first), id: 50 },
      { ...review(5, 1), id: 51 },
    ],
  })
  await importLines(database, [line(5)])
  expect(countsOf(await importLines(database, [line(1)]))).toEqual([0, 1, 0, 0])
  const stored = await database.read(async ({ sql }) => {
    const row = await sql('apps')
      .where({ slug: 'stars' })
      .first('id', 'average_rating', 'review_count')
    const audit = await sql('audit')
      .where({ app_id: row?.id ?? 0, action: 'app import' })
      .orderBy('id', 'desc')
      .first()
    return {
      row,
      audit,
      ids: await sql('reviews')
        .where({ app_id: row?.id ?? 0 })
        .pluck('id'),
    }
  })
  expect(stored.row).toMatchObject({ average_rating: 3, review_count: 2 })
  expect(stored.ids).toEqual([50, 51])
  expect(JSON.parse(stored.audit?.after ?? '')).toEqual({ average_rating: 3 })
  // Without reviews, a rating may stand for itself.
  const withoutReviews = { ...app, slug: 'stars', reviews: [], average_rating: 3.5 }
  expect(countsOf(await importLines(database, [withoutReviews]))).toEqual([0, 1, 0, 0])
  expect(countsOf(await importLines(database, [withoutReviews]))).toEqual([0, 0, 1, 0])
})

test('changed reviews give an app the time of its line, if that has one', async () => {
  const { database } = await startService()
  const line = { ...app, slug: 'stars', created_at: '2026-01-01T00:00:00.000Z' }
  await importLines(database, [{ ...line, reviews: [review(5)] }])
  const updated_at = '2026-06-01T00:00:00.000Z'
  const changed = { ...line, reviews: [review(2)], updated_at }
  expect(countsOf(await importLines(database, [changed]))).toEqual([0, 1, 0, 0])
  const times = await database.read(({ sql }) =>
    sql('apps').where({ slug: 'stars' }).pluck('updated_at'),
  )
  expect(times).toEqual([updated_at])
})

test('an owner and name of several apps is ambiguous, unless only one is not deleted', async () => {
  const service = await startService()
  const { database } = service
  await importLines(database, [
    { ...app, slug: 'a' },
    { ...app, slug: 'b' },
  ])
  expect((await importLines(database, [app])).rejects).toEqual([{ line: 1, fields: ['/name'] }])
  const id = await database.read(
    async ({ sql }) => (await sql('apps').where({ slug: 'b' }).first('id'))?.id,
  )
  await service.request('DELETE', `/apps/${id}`, { key: service.world.keys.ada })
  expect(countsOf(await importLines(database, [app]))).toEqual([0, 0, 1, 0])
})

test('importing an export keeps changes that wait for review', async () => {
  const { database, request, world } = await startService()
  await request('PUT', `/apps/${world.apps.approved}`, {
    key: world.keys.ada,
    json: { description: 'Changed.' },
  })
  const lines = await exportLines(database)
  expect(countsOf(await importLines(database, lines))).toEqual([0, 0, lines.length, 0])
  const row = await database.read(({ sql }) =>
    sql('apps').where({ id: world.apps.approved }).first('unreviewed_since'),
  )
  expect(row?.unreviewed_since).toMatch(/^20\d\d-.*Z$/)
})

test('an export does not say which changes wait for review', async () => {
  const { database, request, world } = await startService()
  await request('PUT', `/apps/${world.apps.approved}`, {
    key: world.keys.ada,
    json: { description: 'Changed.' },
  })
  const lines = await exportLines(database)
  expect(lines.filter((line) => line.includes('unreviewed'))).toEqual([])
  const empty = await openEmptyCatalogue()
  // As in a file that version 1 exported.
  const mark = {
    unreviewed_since: '2026-01-01T00:00:00.000Z',
    unreviewed_changes: { description: 'Before.' },
  }
  const marked = lines.map((line) => ({
    ...JSON.parse(line),
    ...(line.includes('Changed.') && mark),
  }))
  expect(await importLines(empty, marked)).toMatchObject({ rejects: [] })
  const changed = await empty.snapshot((runner) =>
    moderationStore(runner).queue('changed', {}, 9, 0),
  )
  expect(changed.total).toBe(0)
})

test('an export is a snapshot of a catalogue that changes meanwhile', async () => {
  const { database, request, world } = await startService()
  await importLines(
    database,
    Array.from({ length: 400 }, (_, index) => ({
      ...app,
      slug: `a${index}`,
      description: 'Long. '.repeat(200),
    })),
  )
  const before = await exportLines(database)
  // The last app changes when the first line is written.
  const changed = async () => {
    await request('PUT', `/apps/${world.apps.bobs}`, {
      key: world.keys.bob,
      json: { description: 'Changed.' },
    })
    await importLines(database, [{ ...app, slug: 'a399', description: 'Changed.' }])
  }
  const lines: string[] = []
  const output = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      lines.push(chunk.toString().trimEnd())
      if (lines.length === 1) changed().then(() => done(), done)
      else done()
    },
  })
  await exportCatalogue(database, output)
  expect(lines).toEqual(before)
  expect(await exportLines(database)).not.toEqual(before)
})

test('an export has reviews in the order of their ids', async () => {
  const { database } = await startService()
  const reviews = [3, 1, 2].map((seconds, index) => ({ id: 50 + index, ...review(4, seconds) }))
  await importLines(database, [{ ...app, slug: 'stars', reviews }])
  expect(JSON.parse((await exportLines(database)).at(-1) ?? '').reviews).toEqual(reviews)
})

test('the next export starts a minute before this one, because clocks of writers differ', async () => {
  const { database } = await startService()
  const output = () => new Writable({ write: (_chunk, _encoding, done) => done() })
  const now = freezeClock()
  // A write after the snapshot's beginning may be missing in the export.
  const snapshot: Database['snapshot'] = (work) => {
    freezeClock(now + 1000)
    return database.snapshot(work)
  }
  const result = await exportCatalogue({ ...database, snapshot }, output())
  expect(result).toEqual({
    apps: 6,
    removed: 0,
    categories: 3,
    next: new Date(now - 60_000).toISOString(),
  })
})

test.for<
  [
    change: string,
    make: (runner: QueryRunner) => Promise<unknown>,
    /** The names of the lines of the export, and of the public one. */
    all: string[],
    ofAll?: string[],
  ]
>([
  ['nothing', async () => {}, []],
  [
    'an approval',
    (runner) => moderationStore(runner).decide('approve', apps.pending, actor),
    ['Cloud Atlas'],
  ],
  [
    'a rejection of an app that was never listed',
    (runner) => moderationStore(runner).decide('reject', apps.pending, actor, { reason: 'No.' }),
    ['Cloud Atlas'],
    [],
  ],
  [
    'a rejection of a listed app',
    (runner) => moderationStore(runner).decide('reject', apps.bobs, actor, { reason: 'No.' }),
    ['Bird Song'],
    [`removed ${apps.bobs}`],
  ],
  ['a restoration', (runner) => moderationStore(runner).restore(apps.deleted, actor), ['Gone']],
  [
    'a transfer',
    (runner) => moderationStore(runner).transfer(apps.bobs, 'Ada', actor),
    ['Bird Song'],
  ],
  [
    'a developer with another name',
    (runner) => renameDeveloper(runner, 'Bob', 'Rob', actor),
    ['Bird Song', 'Night Train'],
    ['Bird Song'],
  ],
  [
    'a category with another name',
    (runner) => renameCategory(runner, 'games', { name: 'Play' }, actor),
    ['category Play', 'Bird Song'],
  ],
  [
    'a category without apps, with another slug',
    (runner) => renameCategory(runner, 'empty', { name: 'Empty', slug: 'none' }, actor),
    ['category Empty'],
  ],
  ['a new category', (runner) => addCategory(runner, 'maps', 'Maps', actor), ['category Maps']],
  ['a removed review', (runner) => removeReview(runner, 1, 'Spam.', actor), ['Tide Clock']],
  ['a key', (runner) => issueKey(runner, { id: 1, name: 'Ada' }, actor), []],
])('an export since a time has %s', async ([, make, all, ofAll = all]) => {
  const { database } = await startService()
  const since = (await database.committedBefore()).toISOString()
  await database.write(make)
  const found = async (isPublic: boolean) =>
    (await exportLines(database, { since, isPublic }))
      .map((text) => JSON.parse(text))
      .map((line) =>
        line.removed
          ? `removed ${line.removed.id}`
          : (line.name ?? `category ${line.category.name}`),
      )
  expect([await found(false), await found(true)]).toEqual([all, ofAll])
  // The next export continues after it.
  const next = (await database.committedBefore()).toISOString()
  expect(await exportLines(database, { since: next })).toEqual([])
})

test('an export has the apps of each batch of ids', async () => {
  const { database } = await startService()
  const added = 20_001
  const before = (await exportLines(database)).length
  await database.write(async ({ sql, insertRows }) => {
    const { id, ...row } = required(
      await sql('apps').where({ package_name: null }).first(),
      'an app',
    )
    for (const indexes of chunk([...Array(added).keys()], 500))
      await insertRows(
        'apps',
        indexes.map((index) => ({ ...row, slug: `star-${index}`, package_key: null })),
      )
  })
  for (const since of ['', '2000-01-01T00:00:00.000Z'])
    expect(await exportLines(database, { since }), since).toHaveLength(before + added)
})

test('an export since a time has what was imported since, whatever times its lines give', async () => {
  const { database } = await startService()
  const star = { ...app, category: { slug: 'tools', name: 'Tools' }, slug: 'stars' }
  const lines = [
    { category: { slug: 'travel', name: 'Travel', created_at: '2026-01-01T00:00:00.000Z' } },
    { ...star, version: '1', updated_at: '2026-01-01T00:00:00.000Z' },
    { ...star, version: '2', updated_at: '2026-01-02T00:00:00.000Z' },
  ]
  for (const line of lines) {
    const since = (await database.committedBefore()).toISOString()
    expect(await importLines(database, [line])).toMatchObject({ unchanged: 0, rejects: [] })
    expect((await exportLines(database, { since })).map((text) => JSON.parse(text))).toMatchObject([
      line,
    ])
  }
})

test('an export to a closed stream fails with the reason', async () => {
  const { database } = await startService()
  const closed = new Writable()
  const broken = new Writable()
  broken.on('error', () => {})
  const reason = new Error('no room')
  closed.destroy()
  broken.destroy(reason)
  await expect(exportCatalogue(database, closed)).rejects.toThrow(
    'the output of the export was closed',
  )
  await expect(exportCatalogue(database, broken)).rejects.toBe(reason)
})

test('only a later line with deleted_at null restores a deleted app', async () => {
  const { database } = await startService()
  const line = { ...app, slug: 'stars', updated_at: '2026-01-02T00:00:00Z' }
  await importLines(database, [{ ...line, deleted_at: '2026-01-02T00:00:00Z' }])
  const rejects = [{ line: 1, fields: [''] }]
  expect(
    (await importLines(database, [{ ...line, updated_at: '2026-01-03T00:00:00Z' }])).rejects,
  ).toEqual(rejects)
  expect((await importLines(database, [{ ...line, deleted_at: null }])).rejects).toEqual(rejects)
  const restored = { ...line, deleted_at: null, updated_at: '2026-01-03T00:00:00Z' }
  expect(countsOf(await importLines(database, [restored]))).toEqual([0, 1, 0, 0])
})

describe('a removal', () => {
  const created_at = '2026-01-01T00:00:00.000Z'
  const public1 = {
    ...app,
    id: 50,
    slug: 'stars',
    package_name: 'org.example.stars',
    status: 'approved',
    created_at,
  }
  const old = { ...public1, updated_at: '2026-01-02T00:00:00.000Z', deleted_at: null }
  const newer = { ...old, updated_at: '2026-01-03T00:00:00.000Z' }
  const removed = { removed: { id: 50, created_at } }
  const another = {
    ...app,
    name: 'Another',
    package_name: 'org.example.stars',
    slug: 'another',
    status: 'approved',
  }

  test.for<[what: string, lines: object[], counts: number[], status: number]>([
    ['hides the app', [removed], [0, 1, 0, 0], 404],
    ['again changes nothing', [removed, removed], [0, 1, 1, 0], 404],
    ['of an unknown app changes nothing', [{ removed: { id: 60, created_at } }], [0, 0, 1, 0], 200],
    [
      'of an app with another creation time is refused',
      [{ removed: { id: 50, created_at: '2026-01-01T00:00:00.001Z' } }],
      [0, 0, 0, 1],
      200,
    ],
    ['is undone by a newer line', [removed, newer], [0, 2, 0, 0], 200],
    ['is not undone by the line before it', [removed, old], [0, 1, 0, 1], 404],
    ['counts after a newer line that is before it', [newer, removed], [0, 2, 0, 0], 404],
    ['frees the package name', [removed, another], [1, 1, 0, 0], 404],
    [
      'of an app with another package name',
      [removed, another, { ...newer, package_name: null }],
      [1, 2, 0, 0],
      200,
    ],
  ])('%s', async ([, lines, counts, status]) => {
    const service = await startService()
    await importLines(service.database, [old])
    expect((await service.get('/apps/50')).status).toBe(200)
    expect(countsOf(await importLines(service.database, lines))).toEqual(counts)
    expect((await service.get('/apps/50')).status).toBe(status)
    await expectConsistent(service.database)
  })

  test('changes nothing with --only-new', async () => {
    const { database } = await startService()
    await importLines(database, [old])
    expect(countsOf(await importLines(database, [removed], true))).toEqual([0, 0, 1, 0])
  })

  test('changes nothing at the source, which has rejected the app', async () => {
    const { database, world, decide } = await startService()
    const since = '2020-01-01T00:00:00.000Z'
    await decide('reject', world.apps.approved)
    const before = await exportLines(database)
    const lines = await exportLines(database, { since, isPublic: true })
    expect(lines.filter((line) => line.includes('removed'))).toHaveLength(2)
    expect(countsOf(await importLines(database, lines))).toEqual([0, 0, lines.length, 0])
    expect(await exportLines(database)).toEqual(before)
  })
})

describe('lines of categories', () => {
  const created_at = '2026-01-01T00:00:00.000Z'
  const sky = { id: 50, slug: 'sky', name: 'Sky', created_at }
  const sea = { id: 51, slug: 'sea', name: 'Sea', created_at }
  test.for<[what: string, categories: object[], counts: number[], names: Record<number, string>]>([
    ['that exist', [sky, sea], [0, 0, 2, 0], { 50: 'sky Sky', 51: 'sea Sea' }],
    [
      'with another name',
      [{ ...sky, name: 'Air' }],
      [0, 1, 0, 0],
      { 50: 'sky Air', 51: 'sea Sea' },
    ],
    [
      'that exchange their names',
      [
        { ...sky, slug: 'sea', name: 'Sea' },
        { ...sea, slug: 'sky', name: 'Sky' },
      ],
      [0, 0, 0, 2],
      { 50: 'sky Sky', 51: 'sea Sea' },
    ],
    [
      'of which the second takes the name that the first gives up',
      [
        { ...sky, slug: 'air', name: 'Air' },
        { ...sea, slug: 'sky', name: 'Sky' },
      ],
      [0, 2, 0, 0],
      { 50: 'air Air', 51: 'sky Sky' },
    ],
    [
      'of which the first takes the name that the second gives up',
      [
        { ...sky, slug: 'sea', name: 'Sea' },
        { ...sea, slug: 'lake', name: 'Lake' },
      ],
      [0, 2, 0, 0],
      { 50: 'sea Sea', 51: 'lake Lake' },
    ],
    [
      'that pass their names on, the last to a new one',
      [
        { ...sky, slug: 'air', name: 'Air' },
        { ...sea, slug: 'sky', name: 'Sky' },
        { slug: 'sea', name: 'Sea' },
      ],
      [1, 2, 0, 0],
      { 50: 'air Air', 51: 'sky Sky', 52: 'sea Sea' },
    ],
    [
      'of which each takes the name that the next gives up',
      [
        { ...sky, slug: 'sea', name: 'Sea' },
        { ...sea, slug: 'lake', name: 'Lake' },
        { slug: 'air', name: 'Sky' },
      ],
      [1, 2, 0, 0],
      { 50: 'sea Sea', 51: 'lake Lake', 52: 'air Sky' },
    ],
    [
      'with a name that another keeps, and a line that relies on it',
      [
        { ...sky, slug: 'tools' },
        { ...sea, slug: 'sky', name: 'Sky' },
      ],
      [0, 0, 0, 2],
      { 50: 'sky Sky', 51: 'sea Sea' },
    ],
    [
      'with a name that another keeps, beside one that could be renamed',
      [
        { ...sky, slug: 'tools' },
        { ...sea, name: 'Ocean' },
      ],
      [0, 1, 0, 1],
      { 50: 'sky Sky', 51: 'sea Ocean' },
    ],
    [
      'that exist by their slugs in another catalogue, with other ids, times and names',
      [
        { ...sky, created_at: '2026-01-02T00:00:00.000Z', name: 'Air' },
        { ...sea, id: 60, name: 'Ocean' },
      ],
      [0, 0, 2, 0],
      { 50: 'sky Sky', 51: 'sea Sea' },
    ],
    [
      'of which the first, a new one, takes the name that the second gives up',
      [
        { slug: 'lake', name: 'Sea' },
        { ...sea, name: 'Ocean' },
      ],
      [1, 1, 0, 0],
      { 50: 'sky Sky', 51: 'sea Ocean', 52: 'lake Sea' },
    ],
    [
      'that are new and have the same name',
      [
        { slug: 'air', name: 'Air' },
        { slug: 'wind', name: 'Air' },
      ],
      [1, 0, 0, 1],
      { 50: 'sky Sky', 51: 'sea Sea', 52: 'air Air' },
    ],
    [
      'of another catalogue with the same id',
      [{ ...sky, slug: 'air', name: 'Air', created_at: '2026-01-02T00:00:00.000Z' }],
      [1, 0, 0, 0],
      { 50: 'sky Sky', 51: 'sea Sea', 52: 'air Air' },
    ],
  ])('%s', async ([, categories, counts, names]) => {
    const { database } = await startService()
    const lines = (list: object[]) => list.map((category) => ({ category }))
    expect(countsOf(await importLines(database, lines([sky, sea])))).toEqual([2, 0, 0, 0])
    expect(countsOf(await importLines(database, lines(categories)))).toEqual(counts)
    const rows = await database.read(({ sql }) => sql('categories').where('id', '>=', 50))
    expect(Object.fromEntries(rows.map(({ id, slug, name }) => [id, `${slug} ${name}`]))).toEqual(
      names,
    )
  })

  test('that exchange their names do so if a first file gives one of them another', async () => {
    const { database } = await startService()
    await importLines(database, [{ category: sky }, { category: sea }])
    const exchanged = [
      { category: { ...sky, slug: 'sea', name: 'Sea' } },
      { category: { ...sea, slug: 'sky', name: 'Sky' } },
    ]
    const messages: unknown[] = []
    await importFrom(database, Readable.from([Buffer.from(toLines(exchanged))]), {
      onReject: async (number, problems) => {
        messages.push(...problems.map(({ field, message }) => `${number} ${field} ${message}`))
      },
    })
    expect(messages).toEqual([
      '1 /category there is already a category with the slug sea; give that one another in a first file',
      '2 /category there is already a category with the slug sky; give that one another in a first file',
    ])
    const first = [{ category: { ...sea, slug: 'other', name: 'Other' } }]
    expect(countsOf(await importLines(database, first))).toEqual([0, 1, 0, 0])
    expect(countsOf(await importLines(database, exchanged))).toEqual([0, 2, 0, 0])
    expect(countsOf(await importLines(database, exchanged))).toEqual([0, 0, 2, 0])
  })

  test('of one category, twice in a file', async () => {
    const { database } = await startService()
    const lines = ['Air', 'Wind'].map((name) => ({ category: { ...sky, name } }))
    await importLines(database, [{ category: sky }])
    expect(countsOf(await importLines(database, lines))).toEqual([0, 2, 0, 0])
    expect((await exportLines(database)).filter((text) => text.includes('"Wind"'))).toHaveLength(1)
  })

  test('that are new and have the same id get different ones', async () => {
    const { database } = await startService()
    const summary = await importLines(database, [
      { category: sky },
      { category: { ...sea, id: sky.id, created_at: '2026-01-02T00:00:00.000Z' } },
    ])
    expect(countsOf(summary)).toEqual([2, 0, 0, 0])
    const ids = await database.read(({ sql }) =>
      sql('categories').whereIn('slug', ['sky', 'sea']).pluck('id'),
    )
    expect(new Set(ids).size).toBe(2)
  })

  test('with another name are audited', async () => {
    const { database } = await startService()
    await importLines(database, [{ category: sky }])
    await importLines(database, [{ category: { ...sky, name: 'Air' } }])
    const entries = await database.read(({ sql }) =>
      sql('audit').where({ category_id: sky.id }).orderBy('id'),
    )
    expect(entries).toMatchObject([
      { action: 'category add', before: null, after: '{"slug":"sky","name":"Sky"}' },
      {
        action: 'category rename',
        operator: 'test',
        before: '{"name":"Sky"}',
        after: '{"name":"Air"}',
      },
    ])
  })
})

describe('a package name', () => {
  const created_at = '2026-01-01T00:00:00.000Z'
  const line = (id: number, letter: string | null) => ({
    ...app,
    id,
    slug: `a${id}`,
    created_at,
    package_name: letter && `org.example.${letter}`,
  })
  const others = Array.from({ length: 300 }, (_, index) => line(1000 + index, `other${index}`))
  const { package_name: _, ...namesake } = line(90, null)
  const namesOf = async (database: Database) =>
    (
      await database.read(({ sql }) =>
        sql('apps').whereBetween('id', [70, 79]).orderBy('id').pluck('package_name'),
      )
    ).map((name) => name?.split('.').at(-1) ?? null)

  test.for<
    [what: string, lines: object[], counts: number[], names: (string | null)[], refused?: string[]]
  >([
    [
      'can be taken from the app of an earlier line that gets another',
      [line(70, 'x'), line(71, 'a')],
      [0, 2, 0, 0],
      ['x', 'a', 'c'],
    ],
    [
      'can be taken from the app of an earlier line that has none now',
      [line(70, null), line(71, 'a')],
      [0, 2, 0, 0],
      [null, 'a', 'c'],
    ],
    [
      'can be taken from the app of a line far before it',
      [line(70, 'x'), ...others, line(71, 'a')],
      [0, 2, 300, 0],
      ['x', 'a', 'c'],
    ],
    [
      'can be taken by a new app',
      [line(70, 'x'), line(75, 'a')],
      [1, 1, 0, 0],
      ['x', 'b', 'c', 'a'],
    ],
    [
      'can be taken by new apps and existing ones in a row',
      [line(72, 'x'), line(75, 'c'), namesake, line(71, 'y'), line(70, 'b')],
      [2, 3, 0, 0],
      ['b', 'y', 'x', 'c'],
    ],
    [
      'is refused if only a later line gives it up',
      [line(71, 'a'), line(70, 'x')],
      [0, 1, 0, 1],
      ['x', 'b', 'c'],
      ['1 /package_name'],
    ],
    [
      'is refused if an earlier line gives up only another one',
      [line(70, 'x'), line(71, 'c')],
      [0, 1, 0, 1],
      ['x', 'b', 'c'],
      ['2 /package_name'],
    ],
    [
      'is refused if a new app takes it before a later line gives it up',
      [line(75, 'a'), line(70, 'x')],
      [0, 1, 0, 1],
      ['x', 'b', 'c'],
      ['1 /package_name'],
    ],
    [
      'is refused if the line that would give it up is refused for its category',
      [{ ...line(70, 'x'), category: 'none' }, line(71, 'a')],
      [0, 0, 0, 2],
      ['a', 'b', 'c'],
      ['1 /category', '2 /package_name'],
    ],
    [
      'is refused if two apps exchange theirs',
      [line(70, 'b'), line(71, 'a')],
      [0, 0, 0, 2],
      ['a', 'b', 'c'],
      ['1 /package_name', '2 /package_name'],
    ],
    [
      'is refused if three apps exchange theirs, and one beside them is not',
      [line(70, 'b'), line(71, 'c'), line(72, 'a'), line(75, 'd')],
      [1, 0, 0, 3],
      ['a', 'b', 'c', 'd'],
      ['1 /package_name', '2 /package_name', '3 /package_name'],
    ],
    [
      'can be taken by each of several lines, if each gives it up before the next',
      [line(70, 'x'), line(71, 'a'), line(71, 'y'), line(72, 'a')],
      [0, 4, 0, 0],
      ['x', 'y', 'a'],
    ],
    [
      'of two lines goes to the first',
      [line(70, 'x'), line(71, 'a'), line(72, 'a')],
      [0, 2, 0, 1],
      ['x', 'a', 'c'],
      ['3 /package_name'],
    ],
  ])('%s', async ([, lines, counts, names, refused = []]) => {
    const { database } = await startService()
    await importLines(database, [line(70, 'a'), line(71, 'b'), line(72, 'c'), ...others])
    const { rejects, ...summary } = await importLines(database, lines)
    expect(countsOf(summary)).toEqual(counts)
    expect(rejects.map((reject) => `${reject.line} ${reject.fields}`)).toEqual(refused)
    expect(await namesOf(database)).toEqual(names)
    await expectConsistent(database)
  })

  test('is exchanged by two apps as the refusal advises', async () => {
    const { database } = await startService()
    const before = [line(70, 'a'), line(71, 'b')]
    await importLines(database, before)
    const file = [line(70, 'b'), line(71, 'a'), line(72, 'c')]
    const refused: number[] = []
    await importFrom(database, Readable.from([Buffer.from(toLines(file))]), {
      onReject: async (number, [problem]) => {
        expect(problem?.message).toMatch(
          /^belongs to app 7[01], a7[01]; if this file gives that app another one, import the refused lines first with "package_name": null, then as they are$/,
        )
        refused.push(number)
      },
    })
    expect(refused).toEqual([1, 2])
    const unnamed = file.slice(0, 2).map((one) => ({ ...one, package_name: null }))
    expect(countsOf(await importLines(database, unnamed))).toEqual([0, 2, 0, 0])
    expect(countsOf(await importLines(database, file.slice(0, 2)))).toEqual([0, 2, 0, 0])
    expect(await namesOf(database)).toEqual(['b', 'a', 'c'])
    expect(countsOf(await importLines(database, file))).toEqual([0, 0, 3, 0])
  })

  test('that apps exchanged at the source is whole in a new mirror', async () => {
    const { database, request, world } = await startService()
    const { apps, keys } = world
    const rename = async (id: number, key: string, package_name: string) => {
      const { status } = await request('PUT', `/apps/${id}`, { key, json: { package_name } })
      expect(status).toBe(200)
    }
    await rename(apps.approved, keys.ada, 'org.example.spare')
    await rename(apps.bobs, keys.bob, 'org.example.tideclock')
    await rename(apps.approved, keys.ada, 'org.example.birdsong')
    const lines = await exportLines(database)
    const mirror = await openEmptyCatalogue()
    expect(countsOf(await importLines(mirror, lines))).toEqual([lines.length, 0, 0, 0])
    expect(await exportLines(mirror)).toEqual(lines)
  })
})

test('each refused line is reported with its number, problems, and as it was read', async () => {
  const { database } = await startService()
  const clashing = { category: { slug: 'sky', name: 'Tools' } }
  const moon = { ...app, name: 'Moon', ...clashing }
  const parts = [
    Buffer.from(
      toLines([
        '{"name": 1, "license": 1}',
        { category: { slug: 'tools', name: 'Sky' } },
        clashing,
        app,
      ]),
    ),
    Buffer.from([0x7b, 0xff, 0x0a]),
    Buffer.from(toLines([moon])),
  ]
  const reported: unknown[] = []
  const summary = await importFrom(database, Readable.from(parts), {
    onReject: async (number, problems, raw) => {
      reported.push([number, problems.map(({ field, message }) => `${field} ${message}`), raw])
    },
  })
  expect(countsOf(summary)).toEqual([1, 0, 1, 4])
  expect(reported).toEqual([
    [
      1,
      expect.arrayContaining([
        '/name must be a string',
        '/license must be a string or null; got 1',
      ]),
      '{"name": 1, "license": 1}',
    ],
    [3, ['/category there is already a category with the name Tools'], JSON.stringify(clashing)],
    [5, [' is not UTF-8 (line 5)'], Buffer.from([0x7b, 0xff])],
    [6, ['/category there is already a category with the name Tools'], JSON.stringify(moon)],
  ])
})

test('a refused line leaves no category behind', async () => {
  const { database } = await startService()
  await importLines(database, [{ ...app, package_name: 'org.example.a', slug: 'a' }])
  const line = {
    ...app,
    package_name: 'org.example.a',
    slug: 'b',
    category: { slug: 'ghost', name: 'Ghost' },
  }
  expect((await importLines(database, [line])).rejects).toEqual([{ line: 1, fields: ['/slug'] }])
  expect(await database.read(({ sql }) => sql('categories').where({ slug: 'ghost' }))).toEqual([])
})

test('an imported app is as the line says, in the API and in search', async () => {
  const service = await startService()
  const line = {
    ...app,
    short_description: 'Stars',
    version: '3',
    package_name: 'org.example.stars',
    status: 'approved',
    total_downloads: 12,
    created_at: '2026-01-01T00:00:00Z',
    approved_at: '2026-01-02T00:00:00Z',
    reviews: [review(5, 1), review(4, 2), review(4, 3)],
  }
  await importLines(service.database, [line])
  const found = (await service.get('/apps?search=stars')).body.data.apps
  expect(found).toHaveLength(1)
  const read = (await service.get(`/apps/${found[0].id}`)).body.data.app
  expect(read).toMatchObject({
    name: 'Star Map',
    slug: 'star-map',
    developer_name: 'Ada',
    category_slug: 'tools',
    version: '3',
    total_downloads: 12,
    average_rating: 4.33,
    review_count: 3,
    created_at: '2026-01-01T00:00:00.000Z',
    approved_at: '2026-01-02T00:00:00.000Z',
    updated_at: '2026-01-02T00:00:00.000Z',
  })
  expect(read.reviews.map(({ rating }: { rating: number }) => rating)).toEqual([4, 4, 5])
  const audit = await service.database.read(({ sql }) =>
    sql('audit').where({ app_id: found[0].id }),
  )
  expect(audit).toEqual([
    expect.objectContaining({ action: 'app import', operator: 'test', before: null }),
  ])
})

test('an owner and name do not restore a deleted app', async () => {
  const service = await startService()
  await importLines(service.database, [
    { ...app, slug: 'a', deleted_at: '2026-01-01T00:00:00Z' },
    { ...app, slug: 'b', deleted_at: '2026-01-01T00:00:00Z' },
  ])
  expect((await importLines(service.database, [app])).rejects).toEqual([{ line: 1, fields: [''] }])
})

test('a deleted app stays deleted', async () => {
  const service = await startService()
  const { keys } = service.world
  await importLines(service.database, [{ ...app, slug: 'stars', status: 'approved' }])
  const [{ id }] = (await service.get('/apps?search=star')).body.data.apps
  await service.request('DELETE', `/apps/${id}`, { key: keys.ada })
  expect(
    (await importLines(service.database, [{ ...app, slug: 'stars', status: 'approved' }])).rejects,
  ).toEqual([{ line: 1, fields: [''] }])
  expect((await service.get(`/apps/${id}`)).status).toBe(404)
})

test('a dry run counts what would happen and writes nothing', async () => {
  const { database } = await startService()
  const before = await exportLines(database)
  const lines = [app, { name: 'x' }, { ...app, developer_name: 'Bob' }]
  const result = await withTemporaryCopy(database, (copy) => importLines(copy, lines))
  expect(countsOf(result)).toEqual([2, 0, 0, 1])
  expect(await exportLines(database)).toEqual(before)
})

test('names that clash, and more lines than a batch holds', async () => {
  const { database } = await startService()
  const lines = Array.from({ length: 1201 }, (_, index) => ({
    ...app,
    name: `Star ${index % 3}`,
    package_name: `org.example.a${index}`,
    status: index % 2 ? 'approved' : 'pending',
    reviews: [review(1 + (index % 5))],
  }))
  expect(countsOf(await importLines(database, lines))).toEqual([1201, 0, 0, 0])
  await expectConsistent(database)
  // An export reads a page at a time; each app is exported once.
  const exported = (await exportLines(database)).map((line) => JSON.parse(line))
  const slugs = exported.filter((line) => 'name' in line).map(({ slug }): string => slug)
  expect([slugs.length, new Set(slugs).size]).toEqual([6 + 1201, 6 + 1201])
  expect(countsOf(await importLines(database, lines))).toEqual([0, 0, 1201, 0])
})

test.for<[what: string, fileOf: (developer: string) => object[]]>([
  [
    'new apps whose slugs are taken',
    (developer_name) => manyApps(1000).map((line) => ({ ...line, developer_name })),
  ],
  [
    'new apps of new developers whose slugs are taken',
    (prefix) =>
      manyApps(1000).map((line, index) => ({ ...line, developer_name: `${prefix} ${index}` })),
  ],
  [
    'lines with ids, slugs and package names',
    (developer_name) =>
      manyApps(1000).map((line, index) => ({
        ...line,
        id: 100 + index,
        slug: `${developer_name.toLowerCase()}-${index}`,
        package_name: `org.example.${developer_name}${index}`,
        developer_name,
      })),
  ],
])('a batch of 1,000 lines: %s', async ([, fileOf]) => {
  const { database } = await startService()
  const [first, second] = [fileOf('Eve'), fileOf('Fay')]
  const dryRun = await withTemporaryCopy(database, async (copy) => [
    countsOf(await importLines(copy, first)),
    countsOf(await importLines(copy, second)),
  ])
  expect(dryRun).toEqual([
    [1000, 0, 0, 0],
    [1000, 0, 0, 0],
  ])
  for (const lines of [first, second]) {
    expect(countsOf(await importLines(database, lines))).toEqual([1000, 0, 0, 0])
    expect(countsOf(await importLines(database, lines))).toEqual([0, 0, 1000, 0])
  }
  const slugs = await database.read(({ sql }) => sql('apps').pluck('slug'))
  expect(new Set(slugs).size).toBe(6 + 2000)
  await expectConsistent(database)
})

test.for<[what: string, files: object[][], repeated: (number | undefined)[]]>([
  ['two lines of one app', [[app, { ...app, version: '2' }]], [1]],
  ['three lines of one app', [[app, { ...app, version: '2' }, { ...app, version: '3' }]], [2]],
  ['an app, and its slug', [[app, { ...app, slug: 'star-map', version: '2' }]], [1]],
  ['a line twice', [[app, app]], [undefined]],
  ['apps of two developers', [[app, { ...app, developer_name: 'Bob' }]], [undefined]],
  [
    'a line for an app of an earlier file, twice',
    [
      [app],
      [
        { ...app, version: '2' },
        { ...app, version: '3' },
      ],
    ],
    [undefined, undefined],
  ],
])('counts lines that update an app that the file has created: %s', async ([, files, repeated]) => {
  const { database } = await startService()
  for (const [index, lines] of files.entries())
    expect((await importLines(database, lines)).repeated).toBe(repeated[index])
})

/** More than the values of a statement: SQLite takes 32,766, PostgreSQL 65,535. */
const tooMany = inject('engine') === 'sqlite' ? 33_000 : 66_000

test('a line with more reviews that have ids than a statement may have values', async () => {
  const database = await openWorld()
  const reviews = Array.from({ length: tooMany }, (_, index) => ({ ...review(5), id: 100 + index }))
  expect(countsOf(await importLines(database, [{ ...app, reviews }]))).toEqual([1, 0, 0, 0])
  expect(countsOf(await importLines(database, [{ ...app, reviews }]))).toEqual([0, 0, 1, 0])
  // Their ids are in use, so these get others.
  const other = { ...app, developer_name: 'Bob', reviews: reviews.slice(0, 2) }
  expect(countsOf(await importLines(database, [other]))).toEqual([1, 0, 0, 0])
})

test('a line with the name of more apps than a statement may have values', async () => {
  const database = await openWorld()
  await database.write(async ({ sql, insertRows }) => {
    const [row] = await sql('apps').where({ id: apps.pending })
    const { id: _, ...other } = required(row, 'an app')
    const namesakes = Array.from({ length: tooMany }, (_, index) => ({
      ...other,
      name: 'Namesake',
      slug: `namesake-${index}`,
    }))
    await insertRows('apps', namesakes)
  })
  const line = { ...app, name: 'Namesake' }
  const { rejects } = await importLines(database, [line])
  expect(rejects).toEqual([{ line: 1, fields: ['/name'] }])
})

test('an export into an empty database gives the same public answers, byte for byte', async () => {
  const source = await startService()
  const { keys, apps } = source.world
  await source.addReviews(apps.bobs, 120)
  await source.request('PUT', `/apps/${apps.approved}`, {
    key: keys.ada,
    json: { description: 'Changed.\n\tOnce.' },
  })
  await importLines(source.database, [
    {
      ...app,
      status: 'approved',
      average_rating: 4.4,
      rating_count: 69_000_000,
      reviews: [review(2)],
    },
  ])
  const lines = await exportLines(source.database)

  const empty = await openEmptyCatalogue()
  expect(countsOf(await importLines(empty, lines))).toEqual([lines.length, 0, 0, 0])
  await expectConsistent(empty)
  expect(await exportLines(empty)).toEqual(lines)
  const target = await startService({ database: () => empty })

  const paths = [
    '',
    '?sort=popular',
    '?sort=rating',
    '?limit=1&page=2',
    '?category=tools',
    '?category=games',
    '?search=tide',
    '?search=here',
    '?search=ada&sort=latest',
  ]
    .map((query) => `/apps${query}`)
    .concat(Array.from({ length: 12 }, (_, index) => `/apps/${index + 1}`))
  for (const path of paths) {
    const [one, other] = [await source.get(path), await target.get(path)]
    expect([other.status, other.text, other.headers.etag, other.headers.link]).toEqual([
      one.status,
      one.text,
      one.headers.etag,
      one.headers.link,
    ])
  }
  await empty.close()
})

/** A source that yields the rest of a file after `goOn()`. */
function heldSource(first: object[], rest: object[]) {
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>()
  async function* source() {
    yield Buffer.from(toLines(first))
    await held
    yield Buffer.from(toLines(rest))
  }
  return { source: source(), goOn }
}

describe('others can write while an import waits for its file', () => {
  const longReviews = Array.from({ length: 3000 }, (_, index) => ({
    ...review(4, index),
    comment: 'Seen. '.repeat(150),
  }))
  test.for<[read: string, first: object[], refused: number]>([
    ['many lines', manyApps(1400), 0],
    ['a few lines of some MiB', manyApps(3).map((line) => ({ ...line, reviews: longReviews })), 0],
    [
      'a few such lines that are refused',
      manyApps(3).map((line) => ({ ...line, id: 'x', reviews: longReviews })),
      3,
    ],
  ])('after %s', async ([, first, refused]) => {
    const { database, databaseUrl } = await startService()
    const other = openDatabase(databaseUrl)
    onTestFinished(() => other.close())
    const { source, goOn } = heldSource(first, manyApps(1400, 1400))
    const { promise: written, resolve: isWritten } = Promise.withResolvers<void>()
    let transactions = 0
    const onProgress = () => {
      transactions++
      isWritten()
    }
    const importing = importFrom(database, source, { onProgress })
    await written
    // Half of the file is missing. If the import held its lock until the end, this would never
    // finish.
    expect(countsOf(await importLines(other, [{ ...app, name: 'Beside' }]))).toEqual([1, 0, 0, 0])
    goOn()
    expect(countsOf(await importing)).toEqual([first.length - refused + 1400, 0, 0, refused])
    // Of up to 1,000 lines, also after the large ones.
    expect(transactions).toBeLessThan(10)
    await expectConsistent(database)
  })
})

test('a file without lines writes nothing', async () => {
  const { database } = await startService()
  const progress: ImportSummary[] = []
  const summary = await importFrom(database, Readable.from([Buffer.from('\n \n')]), {
    onProgress: (sums) => progress.push(sums),
  })
  expect(countsOf(summary)).toEqual([0, 0, 0, 0])
  expect(progress).toEqual([])
})

describe('a file that cannot be read to its end', () => {
  test.for<[thrown: unknown, broken: Error]>([
    [new Error('unexpected end of file'), new Error('unexpected end of file')],
    ['no reason', new Error('no reason')],
  ])('because of %s: the lines before are imported', async ([thrown, broken]) => {
    const { database } = await startService()
    async function* source() {
      yield Buffer.from(toLines(manyApps(2)))
      throw thrown
    }
    const sums: number[] = []
    const { reasons, ...summary } = await importFrom(database, source(), {
      onProgress: ({ lines, created }) => sums.push(lines, created),
    })
    expect(summary).toEqual({
      lines: 2,
      created: 2,
      updated: 0,
      unchanged: 0,
      rejected: 0,
      readError: broken,
    })
    expect(sums).toEqual([2, 2])
    expect(countsOf(await importLines(database, manyApps(2)))).toEqual([0, 0, 2, 0])
  })
})

test('a retried transaction is written, counted and refused once', async () => {
  const { database } = await startService()
  const undone = new Error('a conflict')
  let runs = 0
  const conflicting: Database = {
    ...database,
    async write(work) {
      const first = database.write(async (runner) => {
        await work(runner)
        throw undone
      })
      await expect(first).rejects.toBe(undone)
      runs++
      return database.write(work)
    },
  }
  const lines = [
    ...manyApps(1200),
    { category: { slug: 'sky', name: 'Sky' } },
    { name: 'x' },
    'not json',
    { ...app, category: 'sky' },
    // These lines describe an earlier app again, so the batch ends before them.
    ...manyApps(2, 1199).map((line) => ({ ...line, version: '2' })),
  ]
  const { rejects, reasons, ...summary } = await importLines(conflicting, lines)
  expect(reasons.all()[0]).toMatchObject({ count: 1 })
  const updates = { updated: 1, repeated: 1, unchanged: 0 }
  expect(summary).toEqual({ lines: 1206, created: 1203, ...updates, rejected: 2 })
  expect(rejects).toEqual([
    { line: 1202, fields: ['/description', '/category', '/developer_name'] },
    { line: 1203, fields: [''] },
  ])
  expect(runs).toBeGreaterThan(0)
  await expectConsistent(database)
  expect(countsOf(await importLines(database, lines))).toEqual([0, 0, 1204, 2])
})

describe('a second line with the id of an earlier line of its file', () => {
  const [at, other] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z']
  const first = { ...app, id: 70, name: 'First', slug: 'first', created_at: at }
  const second = { ...app, id: 70, name: 'Second', slug: 'second' }
  const { created_at: _, ...handWritten } = first

  test.for<[what: string, lines: object[], counts: number[]]>([
    ['is refused if it describes another app', [handWritten, second], [1, 0, 0, 1]],
    ['is refused beside an app with a creation time', [first, second], [1, 0, 0, 1]],
    [
      'is refused if the slug of an export was edited',
      [first, { ...second, created_at: at }],
      [1, 0, 0, 1],
    ],
    [
      'gets a free id if it is of another catalogue',
      [first, { ...second, created_at: other }],
      [2, 0, 0, 0],
    ],
    [
      'gets a free id if it has a creation time, and the app another',
      [handWritten, { ...second, created_at: at }],
      [2, 0, 0, 0],
    ],
    [
      'updates the app if it describes the same one',
      [first, { ...first, version: '2' }],
      [1, 1, 0, 0],
    ],
    ['is refused each time', [first, second, second], [1, 0, 0, 2]],
    ['is refused after many other lines', [first, ...manyApps(1100), second], [1101, 0, 0, 1]],
  ])('%s', async ([, lines, counts]) => {
    const { database } = await startService()
    const { rejects, ...summary } = await importLines(database, lines)
    expect(countsOf(summary)).toEqual(counts)
    const refused = lines.flatMap((line, index) =>
      index > 0 && line === second ? [{ line: index + 1, fields: ['/id'] }] : [],
    )
    if (counts[3] === refused.length) expect(rejects).toEqual(refused)
    // The same file again changes nothing, and refuses the same lines.
    const again = await importLines(database, lines)
    expect([again.created, again.rejected]).toEqual([0, counts[3]])
    // A file of its own is another catalogue's, or one whose line was corrected.
    expect(
      countsOf(await importLines(database, [{ ...second, slug: 'third', name: 'Third' }])),
    ).toEqual([1, 0, 0, 0])
  })

  test('is told what to do', async () => {
    const { database } = await startService()
    const messages: string[] = []
    await importFrom(database, Readable.from([Buffer.from(toLines([first, second]))]), {
      onReject: async (number, problems) => {
        messages.push(...problems.map(({ field, message }) => `${number} ${field} ${message}`))
      },
    })
    expect(messages).toEqual([
      '2 /id belongs to an earlier line of the file: leave it out to get a free one, or give the slug or package name of that app to update it',
    ])
  })
})
