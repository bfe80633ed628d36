import { describe, expect, test } from 'vitest'
import type { AppRow } from '../../src/db/rows.ts'
import type { Line } from '../../src/import-export/line.ts'
import {
  categoryProblems,
  hasSameReviews,
  toColumns,
  toNewRow,
} from '../../src/import-export/line-to-row.ts'
import { app, line, time } from './star-map.ts'

const lookups = {
  ownerIds: new Map([['Ada', 1]]),
  categoryIds: new Map([
    ['tools', 2],
    ['games', 3],
  ]),
  now: time(9),
}
const newRow = (newLine: Line) => toNewRow(newLine, lookups)
const changesOf = (fields: Partial<Line>, existing = app) =>
  toColumns({ ...line, slug: 'star-map', ...fields }, existing, lookups)

test('categories that do not exist are named', () => {
  const fieldsOf = (fields: Partial<Line>) =>
    categoryProblems({ ...line, ...fields }, lookups.categoryIds)
  expect(fieldsOf({})).toEqual([])
  expect(fieldsOf({ category: 'arts' })).toMatchObject([
    { field: '/category', message: 'does not exist: give slug and name to add it, not arts alone' },
  ])
})

test('a category is found by its slug, given with a name or without', () => {
  expect(newRow(line).category_id).toBe(2)
  expect(newRow({ ...line, category: { slug: 'tools', name: 'Gear' } }).category_id).toBe(2)
})

describe('a new row', () => {
  test('has the values of the line', () => {
    const fields: Partial<Line> = {
      status: 'rejected',
      rejection_reason: 'No.',
      version: '2.0',
      total_downloads: 5,
      package_name: 'a.b.c',
      short_description: 'Stars',
      created_at: time(1),
      deleted_at: time(8),
    }
    expect(newRow({ ...line, ...fields, updated_at: time(6) })).toMatchObject({
      ...fields,
      updated_at: time(6),
      developer_id: 1,
      category_id: 2,
    })
    const without = newRow({ ...line, short_description: '' })
    expect(without).toMatchObject({ short_description: null, rejection_reason: null })
    const approved: Line = {
      ...line,
      status: 'approved',
      created_at: time(1),
      approved_at: time(5),
    }
    expect(newRow(approved).updated_at).toBe(time(5))
  })

  test.for<[when: string, fields: Partial<Line>, created_at: string]>([
    ['at the time of the import', {}, time(9)],
    [
      'when it was approved',
      { status: 'approved', approved_at: time(5), updated_at: time(6) },
      time(5),
    ],
    [
      'when it last changed',
      { approved_at: time(7), updated_at: time(6), deleted_at: null },
      time(6),
    ],
    ['when it was deleted', { deleted_at: time(4) }, time(4)],
  ])('without created_at was created %s', ([, fields, created_at]) => {
    expect(newRow({ ...line, ...fields }).created_at).toBe(created_at)
  })

  test('of an approved app has its creation time as approval, unless the line has another', () => {
    const approved: Line = { ...line, status: 'approved', created_at: time(1) }
    expect(newRow(approved).approved_at).toBe(time(1))
    expect(newRow({ ...approved, approved_at: time(5) }).approved_at).toBe(time(5))
    const { created_at: _, ...undated } = approved
    expect(newRow({ ...undated, updated_at: time(5) }).approved_at).toBe(time(5))
  })
})

test('only another status is a decision, after which nothing waits for review', () => {
  const waiting = { ...app, unreviewed_since: time(4), unreviewed_changes: '{}' }
  const reviewed = { unreviewed_since: null, unreviewed_changes: null }
  expect({ ...waiting, ...changesOf({ status: 'approved' }, waiting) }).toMatchObject({
    unreviewed_since: time(4),
  })
  const rejected: Partial<Line> = { status: 'rejected', rejection_reason: 'No.' }
  expect(changesOf(rejected, waiting)).toMatchObject(reviewed)
  // A new app was decided on before, elsewhere.
  for (const decided of [rejected, { status: 'approved' } as const])
    expect(newRow({ ...line, ...decided })).not.toHaveProperty('decided_at')
})

