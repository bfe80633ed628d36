import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import {
  lineSchema,
  type ParsedLine,
  readCounterLine,
  readLine,
} from '../../src/import-export/line.ts'

const app = { name: 'Star Map', description: 'The sky.', category: 'tools', developer_name: 'Ada' }
const review = {
  reviewer_name: 'Cy',
  rating: 4,
  comment: '',
  created_at: '2026-01-01T00:00:00.000Z',
}
const sky = { slug: 'sky', name: 'Sky' }

/** A time so many minutes from now. */
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

/** A line with this time wherever it can have one. */
const withTimes = (time: string) => ({
  created_at: time,
  updated_at: time,
  approved_at: time,
  deleted_at: time,
  category: { ...sky, created_at: time },
  reviews: [review, { ...review, created_at: time }],
})
const timeFields = [
  '/category/created_at',
  '/deleted_at',
  '(/created_at)',
  '(/updated_at)',
  '(/approved_at)',
  '(/reviews/1/created_at)',
]

const problemsOf = ({ outcome, leftOut = [] }: ParsedLine) =>
  Array.isArray(outcome) ? outcome : leftOut
/** The fields with problems; in parentheses, those that can be left out. */
const fieldsOf = (line: object) =>
  problemsOf(readLine(JSON.stringify(line))).map(({ field, left_out }) =>
    left_out ? `(${field})` : field,
  )

/** The line of an export whose times are not in order. */
const exportedLate = {
  ...{ id: 7, slug: 'star' },
  created_at: '2026-01-02T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
}

describe('an app may have', () => {
  test.for<[what: string, fields: object]>([
    ['the required fields', {}],
    [
      'each of the others',
      {
        ...{ id: 7, slug: 'star', version: '2', package_name: 'org.example.a' },
        ...{ short_description: '', status: 'approved', total_downloads: 5 },
        category: { id: 1, ...sky },
        created_at: '2026-01-01T00:00:00Z',
        updated_at: '2026-01-01T01:00:00+01:00',
        approved_at: '2026-01-02T00:00:00.123456Z',
        deleted_at: '2026-02-02T00:00:00Z',
        reviews: [{ ...review, id: 3 }],
      },
    ],
    [
      'nulls, as in an export',
      {
        ...{ package_name: null, short_description: null, rejection_reason: null },
        ...{ average_rating: null, rating_count: null, approved_at: null, deleted_at: null },
      },
    ],
    [
      'the mark of unreviewed changes that version 1 exported',
      { unreviewed_since: '2026-01-01T00:00:00Z', unreviewed_changes: { category: 'sky' } },
    ],
    [
      'the greatest ids',
      {
        id: 2 ** 39 - 1,
        category: { id: 2 ** 52 - 1, ...sky },
        reviews: [{ ...review, id: 2 ** 52 - 1 }],
      },
    ],
    ['times by a clock that is ahead', withTimes(inMinutes(4))],
    ['the first possible time', { created_at: '0000-01-01T00:00:00Z' }],
    [
      'days that only some months have',
      { created_at: '2024-02-29T00:00:00.000Z', updated_at: '2026-03-31T23:59:59.999Z' },
    ],
    [
      'an approval before the creation, by a clock that is behind',
      { created_at: '2026-01-01T00:05:00Z', approved_at: '2026-01-01T00:00:00Z' },
    ],
    [
      'a review before the creation, as in stores that know only the last release',
      { created_at: '2026-06-01T00:00:00Z', reviews: [review] },
    ],
    ['a reason of a rejection', { status: 'rejected', rejection_reason: 'No.' }],
    ['no ratings', { average_rating: 0, rating_count: 0 }],
    ['a rating_count of 0 without an average', { rating_count: 0 }],
    ['an average of 0', { average_rating: 0 }],
    ['an average of one star', { average_rating: 1, reviews: [] }],
    ['an average of five stars', { average_rating: 5, rating_count: 3, reviews: [review] }],
    ['as many ratings as there can be', { average_rating: 4, rating_count: 1e12 }],
    ['a version with spaces within and around', { version: ' Varies with device ' }],
  ])('%s', ([, fields]) => {
    expect(fieldsOf({ ...app, ...fields })).toEqual([])
  })
})

