import { expect, test } from 'vitest'
import type { RequestOptions } from '../support/check.ts'
import { share } from '../support/lifetime.ts'
import { type Service, startService } from '../support/service.ts'
import { emptyFields, noFields } from '../support/whole-app.ts'
import { ownerFields } from './owner-fields.ts'

const noParameter =
  'is not a parameter; use one of category, limit, package_name, page, search, slug, sort'
const noField = `is not a field that can be set; use one of ${ownerFields.toSorted().join(', ')}`

/** For all tests, since each request is refused. */
let service: Service
share(async () => {
  service = await startService()
})

/** The place and message of each problem of an invalid request. */
async function problemsOf(method: string, path: string, options: RequestOptions) {
  const key = method === 'GET' ? {} : { key: service.world.keys.ada }
  const { status, body } = await service.request(method, path, { ...options, ...key })
  expect([status, body.data.code]).toEqual([400, 'invalid_request'])
  const problems: { in: string; field: string; message: string }[] = body.data.errors
  return {
    message: body.message,
    problems: Object.fromEntries(
      problems.map(({ in: place, field, message }) => [`${place} ${field}`, message]),
    ),
  }
}

test.for<
  [
    what: string,
    method: string,
    path: string,
    options: RequestOptions,
    message: string,
    problems: Record<string, string>,
  ]
>([
  [
    'parameters',
    'GET',
    `/apps?page=0&limit=101&sort=best&search=${'x'.repeat(101)}&category=a&category=b&colour=red`,
    {},
    `colour ${noParameter}. There are 5 more problems; see data.errors.`,
    {
      'query page': 'must be at least 1',
      'query limit': 'must be at most 100',
      'query sort': 'must be one of latest, popular, rating',
      'query search': 'must have at most 100 characters',
      'query category': 'must be given once',
      'query colour': noParameter,
    },
  ],
  [
    'numbers that are parameters',
    'GET',
    '/apps?page=1e1&limit=2&limit=3',
    {},
    'page must be a whole number in decimal digits. There is 1 more problem; see data.errors.',
    {
      'query page': 'must be a whole number in decimal digits',
      'query limit': 'must be given once',
    },
  ],
  [
    'a path and a header',
    'GET',
    '/apps/0',
    { headers: { 'If-None-Match': 'x'.repeat(1001) } },
    'id must be at least 1. There is 1 more problem; see data.errors.',
    {
      'path id': 'must be at least 1',
      'header If-None-Match': 'must have at most 1000 characters',
    },
  ],
  [
    'fields that are missing',
    'POST',
    '/apps',
    { json: {} },
    'name is required. There are 2 more problems; see data.errors.',
    {
      'body /name': 'is required',
      'body /description': 'is required',
      'body /category_id': 'is required',
    },
  ],
  [
    'fields',
    'POST',
    '/apps',
    {
      json: {
        name: '',
        description: 'x'.repeat(20_001),
        short_description: 'a\u0000',
        version: 1,
        package_name: 'stars',
        category_id: 1.5,
      },
    },
    'name must not be empty. There are 5 more problems; see data.errors.',
    {
      'body /name': 'must not be empty',
      'body /description': 'must have at most 20000 characters',
      'body /short_description': expect.stringContaining('U+0000 (control character)'),
      'body /version': 'must be a string',
      'body /package_name':
        'must have at least three parts separated by dots, each a letter followed by letters, digits, "_" or "-"',
      'body /category_id': 'must be an integer',
    },
  ],
  [
    'unknown fields',
    'POST',
    '/apps',
    {
      json: {
        name: 'A',
        description: 'B',
        category_id: 0,
        version: '\ud83d',
        colour: 'red',
        'a/b~': 1,
      },
    },
    `colour ${noField}. There are 3 more problems; see data.errors.`,
    {
      'body /category_id': 'must be at least 1',
      'body /version': expect.stringContaining('U+D83D (half of a surrogate pair)'),
      'body /colour': noField,
      'body /a~1b~0': noField,
    },
  ],
  [
    'texts of spaces, and empty ones',
    'POST',
    '/apps',
    { json: { name: '   ', description: '', category_id: 1, version: '', short_description: ' ' } },
    'name must have a visible character. There are 2 more problems; see data.errors.',
    {
      'body /name': 'must have a visible character',
      'body /description': 'must not be empty',
      'body /version': 'must not be empty',
    },
  ],
  [
    'texts with line breaks, tabs and spaces around them',
    'POST',
    '/apps',
    {
      json: {
        name: 'A\nB',
        description: 'A',
        category_id: 1,
        version: ' 1',
        short_description: 'A\tB',
      },
    },
    'name must be on one line, without control characters. There are 2 more problems; see data.errors.',
    {
      'body /name': 'must be on one line, without control characters',
      'body /version': 'must not begin or end with white space',
      'body /short_description': 'must be on one line, without control characters',
    },
  ],
  [
    'null for texts, of which some can be empty',
    'PUT',
    '/apps/1',
    { json: { name: null, version: null, ...noFields } },
    `name must be a string. There are ${Object.keys(noFields).length + 1} more problems; see data.errors.`,
    {
      'body /name': 'must be a string',
      'body /version': 'must be a string',
      ...Object.fromEntries(
        Object.entries(emptyFields).map(([field, empty]) => [
          `body /${field}`,
          empty === ''
            ? 'must be a string; send "" to remove it'
            : 'must be an array; send [] to remove them',
        ]),
      ),
    },
  ],
  [
    'no change',
    'PUT',
    '/apps/1',
    { json: {} },
    'The body must have at least one field.',
    { 'body ': 'must have at least one field' },
  ],
  ['no body', 'PUT', '/apps/1', {}, 'The body is required.', { 'body ': 'is required' }],
])('%s: each problem has a message', async ([, method, path, options, message, problems]) => {
  const reply = await problemsOf(method, path, options)
  expect(reply).toEqual({ message, problems })
})

