import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { lineSchema, type ParsedLine, readLine } from '../../src/import-export/line.ts'

const app = { name: 'Star Map', description: 'The sky.', category: 'tools', developer_name: 'Ada' }
const review = {
  reviewer_name: 'Cy',
  rating: 4,
  comment: '',
  created_at: '2026-01-01T00:00:00.000Z',
}

/** A time so many minutes from now. */
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()

const problemsOf = ({ outcome }: ParsedLine) => (Array.isArray(outcome) ? outcome : [])

test.for<[what: string, line: object, problems: string[]]>([
  ['the required fields', app, []],
  [
    'all fields',
    {
      ...app,
      id: 7,
      short_description: '',
      version: '2',
      package_name: 'org.example.a',
      slug: 'star',
      category: { id: 1, slug: 'sky', name: 'Sky' },
      status: 'approved',
      total_downloads: 5,
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T01:00:00+01:00',
      approved_at: '2026-01-02T00:00:00.123456Z',
      deleted_at: '2026-02-02T00:00:00Z',
      reviews: [{ ...review, id: 3 }],
    },
    [],
  ],
  [
    'a creation after the last change',
    { ...app, created_at: '2026-01-01T01:00:00Z', updated_at: '2026-01-01T01:00:00+01:00' },
    ['/created_at'],
  ],
  [
    'times by a clock that is ahead',
    {
      ...app,
      category: { slug: 'sky', name: 'Sky', created_at: inMinutes(4) },
      created_at: inMinutes(4),
      updated_at: inMinutes(4),
      approved_at: inMinutes(4),
      deleted_at: inMinutes(4),
      reviews: [{ ...review, created_at: inMinutes(4) }],
    },
    [],
  ],
  [
    'each time in the future',
    {
      ...app,
      category: { slug: 'sky', name: 'Sky', created_at: inMinutes(6) },
      created_at: inMinutes(6),
      updated_at: inMinutes(6),
      approved_at: inMinutes(6),
      deleted_at: inMinutes(6),
      reviews: [review, { ...review, created_at: inMinutes(6) }],
    },
    [
      '/category/created_at',
      '/created_at',
      '/updated_at',
      '/approved_at',
      '/deleted_at',
      '/reviews/1/created_at',
    ],
  ],
  [
    'a category created in the future',
    { category: { slug: 'sky', name: 'Sky', created_at: inMinutes(6) } },
    ['/category/created_at'],
  ],
  [
    'a creation after each other time, and another problem',
    {
      ...app,
      version: '',
      created_at: '2026-01-02T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
      approved_at: '2026-01-01T00:00:00Z',
      deleted_at: '2026-01-01T00:00:00Z',
    },
    ['/version', '/created_at', '/created_at', '/created_at'],
  ],
  [
    'an approval before the creation, by a clock that is behind',
    { ...app, created_at: '2026-01-01T00:05:00Z', approved_at: '2026-01-01T00:00:00Z' },
    [],
  ],
  [
    'an approval before the creation, by more than clocks differ',
    { ...app, created_at: '2026-01-01T00:05:00.001Z', approved_at: '2026-01-01T00:00:00Z' },
    ['/created_at'],
  ],
  [
    'a review before the creation, as in stores that know only the last release',
    { ...app, created_at: '2026-06-01T00:00:00Z', reviews: [review] },
    [],
  ],
  ['no field', {}, ['/name', '/description', '/category', '/developer_name']],
  [
    'the greatest ids',
    {
      ...app,
      id: 2 ** 39 - 1,
      category: { id: 2 ** 52 - 1, slug: 'sky', name: 'Sky' },
      reviews: [{ ...review, id: 2 ** 52 - 1 }],
    },
    [],
  ],
  [
    'ids that are too great',
    {
      ...app,
      id: 2 ** 39,
      category: { id: 2 ** 52, slug: 'sky', name: 'Sky' },
      reviews: [{ ...review, id: 2 ** 52 }],
    },
    ['/id', '/category/id', '/reviews/0/id'],
  ],
  ['an unknown field', { ...app, colour: 'red' }, ['/colour']],
  [
    'each invalid field',
    {
      ...app,
      id: 0,
      slug: 'A B',
      status: 'new',
      total_downloads: -1,
      category: '',
      version: '',
      developer_name: '',
    },
    ['/id', '/version', '/slug', '/category', '/developer_name', '/status', '/total_downloads'],
  ],
  [
    'each invalid time',
    {
      ...app,
      created_at: 'x',
      updated_at: 'x',
      approved_at: 'x',
      deleted_at: 'x',
      category: { id: 0, slug: 'sky', name: 'Sky', created_at: 'x' },
      reviews: [{ ...review, id: 0, created_at: 'x' }],
    },
    [
      '/category/id',
      '/category/created_at',
      '/created_at',
      '/updated_at',
      '/approved_at',
      '/deleted_at',
      '/reviews/0/id',
      '/reviews/0/created_at',
    ],
  ],
  [
    'each text that is too long',
    { ...app, slug: 'x'.repeat(1000), category: 'x'.repeat(1000) },
    ['/slug', '/category'],
  ],
  [
    'an unknown nested field',
    { ...app, category: { slug: 'sky', name: 'Sky', hue: 1 } },
    ['/category/hue'],
  ],
  [
    'a category with another field',
    { category: { slug: 'sky', name: 'Sky' }, id: 1 },
    ['/name', '/description', '/developer_name'],
  ],
  ['a category without a slug', { ...app, category: { name: 'Sky' } }, ['/category/slug']],
  [
    'a category with a time that does not exist',
    { category: { slug: 'sky', name: 'Sky', created_at: '2016-12-31T23:59:60Z' } },
    ['/category/created_at'],
  ],
  [
    'an app whose category has a time that does not exist',
    { ...app, category: { slug: 'sky', name: 'Sky', created_at: '2016-12-31T23:59:60Z' } },
    ['/category/created_at'],
  ],
  [
    'a review with a time that does not exist',
    { ...app, reviews: [review, { ...review, created_at: '2016-12-31T23:59:60Z' }] },
    ['/reviews/1/created_at'],
  ],
  [
    'a time that is too long',
    { ...app, created_at: `2026-01-01T00:00:00.${'0'.repeat(40)}Z` },
    ['/created_at'],
  ],
  [
    'days that do not exist',
    {
      ...app,
      created_at: '2026-02-29T00:00:00.000Z',
      updated_at: '2026-04-31T00:00:00.000Z',
      approved_at: '2026-13-01T00:00:00.000Z',
      deleted_at: '2026-01-01T24:00:00.000Z',
    },
    ['/created_at', '/updated_at', '/approved_at', '/deleted_at'],
  ],
  [
    'days that only some months have',
    { ...app, created_at: '2024-02-29T00:00:00.000Z', updated_at: '2026-03-31T23:59:59.999Z' },
    [],
  ],
  ['an average below zero', { ...app, average_rating: -1 }, ['/average_rating']],
  ['as many ratings as there can be', { ...app, average_rating: 4, rating_count: 1e12 }, []],
  ['a rating_count of 0 without an average', { ...app, rating_count: 0 }, []],
  ['a name that is too long for the API', { ...app, name: 'a'.repeat(101) }, ['/name']],
  ['a description with a control character', { ...app, description: 'a\u0000' }, ['/description']],
  [
    'a reason with a control character',
    { ...app, status: 'rejected', rejection_reason: 'No.\u001b[2J' },
    ['/rejection_reason'],
  ],
  [
    'names and a review with control characters',
    {
      ...app,
      category: { slug: 'sky', name: 'The\nSky' },
      developer_name: 'A\nda',
      reviews: [{ ...review, reviewer_name: 'B\no', comment: 'a\u0000' }],
    },
    ['/category/name', '/developer_name', '/reviews/0/reviewer_name', '/reviews/0/comment'],
  ],
  [
    'invisible names, and names with bidirectional controls',
    {
      ...app,
      name: '\u200b',
      version: '\u3164',
      category: { slug: 'sky', name: 'a\u202eb' },
      developer_name: '\u2060',
      reviews: [{ ...review, reviewer_name: '\u2066' }],
    },
    ['/name', '/version', '/category/name', '/developer_name', '/reviews/0/reviewer_name'],
  ],
  ['a name with a tag', { ...app, name: 'Star\u{e0041}' }, ['/name']],
  ['a version with spaces within', { ...app, version: ' Varies with device ' }, []],
  ['a package name of two parts', { ...app, package_name: 'a.b' }, ['/package_name']],
  ['a category without a name', { ...app, category: { slug: 'sky' } }, ['/category/name']],
  ['a category that is not a slug', { ...app, category: 'The Sky' }, ['/category']],
  ['a rejected app without a reason', { ...app, status: 'rejected' }, ['/rejection_reason']],
  ['a reason without a rejection', { ...app, rejection_reason: 'No.' }, ['/rejection_reason']],
  ['a rejected app with a reason', { ...app, status: 'rejected', rejection_reason: 'No.' }, []],
  ['a rating of an app without reviews', { ...app, average_rating: 4.5, reviews: [] }, []],
  [
    'ratings beside reviews',
    { ...app, average_rating: 4.5, rating_count: 3, reviews: [review] },
    [],
  ],
  [
    'nulls, as in an export',
    {
      ...app,
      package_name: null,
      short_description: null,
      rejection_reason: null,
      average_rating: null,
      rating_count: null,
      approved_at: null,
      deleted_at: null,
    },
    [],
  ],
  ['a null name', { ...app, name: null }, ['/name']],
  [
    'a category alone',
    { category: { slug: 'sky', name: 'Sky', created_at: '2026-01-01T00:00:00Z' } },
    [],
  ],
  [
    'a category alone by its slug',
    { category: 'sky' },
    ['/name', '/description', '/developer_name'],
  ],
  [
    'the mark of unreviewed changes that version 1 exported',
    {
      ...app,
      unreviewed_since: '2026-01-01T00:00:00Z',
      unreviewed_changes: { name: 'Star', category: 'sky' },
    },
    [],
  ],
  ['no ratings', { ...app, average_rating: 0, rating_count: 0 }, []],
  ['a number of ratings without their average', { ...app, rating_count: 3 }, ['/rating_count']],
  [
    'an average with a rating_count of 0',
    { ...app, average_rating: 4, rating_count: 0 },
    ['/rating_count'],
  ],
  [
    'more ratings than there can be',
    { ...app, average_rating: 4, rating_count: 1e12 + 1 },
    ['/rating_count'],
  ],
  ['a rating below one star', { ...app, average_rating: 0.99 }, ['/average_rating']],
  ['a rating of one star', { ...app, average_rating: 1 }, []],
  ['a rating of five stars', { ...app, average_rating: 5 }, []],
  ['a rating above five stars', { ...app, average_rating: 5.01 }, ['/average_rating']],
  ['an average of 0', { ...app, average_rating: 0 }, []],
  ['the first possible time', { ...app, created_at: '0000-01-01T00:00:00Z' }, []],
  [
    'a time that does not exist',
    { ...app, created_at: 'yesterday', approved_at: '2026-02-30T00:00:00Z' },
    ['/created_at', '/approved_at'],
  ],
  ['a leap second', { ...app, created_at: '2016-12-31T23:59:60Z' }, ['/created_at']],
  [
    'invalid reviews',
    { ...app, reviews: [{ ...review, rating: 6 }, review, { ...review, reviewer_name: '' }, {}] },
    [
      '/reviews/0/rating',
      '/reviews/2/reviewer_name',
      '/reviews/3/reviewer_name',
      '/reviews/3/rating',
      '/reviews/3/comment',
      '/reviews/3/created_at',
    ],
  ],
])('%s', ([, line, problems]) => {
  const found = problemsOf(readLine(JSON.stringify(line)))
  expect(found.map(({ field }) => field)).toEqual(problems)
  for (const { message } of found) expect(message).toMatch(/\w+ \w+/)
})