describe('an app has problems with', () => {
  test.for<[what: string, fields: object, problems: string[]]>([
    ['an unknown field', { colour: 'red' }, ['/colour']],
    ['an unknown nested field', { category: { ...sky, hue: 1 } }, ['/category/hue']],
    ['a null name', { name: null }, ['/name']],
    [
      'each invalid field',
      {
        ...{ id: 0, slug: 'A B', status: 'new', total_downloads: -1, category: '' },
        ...{ version: '', developer_name: '', package_name: 'a.b' },
      },
      [
        ...['/id', '/package_name', '/slug', '/category', '/developer_name', '/status'],
        ...['(/version)', '(/total_downloads)'],
      ],
    ],
    [
      'invalid reviews',
      { reviews: [{ ...review, rating: 6 }, review, { ...review, id: 0, reviewer_name: '' }, {}] },
      [
        '(/reviews/0/rating)',
        '(/reviews/2/id)',
        '(/reviews/2/reviewer_name)',
        '(/reviews/3/reviewer_name)',
        '(/reviews/3/rating)',
        '(/reviews/3/comment)',
        '(/reviews/3/created_at)',
      ],
    ],
    [
      'a category without a slug',
      { category: { id: 0, name: 'Sky' } },
      ['/category/slug', '/category/id'],
    ],
    ['a category without a name', { category: { slug: 'sky' } }, ['/category/name']],
    ['a category that is not a slug', { category: 'The Sky' }, ['/category']],
    [
      'texts that are too long',
      { name: 'a'.repeat(101), slug: 'x'.repeat(1000), category: 'x'.repeat(1000) },
      ['/name', '/slug', '/category'],
    ],
    [
      'ids that are too great',
      {
        id: 2 ** 39,
        category: { id: 2 ** 52, ...sky },
        reviews: [{ ...review, id: 2 ** 52 }],
      },
      ['/id', '/category/id', '(/reviews/0/id)'],
    ],
    ['times in the future', withTimes(inMinutes(6)), timeFields],
    ['times that are none', withTimes('x'), timeFields],
    ['times on a leap second', withTimes('2016-12-31T23:59:60Z'), timeFields],
    [
      'days that do not exist',
      {
        created_at: '2026-02-29T00:00:00.000Z',
        updated_at: '2026-04-31T00:00:00.000Z',
        approved_at: '2026-13-01T00:00:00.000Z',
        deleted_at: '2026-01-01T24:00:00.000Z',
      },
      ['/deleted_at', '(/created_at)', '(/updated_at)', '(/approved_at)'],
    ],
    [
      'a time that is too long',
      { created_at: `2026-01-01T00:00:00.${'0'.repeat(40)}Z` },
      ['(/created_at)'],
    ],
    [
      'a time that finds its app and is none',
      { id: 7, slug: 'star', created_at: 'x' },
      ['/created_at'],
    ],
    ['a creation after the last change', exportedLate, ['(/updated_at)']],
    [
      'a creation after the approval, in a line that finds its app by it',
      { ...exportedLate, approved_at: '2026-01-01T00:00:00Z' },
      ['/created_at'],
    ],
    [
      'a creation after each other time, and another problem',
      {
        version: '',
        created_at: '2026-01-02T00:00:00Z',
        updated_at: '2026-01-02T00:00:00+01:00',
        approved_at: '2026-01-01T00:00:00Z',
        deleted_at: '2026-01-01T00:00:00Z',
      },
      ['(/version)', '(/created_at)', '(/created_at)'],
    ],
    [
      'an approval before the creation, by more than clocks differ',
      { created_at: '2026-01-01T00:05:00.001Z', approved_at: '2026-01-01T00:00:00Z' },
      ['(/created_at)'],
    ],
    [
      'control characters',
      {
        category: { slug: 'sky', name: 'The\nSky' },
        developer_name: 'A\nda',
        description: 'a\u0000',
        status: 'rejected',
        rejection_reason: 'No.\u001b[2J',
        reviews: [{ ...review, reviewer_name: 'B\no', comment: 'a\u0000' }],
      },
      [
        ...['/description', '/category/name', '/developer_name', '/rejection_reason'],
        ...['(/reviews/0/reviewer_name)', '(/reviews/0/comment)'],
      ],
    ],
    [
      'invisible names, and names with bidirectional controls',
      {
        name: '\u200b',
        version: '\u3164',
        category: { slug: 'sky', name: 'a\u202eb' },
        developer_name: '\u2060',
        reviews: [{ ...review, reviewer_name: '\u2066' }],
      },
      ['/name', '/category/name', '/developer_name', '(/version)', '(/reviews/0/reviewer_name)'],
    ],
    [
      'directional marks within names',
      { name: 'Whats\u200eApp', developer_name: '\u200e' },
      ['/name', '/developer_name'],
    ],
    ['a name with a tag', { name: 'Star\u{e0041}' }, ['/name']],
    ['a rejection without a reason', { status: 'rejected' }, ['/rejection_reason']],
    ['a reason without a rejection', { rejection_reason: 'No.' }, ['/rejection_reason']],
    ['a number of ratings without their average', { rating_count: 3 }, ['(/rating_count)']],
    ['an average without ratings', { average_rating: 4, rating_count: 0 }, ['(/rating_count)']],
    [
      'more ratings than there can be',
      { average_rating: 4, rating_count: 1e12 + 1 },
      ['(/rating_count)'],
    ],
    ['an average below zero', { average_rating: -1 }, ['(/average_rating)']],
    ['an average below one star', { average_rating: 0.99 }, ['(/average_rating)']],
    ['an average above five stars', { average_rating: 5.01 }, ['(/average_rating)']],
    ['a removal', { removed: { id: 7, created_at: '2026-01-01T00:00:00Z' } }, ['']],
  ])('%s', ([, fields, problems]) => {
    expect(fieldsOf({ ...app, ...fields })).toEqual(problems)
  })
})

