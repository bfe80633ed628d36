import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { withTemporaryCopy } from '../../src/db/copy-database.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import {
  exampleLine as app,
  counts,
  exampleReview,
  exportLines,
  importFrom,
  importLines,
  toLines,
} from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld, openWorld } from '../support/database.ts'

/** How an import reads, groups, writes and counts the lines of a file. */

const manyApps = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ ...app, name: `Star ${from + index}` }))

test('each refused line is reported once, in order, as it was read', async () => {
  const database = await openWorld()
  const clashing = { category: { slug: 'sky', name: 'Tools' } }
  const moon = { ...app, name: 'Moon', ...clashing }
  const parts = [
    Buffer.from(
      toLines(['{"name": 1}', { category: { slug: 'tools', name: 'Sky' } }, clashing, app]),
    ),
    Buffer.from([0x7b, 0xff, 0x0a]),
    Buffer.from(toLines([moon])),
  ]
  const reported: unknown[] = []
  const { reasons, ...summary } = await importFrom(database, Readable.from(parts), {
    onProblems: async (line, problems, raw) => {
      reported.push({ line, fields: problems.map(({ field }) => field), raw })
    },
  })
  expect(summary).toMatchObject(counts({ created: 1, unchanged: 1, rejected: 4 }))
  expect(reported).toEqual([
    {
      line: 1,
      fields: ['/description', '/category', '/developer_name', '/name'],
      raw: '{"name": 1}',
    },
    { line: 3, fields: ['/category'], raw: JSON.stringify(clashing) },
    { line: 5, fields: [''], raw: Buffer.from([0x7b, 0xff]) },
    { line: 6, fields: ['/category'], raw: JSON.stringify(moon) },
  ])
  expect(reasons.all()[0]).toMatchObject({ count: 2 })
})

test('a line with very many problems is refused with the first 100, and those after it are imported', async () => {
  const database = await openWorld()
  const hostile = Object.fromEntries(Array.from({ length: 130_000 }, (_, index) => [index, 0]))
  const imported = await importLines(database, [app, hostile, { ...app, name: 'Moon' }])
  expect(imported).toMatchObject({ ...counts({ created: 2, rejected: 1 }), rejects: [{ line: 2 }] })
  expect(imported.rejects[0]?.fields).toHaveLength(100)
  expect(imported).not.toHaveProperty('readError')
})

test('each update of an app is reported', async () => {
  const database = await openWorld()
  await importLines(database, [app, { ...app, name: 'Sun' }])
  const reported: unknown[] = []
  const sky = { category: { slug: 'sky', name: 'Sky' } }
  const lines = [{ ...app, version: '2' }, sky, { ...app, name: 'Moon' }, { ...app, name: 'Sun' }]
  await importFrom(database, Readable.from([Buffer.from(toLines(lines))]), {
    onUpdate: ({ id, slug }) => reported.push({ id, slug }),
  })
  expect(reported).toEqual([{ id: 7, slug: 'star-map' }])
})

test('a dry run counts what would happen, and writes nothing, while others can write', async () => {
  const database = await openWorld()
  const lines = [app, { name: 'x' }, { ...app, developer_name: 'Bob' }]
  const result = await withTemporaryCopy(database, async (copy) => {
    await importLines(database, [app])
    return importLines(copy, lines)
  })
  expect(result).toMatchObject(counts({ created: 2, rejected: 1 }))
  const exported = (await exportLines(database)).map((line) => JSON.parse(line))
  expect(exported.filter(({ id }) => id > 6)).toMatchObject([{ developer_name: 'Ada' }])
})

test('a file without lines writes nothing', async () => {
  const database = await openWorld()
  let transactions = 0
  const summary = await importFrom(database, Readable.from([Buffer.from('\n \n')]), {
    onProgress: () => transactions++,
  })
  expect({ ...summary, transactions }).toMatchObject({ ...counts({}), lines: 0, transactions: 0 })
})