test.for<[what: string, fields: Partial<Line>, existing: Partial<AppRow>, columns: object]>([
  ['no short description', { short_description: '' }, {}, { short_description: null }],
  ['a time of approval', { approved_at: time(4) }, {}, { approved_at: time(4) }],
  [
    'approved, as before',
    { status: 'approved' },
    {},
    { status: 'approved', approved_at: time(2), rejection_reason: null },
  ],
  [
    'approved, with a time',
    { status: 'approved', approved_at: time(4) },
    {},
    { approved_at: time(4) },
  ],
  [
    'approved, unlike before',
    { status: 'approved' },
    { approved_at: null, status: 'pending' },
    { approved_at: time(9), unreviewed_since: null },
  ],
  [
    'approved, with a creation time',
    { status: 'approved', created_at: time(5) },
    { approved_at: null },
    { approved_at: time(5) },
  ],
  [
    'pending',
    { status: 'pending' },
    { approved_at: null, status: 'rejected', rejection_reason: 'No.' },
    { status: 'pending', approved_at: null, rejection_reason: null, unreviewed_changes: null },
  ],
  [
    'approved, after a rejection',
    { status: 'approved' },
    { status: 'rejected', rejection_reason: 'No.' },
    { status: 'approved', rejection_reason: null, decided_at: time(9) },
  ],
  [
    'rejected, with a reason',
    { status: 'rejected', rejection_reason: 'No.' },
    {},
    { rejection_reason: 'No.', approved_at: time(2) },
  ],
])('a line changes an app: %s', ([, fields, existing, columns]) => {
  expect(changesOf(fields, { ...app, ...existing })).toMatchObject(columns)
})

describe('ratings', () => {
  const reviews = [4, 5].map((rating) => ({
    reviewer_name: 'Cy',
    rating,
    comment: '',
    created_at: time(1),
  }))
  // Reviews of 4 and 5, and ten ratings of 3.
  const rated = {
    ...app,
    review_count: 2,
    other_rating_sum: 3000,
    other_rating_count: 10,
    rating_sum: 3900,
    rating_count: 12,
  }
  type Rated = {
    name: string
    fields: Partial<Line>
    /** Without one, the app is new. */
    existing?: AppRow
    own: number
    others: { sum: number; count: number }
    all: { sum: number; count: number }
  }
  const none = { sum: 0, count: 0 }
  const others = { sum: 3000, count: 10 }
  test.for<Rated>([
    { name: 'none', fields: {}, own: 0, others: none, all: none },
    {
      name: 'reviews',
      fields: { reviews },
      own: 2,
      others: none,
      all: { sum: 900, count: 2 },
    },
    {
      name: 'an average and a count',
      fields: { average_rating: 3.5, rating_count: 3 },
      own: 0,
      others: { sum: 1050, count: 3 },
      all: { sum: 1050, count: 3 },
    },
    {
      name: 'an average alone',
      fields: { average_rating: 3.5 },
      own: 0,
      others: { sum: 350, count: 1 },
      all: { sum: 350, count: 1 },
    },
    { name: 'an average of 0', fields: { average_rating: 0 }, own: 0, others: none, all: none },
    {
      name: 'reviews, an average and a count',
      fields: { average_rating: 3, rating_count: 10, reviews },
      own: 2,
      others,
      all: { sum: 3900, count: 12 },
    },
    {
      name: 'nothing, for an app that has ratings',
      fields: {},
      existing: rated,
      own: 2,
      others,
      all: { sum: 3900, count: 12 },
    },
    {
      name: 'no average, for an app that has ratings',
      fields: { average_rating: null },
      existing: rated,
      own: 2,
      others: none,
      all: { sum: 900, count: 2 },
    },
    {
      name: 'another average, for an app that has ratings',
      fields: { average_rating: 5, rating_count: 2 },
      existing: rated,
      own: 2,
      others: { sum: 1000, count: 2 },
      all: { sum: 1900, count: 4 },
    },
    {
      name: 'no reviews, for an app that has some',
      fields: { reviews: [] },
      existing: rated,
      own: 0,
      others,
      all: others,
    },
  ])('of a line with $name', ({ fields, existing, own, others, all }) => {
    const row = existing ? changesOf(fields, existing) : newRow({ ...line, ...fields })
    expect({
      own: row.review_count,
      others: { sum: row.other_rating_sum, count: row.other_rating_count },
      all: { sum: row.rating_sum, count: row.rating_count },
    }).toEqual({ own, others, all })
  })
})

test('reviews are the same in any order, but not if a word differs', () => {
  const review = (comment: string, rating = 4) => ({
    reviewer_name: 'Cy',
    rating,
    comment,
    created_at: time(1),
  })
  const row = (comment: string, id: number) => ({ ...review(comment), id, app_id: 7 })
  const rows = [row('A', 1), row('B', 2)]
  expect(hasSameReviews([review('B'), review('A')], rows)).toBe(true)
  expect(hasSameReviews([review('B'), review('C')], rows)).toBe(false)
  expect(hasSameReviews([review('B'), review('A', 5)], rows)).toBe(false)
  expect(hasSameReviews([review('A')], rows)).toBe(false)
})