const unknown = (count: number, name = 'field') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, index]))
const manyReviews = (reviews: unknown[]) => ({
  ...app,
  reviews: [...Array.from({ length: 150 }, () => review), ...reviews],
})

const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
const rated = { average_rating: 4, rating_count: 2 }

test.for<[what: string, fields: object, read: object]>([
  ['an address', { website_url: 'ftp://x', license: 'MIT' }, { license: 'MIT' }],
  [
    'each of the others',
    {
      source_code_url: 1,
      license: 'a\nb',
      short_description: 'x'.repeat(201),
      version: '',
      total_downloads: -1,
    },
    {},
  ],
  ['the average, with the number', { average_rating: 9, rating_count: 3 }, {}],
  ['the number, with the average', { average_rating: 3, rating_count: -1 }, {}],
  ['an average alone', { average_rating: 9 }, {}],
  ['reviews that are none', { reviews: 'many', ...rated }, rated],
  ['a review by itself', { reviews: [{ ...review, rating: 6 }, review] }, { reviews: [review] }],
  [
    'more reviews than are reported',
    manyReviews(new Array(200).fill(0)),
    { reviews: manyReviews([]).reviews },
  ],
  [
    'times that are none',
    { created_at: 'x', updated_at: time(3), approved_at: '3 May' },
    { updated_at: time(3) },
  ],
  [
    'a creation after the approval',
    { created_at: time(5), updated_at: time(3), approved_at: time(2) },
    { updated_at: time(3), approved_at: time(2) },
  ],
  [
    'a last change before the creation, which it becomes',
    { created_at: time(5), updated_at: time(3) },
    { created_at: time(5), updated_at: time(5) },
  ],
  [
    'nulls of fields that null does not clear',
    {
      version: null,
      slug: null,
      status: null,
      id: null,
      created_at: null,
      reviews: null,
      license: null,
    },
    { license: null },
  ],
])('a line is read without %s', ([, fields, read]) => {
  const line = readLine(JSON.stringify({ ...app, ...fields }))
  expect(line.app).toEqual({ ...app, ...read })
  // What is read is a valid line.
  expect(readLine(JSON.stringify(line.app))).toEqual({ app: line.app, leftOut: [] })
})

