import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { findHeaderProblems } from '../../src/http/common-steps.ts'
import { newApp } from '../contract/valid-requests.ts'
import { startService } from '../support/service.ts'

test.for<[accept: string, isAnswered: boolean]>([
  ['application/json', true],
  ['Application/JSON; Charset=UTF-8', true],
  ['application/*', true],
  ['*/*', true],
  ['text/html, application/json;q=0.1', true],
  ['text/html, */*;q=0.1', true],
  ['application/json;q=0.01', true],
  ['application/json;seq=0', true],
  ['text/html', false],
  ['application/xml, text/*', false],
  ['application/json;q=0', false],
  ['application/json; Q=0.000', false],
  ['application/json;q=0, */*', false],
  ['*/*, application/*;q=0.0', false],
  ['*/*;q=0', false],
  ['*/*;q=0, application/*', true],
  ['', true],
  [' ', true],
  [',', true],
  [' , ,', true],
  [', text/html', false],
])('Accept: "%s"', async ([accept, isAnswered]) => {
  const service = await startService()
  const { status } = await service.get('/apps', { headers: { Accept: accept } })
  expect(status).toBe(isAnswered ? 200 : 406)
})

test.for<[query: string, status: number]>([
  ['limit=1&sort=latest', 200],
  ['limit=1&limit=2', 400],
  ['search', 200],
  ['search=a?b', 200],
])('the query "%s"', async ([query, status]) => {
  const service = await startService()
  expect((await service.get(`/apps?${query}`)).status).toBe(status)
})

test.for<[names: string[], repeated: string[], httpVersion?: string]>([
  [[], ['Host']],
  [[], [], '1.0'],
  [['Host', 'Authorization'], []],
  [['host', 'authorization'], []],
  [['HOST', 'Accept', 'Host'], ['Host']],
  [['HOST', 'Host'], ['Host'], '1.0'],
  [['AUTHORIZATION', 'X-Host', 'Host', 'authorization'], ['Authorization']],
])(
  'of the headers %j these are missing or repeated: %j',
  ([names, repeated, httpVersion = '1.1']) => {
    // A value that equals a name.
    const rawHeaders = names.flatMap((name) => [name, 'Host', 'Accept', 'Authorization'])
    const problems = findHeaderProblems({ rawHeaders, headers: {}, httpVersion } as IncomingMessage)
    expect(problems.map(({ field }) => field)).toEqual(repeated)
  },
)

test.for<[body: unknown]>([[null], ['text'], [7], [[1]]])(
  'the body %j is refused as a whole',
  async ([body]) => {
    const service = await startService()
    const headers = { 'Content-Type': 'application/json' }
    const { ada } = service.world.keys
    const reply = await service.request('POST', '/apps', {
      key: ada,
      headers,
      body: JSON.stringify(body),
    })
    const error = { in: 'body', field: '', message: 'must be an object' }
    expect([reply.status, reply.body.data.errors]).toEqual([400, [error]])
  },
)

const many = (count: number, joint: string, one: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => one(index)).join(joint)

test.for<[what: string, query: string, problems: number]>([
  [
    'names a hundred of five hundred unknown parameters',
    many(500, '&', (index) => `p${index}`),
    100,
  ],
  ['reports five hundred and one as one problem', many(501, '&', (index) => `p${index}`), 1],
  ['reports 3,300 as one problem', many(3300, '&', (index) => index.toString(36)), 1],
])('%s', async ([, query, problems]) => {
  const service = await startService()
  const reply = await service.get(`/apps?${query}`)
  expect([reply.status, reply.body.data.code, reply.body.data.errors.length]).toEqual([
    400,
    'invalid_request',
    problems,
  ])
  if (problems > 1) return
  expect(reply.body.data.errors).toEqual([
    { in: 'query', field: '', message: 'must have at most 500 parameters' },
  ])
})

test.for<[what: string, body: string]>([
  ['26,000 unknown fields', `{${many(26_000, ',', (index) => `"${index.toString(36)}":1`)}}`],
  ['100,000 numbers for a name', `{"name":[${many(100_000, ',', () => '1')}]}`],
  ['200,000 brackets', '['.repeat(200_000)],
])('a body with %s is refused only for that', async ([, body]) => {
  const service = await startService()
  const { keys, apps } = service.world
  const headers = { 'Content-Type': 'application/json' }
  for (const [method, path] of [
    ['POST', '/apps'],
    ['PUT', `/apps/${apps.approved}`],
  ] as const) {
    const reply = await service.request(method, path, { key: keys.ada, headers, body })
    expect([reply.status, reply.body.data.errors]).toEqual([
      400,
      [{ in: 'body', field: '', message: 'must have at most 1000 JSON tokens' }],
    ])
  }
})

test.for<[type: string, status: number]>([
  ['application/json', 201],
  ['APPLICATION/JSON; CHARSET="UTF-8"', 201],
  ['application/json; charset=utf8', 201],
  ['application/json;charset="UTF8"', 201],
  ['application/json; charset=unicode-1-1-utf-8', 201],
  ['application/json; charset=utf8; charset=utf-8', 201],
  ['application/json; charset=utf8; charset=utf-16', 415],
  ['application/json; charset=ascii', 415],
  ['application/json; charset=', 415],
  ['application/json; charset=utf-8x', 415],
  ['application/json; charset=x-utf-8', 415],
  ['application/json; charset=utf-8; charset=latin1', 415],
  ['text/json', 415],
])('a body of the type %s', async ([type, status]) => {
  const service = await startService()
  const headers = { 'Content-Type': type }
  const body = JSON.stringify(newApp)
  const reply = await service.request('POST', '/apps', {
    key: service.world.keys.ada,
    headers,
    body,
  })
  expect([reply.status, reply.headers['accept-encoding']]).toEqual([status, undefined])
})

test.for<[coding: string, type: string, status: number, accepted?: string]>([
  ['identity', 'application/json', 201],
  ['', 'application/json', 201],
  ['Identity, identity', 'application/json', 201],
  ['gzip', 'application/json', 415, 'identity'],
  ['br', 'application/json', 415, 'identity'],
  ['identity, gzip', 'application/json', 415, 'identity'],
  ['*', 'application/json', 415, 'identity'],
  // The type is the cause.
  ['gzip', 'text/plain', 415],
  ['gzip', 'application/json; charset=utf-16', 415],
])(
  'a body with the Content-Encoding "%s" and the type %s',
  async ([coding, type, status, accepted]) => {
    const service = await startService()
    const headers = { 'Content-Type': type, 'Content-Encoding': coding }
    const body = JSON.stringify(newApp)
    for (const [method, path] of [
      ['POST', '/apps'],
      ['PUT', `/apps/${service.world.apps.approved}`],
    ] as const) {
      const key = service.world.keys.ada
      const reply = await service.request(method, path, { key, headers, body })
      const expected = status === 201 && method === 'PUT' ? 200 : status
      expect([reply.status, reply.headers['accept-encoding']]).toEqual([expected, accepted])
    }
  },
)

test('reports two hundred unknown fields, the first hundred by name', async () => {
  const service = await startService()
  const json = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, 1]))
  const reply = await service.request('POST', '/apps', { key: service.world.keys.ada, json })
  expect([reply.status, reply.body.message]).toEqual([
    400,
    'field0 is not a field that can be set; there are category_id, description, license, name, package_name, short_description, source_code_url, version, website_url. There are 202 more problems; see data.errors.',
  ])
  expect(reply.body.data.errors).toHaveLength(100)
})
