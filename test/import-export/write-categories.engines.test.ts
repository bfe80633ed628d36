import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../src/contract/errors.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { counts, exampleLine, importFrom, importLines, toLines } from '../support/catalogue-file.ts'
import { openWorld } from '../support/database.ts'

/** Lines of categories, and the categories of lines of apps. The world has three: 1, 2 and 3. */

const created_at = '2026-01-01T00:00:00.000Z'
const otherTime = '2026-01-02T00:00:00.000Z'
const sky = { id: 50, slug: 'sky', name: 'Sky', created_at }
const sea = { id: 51, slug: 'sea', name: 'Sea', created_at }

type Scenario = {
  name: string
  categories: object[]
  reported: Parameters<typeof counts>[0]
  /** Slugs and names by id. */
  after: Record<number, string>
}

const scenarios: Scenario[] = [
  {
    name: 'a category that exists is unchanged',
    categories: [sky],
    reported: { unchanged: 1 },
    after: { 50: 'sky Sky', 51: 'sea Sea' },
  },
  {
    name: 'the id and creation time find a category, which gets the slug and name of its line',
    categories: [{ ...sky, slug: 'air', name: 'Air' }],
    reported: { updated: 1 },
    after: { 50: 'air Air', 51: 'sea Sea' },
  },
  {
    name: 'the second line of a category counts, too',
    categories: [
      { ...sky, name: 'Air' },
      { ...sky, name: 'Wind' },
    ],
    reported: { updated: 2 },
    after: { 50: 'sky Wind', 51: 'sea Sea' },
  },
  {
    name: 'with another id or time, an existing slug is unchanged, whatever its name',
    categories: [
      { ...sky, created_at: otherTime, name: 'Air' },
      { ...sea, id: 60, name: 'Ocean' },
    ],
    reported: { unchanged: 2 },
    after: { 50: 'sky Sky', 51: 'sea Sea' },
  },
  {
    name: 'a new category of another catalogue gets another id if its own is in use',
    categories: [{ ...sky, slug: 'air', name: 'Air', created_at: otherTime }],
    reported: { created: 1 },
    after: { 50: 'sky Sky', 51: 'sea Sea', 52: 'air Air' },
  },
  {
    name: 'of two new categories with one name, the second is refused',
    categories: [
      { slug: 'air', name: 'Air' },
      { slug: 'wind', name: 'Air' },
    ],
    reported: { created: 1, rejected: 1 },
    after: { 50: 'sky Sky', 51: 'sea Sea', 52: 'air Air' },
  },
  {
    name: 'a category takes the name that an earlier line gives up',
    categories: [
      { ...sky, slug: 'air', name: 'Air' },
      { ...sea, slug: 'sky', name: 'Sky' },
    ],
    reported: { updated: 2 },
    after: { 50: 'air Air', 51: 'sky Sky' },
  },
  {
    name: 'each category takes the name that the next line gives up, the last one as a new one',
    categories: [
      { slug: 'air', name: 'Sky' },
      { ...sky, slug: 'sea', name: 'Sea' },
      { ...sea, slug: 'lake', name: 'Lake' },
    ],
    reported: { created: 1, updated: 2 },
    after: { 50: 'sea Sea', 51: 'lake Lake', 52: 'air Sky' },
  },
  {
    name: 'two categories that exchange their names are refused',
    categories: [
      { ...sky, slug: 'sea', name: 'Sea' },
      { ...sea, slug: 'sky', name: 'Sky' },
    ],
    reported: { rejected: 2 },
    after: { 50: 'sky Sky', 51: 'sea Sea' },
  },
  {
    name: 'a name that another category keeps is refused, also to those that rely on it',
    categories: [
      { ...sky, slug: 'tools' },
      { ...sea, slug: 'sky', name: 'Sky' },
      { slug: 'air', name: 'Air' },
    ],
    reported: { created: 1, rejected: 2 },
    after: { 50: 'sky Sky', 51: 'sea Sea', 52: 'air Air' },
  },
]

test.for(scenarios)('$name', async ({ categories, reported, after }) => {
  const database = await openWorld()
  await importLines(database, [{ category: sky }, { category: sea }])
  const lines = categories.map((category) => ({ category }))
  expect(await importLines(database, lines)).toMatchObject(counts(reported))
  const rows = await database.read(({ sql }) => sql('categories').where('id', '>=', 50))
  expect(Object.fromEntries(rows.map(({ id, slug, name }) => [id, `${slug} ${name}`]))).toEqual(
    after,
  )
})