test('each field either refuses a line or is left out', () => {
  const {
    unreviewed_since: _,
    unreviewed_changes: __,
    removed: ___,
    ...fields
  } = lineSchema.properties
  const outcomes = Object.keys(fields).map((field) => [
    field,
    readLine(JSON.stringify({ ...app, [field]: { is: 'wrong' } })).outcome
      ? 'refuses'
      : 'is left out',
  ])
  const refusing = [
    'id',
    'name',
    'description',
    'package_name',
    'slug',
    'category',
    'developer_name',
    'status',
    'rejection_reason',
    'deleted_at',
  ]
  expect(Object.fromEntries(outcomes)).toEqual(
    Object.fromEntries(
      Object.keys(fields).map((field) => [
        field,
        refusing.includes(field) ? 'refuses' : 'is left out',
      ]),
    ),
  )
})

test.for<[what: string, line: object, problems: string[]]>([
  ['a category', { category: { ...sky, created_at: '2026-01-01T00:00:00.000Z' } }, []],
  ['a category by its slug', { category: 'sky' }, ['/name', '/description', '/developer_name']],
  [
    'a category with another field',
    { category: sky, id: 1 },
    ['/name', '/description', '/developer_name'],
  ],
  [
    'a category created in the future',
    { category: { ...sky, created_at: inMinutes(6) } },
    ['/category/created_at'],
  ],
  ['a removal', { removed: { id: 7, created_at: '2026-01-01T00:00:00.000Z' } }, []],
  ['a removal by id alone', { removed: { id: 7 } }, ['/removed/created_at']],
  [
    'a removal with a name',
    { removed: { id: 7, created_at: '2026-01-01T00:00:00Z', name: 'Star Map' } },
    ['/removed/name'],
  ],
  ['nothing', {}, ['/name', '/description', '/category', '/developer_name']],
])('a line of %s', ([, line, problems]) => {
  const read = readLine(JSON.stringify(line))
  expect(problemsOf(read).map(({ field }) => field)).toEqual(problems)
  if (problems.length === 0) expect(read).toEqual(line)
})

test.for<[what: string, line: object, problems: string[]]>([
  ['each field', { slug: 'a', total_downloads: 1, average_rating: 4, rating_count: 2 }, []],
  ['a package name', { package_name: 'org.example.a', total_downloads: 1 }, []],
  ['no app', { total_downloads: 1 }, ['/slug', '/package_name']],
  ['downloads below zero', { slug: 'a', total_downloads: -1 }, ['/total_downloads']],
  ['another field', { slug: 'a', name: 'Whale Song' }, ['/name']],
  ['ratings without stars', { slug: 'a', average_rating: 0, rating_count: 3 }, ['/rating_count']],
  ['an average without its ratings', { slug: 'a', average_rating: 4 }, ['/rating_count']],
  [
    'ratings without their average',
    { slug: 'a', rating_count: 4 },
    ['/average_rating', '/rating_count'],
  ],
])('counters with %s', ([, line, problems]) => {
  const found = problemsOf(readCounterLine(JSON.stringify(line), 1))
  expect(found.map(({ field }) => field).toSorted()).toEqual(problems.toSorted())
})

test.for(['', '{', 'null', '[]', '"app"', '1'])('%j is not a line', (text) => {
  expect(problemsOf(readLine(text))).toEqual([expect.objectContaining({ in: 'body', field: '' })])
})

test.for<[what: string, text: string, field: string, problem: RegExp]>([
  ['a repeated field', '{"name":"A","name":"B"}', '/name', /must be given once/],
  ['deeply nested JSON', `${'['.repeat(200_000)}${']'.repeat(200_000)}`, '', /nested too deeply/],
  ['JSON that ends', '{', '', /^is not valid JSON: it ends too early, at line 1, column 2$/],
  ['no JSON', `{"name":"Ast\u00e9r 🎈", name}`, '', /^is not valid JSON at line 1, column 20$/],
  [
    'half a surrogate pair',
    JSON.stringify({ ...app, name: 'A?' }).replace('?', '\\ud83d'),
    '/name',
    /U\+D83D/,
  ],
  [
    'a category that is not a slug',
    JSON.stringify({ ...app, category: 'The Sky' }),
    '/category',
    /^must be lower-case letters and digits/,
  ],
  ['an empty category', JSON.stringify({ ...app, category: '' }), '/category', /empty/],
])('%s is refused', ([, text, field, problem]) => {
  expect(problemsOf(readLine(text))).toEqual([
    expect.objectContaining({ field, message: expect.stringMatching(problem) }),
  ])
})