type Batch = {
  name: string
  /** The first of two files has the developers with the prefix Eve, the second one Fay. */
  line: (developer: string, index: number) => object
}
const batches: Batch[] = [
  {
    name: 'new developers, and slugs that are taken',
    line: (developer, index) => ({
      name: `Star ${index % 300}`,
      package_name: `org.example.${developer}${index}`,
      developer_name: `${developer} ${index}`,
      reviews: [exampleReview],
    }),
  },
  {
    name: 'ids, slugs and package names',
    line: (developer, index) => ({
      name: `Star ${index}`,
      id: 100 + index,
      slug: `${developer.toLowerCase()}-${index}`,
      package_name: `org.example.${developer}${index}`,
      developer_name: developer,
      status: 'approved',
    }),
  },
]
test.for(batches)('more lines than a batch holds, with $name', async ({ line }) => {
  const database = await openWorld()
  const count = 1201
  for (const developer of ['Eve', 'Fay']) {
    const lines = Array.from({ length: count }, (_, index) => ({
      ...app,
      ...line(developer, index),
    }))
    expect(await importLines(database, lines)).toMatchObject(counts({ created: count }))
    expect(await importLines(database, lines)).toMatchObject(counts({ unchanged: count }))
  }
  // An export reads a page at a time; each app is exported once.
  const slugs = (await exportLines(database)).flatMap((text) => JSON.parse(text).slug ?? [])
  expect([slugs.length, new Set(slugs).size]).toEqual([6 + 2 * count, 6 + 2 * count])
  await expectConsistent(database)
})

describe('others can write while an import waits for its file', () => {
  const longReviews = Array.from({ length: 3000 }, (_, index) => ({
    ...exampleReview,
    created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
    comment: 'Seen. '.repeat(150),
  }))
  const longApps = manyApps(3).map((line) => ({ ...line, reviews: longReviews }))

  type Wait = {
    name: string
    /** The lines before the rest of the file is missing. */
    first: object[]
    reported: Parameters<typeof counts>[0]
    transactions: number
  }
  const waits: Wait[] = [
    {
      name: 'a category and many apps',
      first: [{ category: { slug: 'sky', name: 'Sky' } }, ...manyApps(1400)],
      reported: { created: 2801 },
      transactions: 4,
    },
    {
      name: 'a few lines of some MiB',
      first: longApps,
      reported: { created: 1403 },
      transactions: 5,
    },
    {
      name: 'a few such lines that are refused',
      first: longApps.map((line) => ({ ...line, id: 'x' })),
      reported: { created: 1400, rejected: 3 },
      transactions: 5,
    },
  ]
  test.for(waits)('after $name', async ({ first, reported, transactions }) => {
    const address = await copyWorld()
    const [database, other] = [openDatabase(address), openDatabase(address)]
    onTestFinished(async () => {
      await Promise.all([database.close(), other.close()])
    })
    const rest = Promise.withResolvers<void>()
    async function* source() {
      yield Buffer.from(toLines(first))
      await rest.promise
      yield Buffer.from(toLines(manyApps(1400, 1400)))
    }
    const written = Promise.withResolvers<void>()
    let committed = 0
    const onProgress = () => {
      committed++
      written.resolve()
    }
    const importing = importFrom(database, source(), { onProgress })
    await written.promise
    // If the import held its lock until the end, this would never finish.
    const beside = { ...app, name: 'Beside' }
    expect(await importLines(other, [beside])).toMatchObject(counts({ created: 1 }))
    rest.resolve()
    expect(await importing).toMatchObject(counts(reported))
    // Of up to 1,000 lines, also after the large ones.
    expect(committed).toBe(transactions)
    await expectConsistent(database)
  })
})

test.for<[thrown: unknown, readError: Error]>([
  [new Error('unexpected end of file'), new Error('unexpected end of file')],
  ['no reason', new Error('no reason')],
])(
  'a file that cannot be read to its end because of %s: the lines before are imported',
  async ([thrown, readError]) => {
    const database = await openWorld()
    async function* source() {
      yield Buffer.from(toLines(manyApps(2)))
      throw thrown
    }
    const summary = await importFrom(database, source())
    expect(summary).toMatchObject({ ...counts({ created: 2 }), lines: 2, readError })
    expect(await importLines(database, manyApps(2))).toMatchObject(counts({ unchanged: 2 }))
  },
)

test('a retried transaction is counted and refused once', async () => {
  const database = await openWorld()
  const undone = new Error('a conflict')
  const conflicting: DatabaseWithTools = {
    ...database,
    async write(work) {
      const first = database.write(async (runner) => {
        await work(runner)
        throw undone
      })
      await expect(first).rejects.toBe(undone)
      return database.write(work)
    },
  }
  const lines = [
    app,
    { category: { slug: 'sky', name: 'Sky' } },
    { name: 'x' },
    'not json',
    { ...app, name: 'Moon', category: 'sky' },
    // About an earlier app, so the batch ends before it.
    { ...app, version: '2' },
  ]
  expect(await importLines(conflicting, lines)).toMatchObject({
    ...counts({ created: 3, rejected: 3 }),
    lines: 6,
    rejects: [
      { line: 3, fields: ['/description', '/category', '/developer_name'] },
      { line: 4, fields: [''] },
      { line: 6, fields: [''] },
    ],
  })
  await expectConsistent(database)
})