test.for<[what: string, line: object, problems: string[]]>([
  ['a category', { category: { slug: 'sky', name: 'Sky' } }, []],
  ['a removal', { removed: { id: 7, created_at: '2026-01-01T00:00:00.000Z' } }, []],
  ['a removal by id alone', { removed: { id: 7 } }, ['/removed/created_at']],
  [
    'a removal with a name',
    { removed: { id: 7, created_at: '2026-01-01T00:00:00Z', name: 'Star Map' } },
    ['/removed/name'],
  ],
  [
    'a removal in an app',
    { ...app, removed: { id: 7, created_at: '2026-01-01T00:00:00.000Z' } },
    [''],
  ],
])('a line may be %s', ([, line, problems]) => {
  const read = readLine(JSON.stringify(line))
  expect(problemsOf(read).map(({ field }) => field)).toEqual(problems)
  if (problems.length === 0) expect(read).toEqual(line)
})

test.for(['', '{', 'null', '[]', '"app"', '1'])('%j is not a line', (text) => {
  expect(problemsOf(readLine(text))).toEqual([expect.objectContaining({ in: 'body', field: '' })])
})

test.for<[what: string, text: string, field: string, problem: RegExp]>([
  ['a repeated field', '{"name":"A","name":"B"}', '/name', /must be given once/],
  ['deeply nested JSON', `${'['.repeat(200_000)}${']'.repeat(200_000)}`, '', /nested too deeply/],
  [
    'half a surrogate pair',
    JSON.stringify({ ...app, name: 'A?' }).replace('?', '\\ud83d'),
    '/name',
    /must not have the character U\+D83D/,
  ],
  [
    'a year with more than four digits',
    JSON.stringify({ ...app, created_at: '9999-12-31T23:59:59-12:00' }),
    '/created_at',
    /years 0000 to 9999/,
  ],
  ['JSON that ends', '{', '', /^is not valid JSON: it ends too early, at line 1, column 2$/],
  ['no JSON', `{"name":"Ast\u00e9r 🎈", name}`, '', /^is not valid JSON at line 1, column 20$/],
  [
    'an id that leaves too few',
    JSON.stringify({ ...app, id: 2 ** 40 - 1 }),
    '/id',
    /^must be at most 549755813887, which leaves enough ids for new ones; leave it out to get a free one$/,
  ],
  [
    'a future time',
    JSON.stringify({ ...app, approved_at: inMinutes(6) }),
    '/approved_at',
    /^must not be in the future; got "2\d{3}-/,
  ],
  [
    'an approval before the creation',
    JSON.stringify({
      ...app,
      created_at: '2026-01-02T00:00:00Z',
      approved_at: '2026-01-01T00:00:00Z',
    }),
    '/created_at',
    /^must not be after approved_at$/,
  ],
  [
    'a number as a time',
    JSON.stringify({ ...app, created_at: 1767225600 }),
    '/created_at',
    /^must be a time such as 2026-/,
  ],
  [
    'a number as a time that may be null',
    JSON.stringify({ ...app, deleted_at: 0 }),
    '/deleted_at',
    /^must be a time such as 2026-/,
  ],
  [
    'a number of ratings without their average',
    JSON.stringify({ ...app, rating_count: 3 }),
    '/rating_count',
    /^requires an average_rating from 1 to 5$/,
  ],
  [
    'a number of ratings with an average of 0',
    JSON.stringify({ ...app, average_rating: 0, rating_count: 3 }),
    '/rating_count',
    /^requires an average_rating from 1 to 5$/,
  ],
  [
    'a time that does not exist',
    JSON.stringify({ ...app, created_at: 'yesterday' }),
    '/created_at',
    /^must be a time such as 2026-/,
  ],
  [
    'a category that is not a slug',
    JSON.stringify({ ...app, category: 'The Sky' }),
    '/category',
    /^must be lower-case letters and digits/,
  ],
  [
    'an empty category',
    JSON.stringify({ ...app, category: '' }),
    '/category',
    /^must not be empty$/,
  ],
])('%s is refused', ([, text, field, problem]) => {
  expect(problemsOf(readLine(text))).toEqual([
    expect.objectContaining({ field, message: expect.stringMatching(problem) }),
  ])
})