const timeForm = 'must be a time such as 2026-03-04T09:12:45Z or 2026-03-04T10:12:45+01:00'

test.for<[what: string, line: object, first: string, last: string]>([
  ['unknown fields before those of an app', { ...unknown(130_000), ...app }, '/field0', '/field99'],
  ['unknown fields and nothing else', unknown(130_000), '/field0', '/field99'],
  [
    'unknown fields after a wrong one',
    { ...app, name: '', ...unknown(130_000) },
    '/field0',
    '/field99',
  ],
  [
    'unknown fields of a category',
    { category: { ...unknown(130_000), slug: 'sky', name: 'Sky' } },
    '/category/field0',
    '/category/field99',
  ],
  [
    'unknown fields of an app to hide',
    { removed: unknown(130_000) },
    '/removed/field0',
    '/removed/field99',
  ],
  ['invalid reviews', manyReviews(new Array(400_000).fill(0)), '/reviews/150', '/reviews/249'],
])('a line with very many %s has its first 100 problems', ([, line, first, last]) => {
  const problems = problemsOf(readLine(JSON.stringify(line)))
  expect(problems.map(({ field }) => field)).toHaveLength(100)
  expect(problems[0]?.field).toBe(first)
  expect(problems.at(-1)?.field).toBe(last)
})

test('very many fields in a value that is refused or ignored change nothing', () => {
  expect(fieldsOf({ ...app, version: '', more: unknown(1000) })).toEqual(['/more', '(/version)'])
  expect(fieldsOf({ ...app, unreviewed_changes: unknown(1000) })).toEqual([])
  expect(fieldsOf({ ...app, name: unknown(1000) })).toEqual(['/name'])
  expect(fieldsOf({ ...app, reviews: [{ ...unknown(1000), ...review }] })).toEqual([])
})

test('reviews are checked to the last one', () => {
  const { app: read } = readLine(JSON.stringify(manyReviews([review])))
  expect(read?.reviews).toHaveLength(151)
  const wrong = [{ ...review, rating: 6 }, review, { ...review, comment: 1 }]
  expect(fieldsOf(manyReviews(wrong))).toEqual(['(/reviews/150/rating)', '(/reviews/152/comment)'])
})

test.for<[what: string, line: object, field: string, message: string]>([
  [
    'an id that leaves too few',
    { id: 2 ** 40 - 1 },
    '/id',
    'must be at most 549755813887, which leaves enough ids for new ones; leave it out to get a free one',
  ],
  [
    'an approval before the creation',
    { created_at: '2026-01-02T00:00:00Z', approved_at: '2026-01-01T00:00:00Z' },
    '/created_at',
    'must not be after approved_at',
  ],
  [
    'a number of ratings without their average',
    { rating_count: 3 },
    '/rating_count',
    'requires an average_rating from 1 to 5',
  ],
  [
    'a number of ratings with an average of 0',
    { average_rating: 0, rating_count: 3 },
    '/rating_count',
    'requires an average_rating from 1 to 5',
  ],
  [
    'a future time',
    { approved_at: '2999-01-01T00:00:00Z' },
    '/approved_at',
    'must not be in the future; got "2999-01-01T00:00:00Z"',
  ],
  [
    'a year with more than four digits',
    { created_at: '9999-12-31T23:59:59-12:00' },
    '/created_at',
    'must be a time that exists, in the years 0000 to 9999; got "9999-12-31T23:59:59-12:00"',
  ],
  ['a text', { created_at: 'yesterday' }, '/created_at', `${timeForm}; got "yesterday"`],
  ['milliseconds', { updated_at: 1767225600000 }, '/updated_at', `${timeForm}; got 1767225600000`],
  ['false', { created_at: false }, '/created_at', `${timeForm}; got false`],
  ['a number that may be null', { deleted_at: 0 }, '/deleted_at', `${timeForm}; got 0`],
  ['an object', { created_at: { day: 1 } }, '/created_at', timeForm],
  [
    'a day that does not exist',
    { approved_at: '2026-02-30T00:00:00Z' },
    '/approved_at',
    `${timeForm}; got "2026-02-30T00:00:00Z"`,
  ],
  [
    'the time of a review',
    { reviews: [review, { ...review, created_at: '3 May' }] },
    '/reviews/1/created_at',
    `${timeForm}; got "3 May"`,
  ],
  [
    'the time of a category',
    { category: { slug: 'sky', name: 'Sky', created_at: '' } },
    '/category/created_at',
    `${timeForm}; got ""`,
  ],
  [
    'a long text that would disturb a terminal',
    { created_at: `\u001B[2J\u202E${'long '.repeat(100_000)}` },
    '/created_at',
    `${timeForm}; got "\uFFFD[2J\uFFFD${'long '.repeat(10)}long…"`,
  ],
  [
    'an address',
    { website_url: 'ftp://example.org/' },
    '/website_url',
    'must begin with "https://" or "http://"; leave it out if there is no such address; got "ftp://example.org/"',
  ],
  [
    'a licence',
    { license: 'GPLv3\nMIT' },
    '/license',
    'must be on one line, without control characters; got "GPLv3 MIT"',
  ],
])('the message has the value, but the reason has not: %s', ([, fields, field, message]) => {
  const problems = problemsOf(readLine(JSON.stringify({ ...app, ...fields }))).map(
    ({ left_out: _, ...one }) => one,
  )
  const [reason, value] = message.split('; got ')
  expect(problems).toEqual([{ in: 'body', field, message, ...(value && { reason }) }])
})

