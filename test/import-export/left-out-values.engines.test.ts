import { expect, test } from 'vitest'
import { defaultVersion } from '../../src/catalogue/app-columns.ts'
import {
  exampleLine as app,
  counts,
  exampleReview,
  exportLines,
  importLines,
} from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openWorld } from '../support/database.ts'

/** Invalid values of optional fields never cost the app: a new one gets defaults, others keep theirs. */

const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
const now = '2026-02-01T00:00:00.000Z'
const reviews = [exampleReview]

type LeftOut = {
  /** Fields of the line, and those that are reported. */
  invalid: object
  fields: string[]
  /** Of an app that exists, and still has them afterwards. */
  stored: object
  /** Of an app that the line creates. */
  created: object
}
const values: LeftOut[] = [
  ...['website_url', 'source_code_url', 'license', 'short_description'].flatMap((field) =>
    ['a\u0000b', 7, { en: 'x' }].map((value) => ({
      invalid: { [field]: value },
      fields: [`/${field}`],
      stored: { [field]: 'https://example.org/' },
      created: { [field]: null },
    })),
  ),
  ...['', null, 2, 'v'.repeat(51)].map((version) => ({
    invalid: { version },
    // Null is as left out.
    fields: version === null ? [] : ['/version'],
    stored: { version: '3.1' },
    created: { version: defaultVersion },
  })),
  ...[-1, 1.5, '100'].map((total_downloads) => ({
    invalid: { total_downloads },
    fields: ['/total_downloads'],
    stored: { total_downloads: 70 },
    created: { total_downloads: 0 },
  })),
  ...[
    { average_rating: 6, rating_count: 5 },
    { average_rating: 4, rating_count: -1 },
    { average_rating: '4.5' },
    { rating_count: 3 },
  ].map((invalid) => ({
    invalid,
    fields: [
      'average_rating' in invalid && invalid.average_rating !== 4
        ? '/average_rating'
        : '/rating_count',
    ],
    stored: { average_rating: 4.5, rating_count: 10 },
    created: { average_rating: null, rating_count: null },
  })),
  {
    invalid: { reviews: 'many' },
    fields: ['/reviews'],
    stored: { reviews },
    created: { reviews: [] },
  },
  {
    invalid: { reviews: [{ ...exampleReview, rating: 9 }, exampleReview] },
    fields: ['/reviews/0/rating'],
    stored: { reviews },
    created: { reviews },
  },
  ...['yesterday', 1767225600000, '2999-01-01T00:00:00Z'].flatMap((value) => [
    {
      invalid: { created_at: value },
      fields: ['/created_at'],
      stored: { created_at: time(1) },
      created: { created_at: now },
    },
    {
      invalid: { updated_at: value, created_at: time(1) },
      fields: ['/updated_at'],
      stored: { created_at: time(1) },
      created: { updated_at: time(1) },
    },
    {
      invalid: { approved_at: value, created_at: time(1), status: 'approved' },
      fields: ['/approved_at'],
      stored: { approved_at: time(2), created_at: time(1), status: 'approved' },
      created: { approved_at: time(1) },
    },
  ]),
  {
    invalid: { created_at: time(5), updated_at: time(3) },
    fields: ['/updated_at'],
    stored: { created_at: time(5), updated_at: time(5) },
    created: { created_at: time(5), updated_at: time(5) },
  },
  {
    invalid: { created_at: time(5), approved_at: time(3), status: 'approved' },
    fields: ['/created_at'],
    stored: { created_at: time(1), approved_at: time(3), status: 'approved' },
    created: { created_at: time(3), approved_at: time(3) },
  },
]

test.for(values.map((value) => ({ ...value, what: JSON.stringify(value.invalid).slice(0, 80) })))(
  'a line is imported without its invalid value: $what',
  async ({ invalid, fields, stored, created }) => {
    freezeClock(Date.parse(now))
    const database = await openWorld()
    const appWith = async (slug: string) =>
      (await exportLines(database)).map((line) => JSON.parse(line)).find((one) => one.slug === slug)
    const line = { ...app, description: 'Changed.', ...invalid }
    await importLines(database, [{ ...app, slug: 'old', ...stored }])
    const lines = [
      { ...line, slug: 'old' },
      { ...line, name: 'Moon', slug: 'new' },
    ]
    const left = fields.length === 0 ? [] : [1, 2].map((number) => ({ line: number, fields }))
    expect(await importLines(database, lines)).toMatchObject({
      ...counts({ created: 1, updated: 1 }),
      left,
    })
    expect(await appWith('old')).toMatchObject({ description: 'Changed.', ...stored })
    expect(await appWith('new')).toMatchObject(created)
    // The second time, nothing changes, and the same is left out.
    expect(await importLines(database, lines)).toMatchObject({ ...counts({ unchanged: 2 }), left })
    await expectConsistent(database)
  },
)

test('unknown fields of a review are ignored', async () => {
  const database = await openWorld()
  const line = { ...app, slug: 'old', reviews: [{ ...exampleReview, app_id: 1, votes: 3 }] }
  expect(await importLines(database, [line])).toMatchObject(counts({ created: 1 }))
  expect(await importLines(database, [line])).toMatchObject(counts({ unchanged: 1 }))
  expect(JSON.parse((await exportLines(database)).at(-1) ?? '')).toMatchObject({ reviews })
  await expectConsistent(database)
})

type Contradiction = { name: string; line: object; fields: string[]; after: object }
const contradictions: Contradiction[] = [
  {
    name: 'a change before the creation of the app',
    line: { updated_at: time(1), version: '2' },
    fields: ['/updated_at'],
    after: { created_at: time(5), version: '2' },
  },
  {
    name: 'an approval before the creation of the app',
    line: { approved_at: time(1) },
    fields: ['/approved_at'],
    after: { created_at: time(5), approved_at: time(7) },
  },
  {
    name: 'a creation after the approval of the app',
    line: { created_at: time(9) },
    fields: ['/created_at'],
    after: { created_at: time(5), approved_at: time(7) },
  },
]
test.for(contradictions)(
  'a time is left out that contradicts the app of the line: $name',
  async ({ line, fields, after }) => {
    const database = await openWorld()
    const stored = { created_at: time(5), approved_at: time(7), updated_at: time(8) }
    await importLines(database, [{ ...app, slug: 'stars', status: 'approved', ...stored }])
    const { rejects, left, reasons, leftOut } = await importLines(database, [
      { ...app, slug: 'stars', license: 'a\nb', ...line },
    ])
    expect({ rejects, left }).toEqual({
      rejects: [],
      left: [{ line: 1, fields: ['/license', ...fields] }],
    })
    expect([reasons.all(), leftOut.all()]).toMatchObject([[], [{ count: 1 }, { count: 1 }]])
    const exported = (await exportLines(database)).at(-1) ?? ''
    expect(JSON.parse(exported)).toMatchObject(after)
  },
)

test('a refused line has all its problems, and only those that refuse it are counted', async () => {
  const database = await openWorld()
  const { rejected, rejects, reasons } = await importLines(database, [
    { ...app, category: 'none', license: 'a\nb' },
    { ...app, name: '', license: 'a\nb' },
  ])
  expect({ rejected, rejects }).toEqual({
    rejected: 2,
    rejects: [
      { line: 1, fields: ['/category'] },
      { line: 2, fields: ['/name'] },
    ],
  })
  expect(reasons.all().map(({ reason }) => reason.split(':')[0])).toEqual(['/category', '/name'])
})