const timeForm = 'must be a time such as 2026-03-04T09:12:45Z or 2026-03-04T10:12:45+01:00'

test.for<[what: string, line: object, field: string, message: string]>([
  ['a text', { created_at: 'yesterday' }, '/created_at', `${timeForm}; got "yesterday"`],
  ['milliseconds', { updated_at: 1767225600000 }, '/updated_at', `${timeForm}; got 1767225600000`],
  ['null', { created_at: null }, '/created_at', `${timeForm}; got null`],
  ['an object', { created_at: { day: 1 } }, '/created_at', timeForm],
  [
    'a day that does not exist',
    { approved_at: '2026-02-30T00:00:00Z' },
    '/approved_at',
    `${timeForm}; got "2026-02-30T00:00:00Z"`,
  ],
  [
    'a second that does not exist',
    { approved_at: '2026-02-03T23:59:60Z' },
    '/approved_at',
    'must be a time that exists, in the years 0000 to 9999; got "2026-02-03T23:59:60Z"',
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
])('a problem has the value, but no reason has it: %s', ([, fields, field, message]) => {
  const problems = problemsOf(readLine(JSON.stringify({ ...app, ...fields })))
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
  const inside = { ...app, name: 'Whats\u200eApp', developer_name: '\u200e' }
  expect(problemsOf(readLine(JSON.stringify(inside))).map(({ field }) => field)).toEqual([
    '/name',
    '/developer_name',
  ])
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