test('texts are trimmed and times are in UTC', () => {
  const line = {
    ...app,
    name: ' Star Map\n',
    created_at: '2026-01-01T02:00:00.1+02:00',
    updated_at: '2026-01-04T02:00:00+02:00',
    approved_at: '2026-01-01T22:00:00-02:00',
    deleted_at: '2026-01-05T05:30:00+05:30',
    reviews: [
      { ...review, comment: ' Fine. ' },
      { ...review, reviewer_name: ' Di ', created_at: '2026-01-03T01:00:00.123456+01:00' },
      { ...review, created_at: '2026-01-04T00:00:00.1Z' },
    ],
  }
  expect(readLine(JSON.stringify(line)).app).toEqual({
    ...line,
    name: 'Star Map',
    created_at: '2026-01-01T00:00:00.100Z',
    updated_at: '2026-01-04T00:00:00.000Z',
    approved_at: '2026-01-02T00:00:00.000Z',
    deleted_at: '2026-01-05T00:00:00.000Z',
    reviews: [
      { ...review, comment: 'Fine.' },
      { ...review, reviewer_name: 'Di', created_at: '2026-01-03T00:00:00.123Z' },
      { ...review, created_at: '2026-01-04T00:00:00.100Z' },
    ],
  })
})

test('white space and directional marks around names are removed', () => {
  const line = {
    ...app,
    name: ' \u200e\u200fWhatsApp\u061c\n',
    version: '\u200e2',
    category: { slug: 'chat', name: 'Chat\u200f' },
    developer_name: '\u200eWhatsApp LLC',
    // Here they are allowed: the first strong character sets the direction of the text.
    description: ' \u200fمرحبا ',
    reviews: [{ ...review, reviewer_name: '\u200e Cy', comment: '\u200fنعم' }],
  }
  expect(readLine(JSON.stringify(line)).app).toEqual({
    ...line,
    name: 'WhatsApp',
    version: '2',
    category: { slug: 'chat', name: 'Chat' },
    developer_name: 'WhatsApp LLC',
    description: '\u200fمرحبا',
    reviews: [{ ...review, reviewer_name: 'Cy', comment: '\u200fنعم' }],
  })
})

test('the printed schema is complete', () => {
  const ajv = addFormats.default(new Ajv({ strict: false }))
  expect(JSON.stringify(lineSchema)).not.toContain('$ref')
  expect(JSON.stringify(lineSchema)).not.toMatch(/"(description|title)":""/)
  expect(lineSchema.properties.version.default).toBe('1.0.0')
  expect(lineSchema.properties.status.default).toBe('pending')
  expect(lineSchema.$schema).toBe('http://json-schema.org/draft-07/schema#')
  expect(ajv.validateSchema(lineSchema)).toBe(true)
  expect(ajv.validate(lineSchema, app)).toBe(true)
  expect(ajv.validate(lineSchema, { ...app, name: '' })).toBe(false)
})