const emoji = '👩‍🔬'

test.for<[body: string | Buffer, message: string]>([
  ['{"name": "Star', 'The body is not valid JSON: it ends too early, at line 1, column 15.'],
  ['{"name": "Star",\n "version": 1.0.0}', 'The body is not valid JSON at line 2, column 16.'],
  [
    `{"name": "${emoji}",\r\n\r\n"version": "${emoji}",}`,
    'The body is not valid JSON at line 3, column 18.',
  ],
  ['{"name":"A","name":"B"}', 'The body repeats the field name at line 1, column 13.'],
  [
    `{"${emoji}":1,\n  "${emoji}": 2}`,
    `The body repeats the field "${emoji}" at line 2, column 3.`,
  ],
  [Buffer.from('22ff22', 'hex'), 'The body is not valid UTF-8 at line 1, column 2.'],
  // U+FFFD itself is valid.
  [Buffer.from('7b0a22efbfbd22efbf22', 'hex'), 'The body is not valid UTF-8 at line 2, column 4.'],
])('a body that cannot be read: %s', async ([body, message]) => {
  const headers = { 'Content-Type': 'application/json' }
  const reply = await service.request('POST', '/apps', {
    key: service.world.keys.ada,
    headers,
    body,
  })
  expect([reply.status, reply.body.data.code, reply.body.message]).toEqual([
    400,
    'malformed_json',
    message,
  ])
})

test('lists the first hundred problems, and counts all', async () => {
  const names = Array.from({ length: 101 }, (_, index) => `x${index}=1`)
  for (const count of [100, 101]) {
    const { message, problems } = await problemsOf(
      'GET',
      `/apps?${names.slice(0, count).join('&')}`,
      {},
    )
    expect([message, Object.keys(problems).length]).toEqual([
      `x0 ${noParameter}. There are ${count - 1} more problems; see data.errors.`,
      100,
    ])
  }
})
