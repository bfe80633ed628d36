import { expect, test } from 'vitest'
import type { RequestOptions } from './support/check.ts'
import { type Service, startService } from './support/service.ts'

/** Where each problem of a refused request is, and what is said of it. */
async function told(service: Service, method: string, path: string, options: RequestOptions) {
  const key = method === 'GET' ? {} : { key: service.world.keys.ada }
  const { status, body } = await service.request(method, path, { ...options, ...key })
  expect([status, body.data.code]).toEqual([400, 'invalid_request'])
  const problems: { in: string; field: string; message: string }[] = body.data.errors
  return {
    message: body.message,
    problems: Object.fromEntries(problems.map(({ in: place, field, message }) => [`${place} ${field}`, message])),
  }
}

test.for<
  [what: string, method: string, path: string, options: RequestOptions, count: string, problems: Record<string, string>]
>([
  [
    'parameters',
    'GET',
    `/apps?page=0&limit=101&sort=best&search=${'x'.repeat(101)}&category=a&category=b&colour=red`,
    {},
    '6 problems',
    {
      'query page': 'must be at least 1',
      'query limit': 'must be at most 100',
      'query sort': 'must be one of latest, popular, rating',
      'query search': 'must have at most 100 characters',
      'query category': 'must be given once',
      'query colour': 'is not a known parameter',
    },
  ],
  [
    'numbers that are parameters',
    'GET',
    '/apps?page=1e1&limit=2&limit=3',
    {},
    '2 problems',
    { 'query page': 'must be a whole number in plain decimal', 'query limit': 'must be given once' },
  ],
  [
    'a path and a header',
    'GET',
    '/apps/0',
    { headers: { 'If-None-Match': 'x'.repeat(1001) } },
    '2 problems',
    { 'path id': 'must be at least 1', 'header If-None-Match': 'must have at most 1000 characters' },
  ],
  [
    'fields that are missing',
    'POST',
    '/apps',
    { json: {} },
    '3 problems',
    { 'body /name': 'is required', 'body /description': 'is required', 'body /category_id': 'is required' },
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
    '6 problems',
    {
      'body /name': 'must not be empty',
      'body /description': 'must have at most 20000 characters',
      'body /short_description': 'must be on one line, without control characters or bidirectional controls',
      'body /version': 'must be a string',
      'body /package_name':
        'must have at least three parts with dots between, each a letter and then letters, digits, "_" or "-"',
      'body /category_id': 'must be an integer',
    },
  ],
  [
    'fields of no schema',
    'POST',
    '/apps',
    { json: { name: 'A', description: 'B', category_id: 0, version: '\ud83d', colour: 'red', 'a/b~': 1 } },
    '4 problems',
    {
      'body /category_id': 'must be at least 1',
      'body /version': 'must be well-formed Unicode',
      'body /colour': 'is not a field that can be set',
      'body /a~1b~0': 'is not a field that can be set',
    },
  ],
  ['no change', 'PUT', '/apps/1', { json: {} }, '1 problem', { 'body ': 'must have at least one field' }],
  ['no body', 'PUT', '/apps/1', {}, '1 problem', { 'body ': 'is required' }],
])('%s: each problem is named in words', async ([, method, path, options, count, problems]) => {
  const reply = await told(await startService(), method, path, options)
  expect(reply).toEqual({ message: `The request has ${count}; see data.errors.`, problems })
})

test.for([
  ['{"name": "Star', 'The body is not valid JSON.'],
  ['{"name":"A","name":"B"}', 'The body has a field twice; see data.errors.'],
  [Buffer.from('22ff22', 'hex'), 'The body is not valid UTF-8.'],
] as const)('a body that cannot be read: %s', async ([body, message]) => {
  const service = await startService()
  const headers = { 'Content-Type': 'application/json' }
  const reply = await service.request('POST', '/apps', { key: service.world.keys.ada, headers, body })
  expect([reply.status, reply.body.data.code, reply.body.message]).toEqual([400, 'malformed_json', message])
})

test('of more than a hundred problems a hundred are named, and all are counted', async () => {
  const names = Array.from({ length: 101 }, (_, index) => `x${index}=1`)
  const service = await startService()
  for (const count of [100, 101]) {
    const { message, problems } = await told(service, 'GET', `/apps?${names.slice(0, count).join('&')}`, {})
    expect([message, Object.keys(problems).length]).toEqual([
      `The request has ${count} problems; see data.errors.`,
      100,
    ])
  }
})