const [first, second, third] = ['First', 'Second', 'Third'].map((name, index) => ({
  id: 50 + index,
  slug: name.toLowerCase(),
  name,
  created_at,
}))
const chain = [
  { ...first, slug: 'second', name: 'Second' },
  { ...second, slug: 'third', name: 'Third' },
  { ...third, slug: 'fourth', name: 'Fourth' },
]

const orders = ['012', '021', '102', '120', '201', '210']
test.for(orders)('a chain of names is one import, in the order %s of its ids', async (order) => {
  const database = await openWorld()
  await importLines(database, [{ category: first }, { category: second }, { category: third }])
  const lines = [
    ...[...order].map((index) => ({ category: chain[Number(index)] })),
    // Its category would be added if it did not exist yet.
    { ...exampleLine, category: { slug: 'second', name: 'Second' } },
  ]
  expect(await importLines(database, lines)).toMatchObject(counts({ updated: 3, created: 1 }))
  const rows = await database.read(({ sql }) => sql('categories').where('id', '>=', 50))
  expect(Object.fromEntries(rows.map(({ id, slug }) => [id, slug]))).toEqual({
    50: 'second',
    51: 'third',
    52: 'fourth',
  })
  expect(await importLines(database, lines)).toMatchObject(counts({ unchanged: 4 }))
})

test('an import that ends between two categories says where, and finishes when it is run again', async () => {
  const database = await openWorld()
  await importLines(database, [{ category: first }, { category: second }, { category: third }])
  const lines = chain.toReversed().map((category) => ({ category }))
  let writes = 0
  const failing: DatabaseWithTools = {
    ...database,
    write: (work, options) =>
      ++writes === 2
        ? Promise.reject(new ServiceError('unavailable', 'The network is down.'))
        : database.write(work, options),
  }
  expect(await importLines(failing, lines)).toMatchObject({
    ...counts({ updated: 1 }),
    lines: 1,
    writeProblem: { line: 2 },
  })
  expect(await importLines(database, lines)).toMatchObject(counts({ updated: 2, unchanged: 1 }))
})

test('categories exchange their names as the refusal advises', async () => {
  const database = await openWorld()
  await importLines(database, [{ category: sky }, { category: sea }])
  const exchanged = [
    { category: { ...sky, slug: 'sea', name: 'Sea' } },
    { category: { ...sea, slug: 'sky', name: 'Sky' } },
  ]
  const messages: string[] = []
  await importFrom(database, Readable.from([Buffer.from(toLines(exchanged))]), {
    onProblems: async (_number, problems) => {
      messages.push(...problems.map(({ message }) => message))
    },
  })
  expect(messages).toHaveLength(2)
  for (const message of messages) expect(message).toMatch(/; give that one another in a first file/)
  const first = [{ category: { ...sea, slug: 'other', name: 'Other' } }]
  expect(await importLines(database, first)).toMatchObject(counts({ updated: 1 }))
  expect(await importLines(database, exchanged)).toMatchObject(counts({ updated: 2 }))
  expect(await importLines(database, exchanged)).toMatchObject(counts({ unchanged: 2 }))
})

test('a new and a renamed category are audited', async () => {
  const database = await openWorld()
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

describe('the category of a new app', () => {
  const line = (name: string, category: unknown) => ({ ...exampleLine, name, category })

  test('is added if it has a name, with its id if that is free, for later lines, too', async () => {
    const database = await openWorld()
    const lines = [
      line('First', { id: 40, slug: 'sky', name: 'Sky' }),
      line('Second', 'sky'),
      line('Third', { id: 1, slug: 'sea', name: 'Sea' }),
      line('Fourth', { id: 40, slug: 'sun', name: 'Sun' }),
    ]
    expect(await importLines(database, lines)).toMatchObject(counts({ created: 4 }))
    const rows = await database.read(({ sql }) =>
      sql('categories').where('id', '>', 3).orderBy('id').select('id', 'slug', 'listed_apps'),
    )
    expect(rows.map(({ id, slug }) => [id, slug])).toEqual([
      [40, 'sky'],
      [41, 'sea'],
      [42, 'sun'],
    ])
  })

  test('is refused if it does not exist, or if its name is taken', async () => {
    const database = await openWorld()
    const lines = [line('First', 'sky'), line('Second', { slug: 'sky', name: 'Tools' })]
    expect(await importLines(database, lines)).toMatchObject({
      created: 0,
      rejects: [
        { line: 1, fields: ['/category'] },
        { line: 2, fields: ['/category'] },
      ],
    })
  })
})
