import { describe, expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { invalidRequest } from '../../src/http/invalid-request.ts'
import { startService } from '../support/service.ts'

const unknown =
  'is not a parameter; there are category, limit, package_name, page, search, slug, sort'
const settable =
  'category_id, description, license, name, package_name, short_description, source_code_url, version, website_url'
const notSettable = `is not a field that can be set; there are ${settable}`

test.for<[what: string, query: string, message: string]>([
  ['a letter too many', 'limitt=3', `limitt ${unknown}.`],
  ['a letter too few', 'catgory=games', `catgory ${unknown}.`],
  ['two letters swapped', 'serach=tide', `serach ${unknown}.`],
  ['another case', 'LIMIT=3', `LIMIT ${unknown}.`],
  ['another spelling', 'packageName=a', `packageName ${unknown}.`],
  ['a hyphen', 'package-name=a', `package-name ${unknown}.`],
  ['a space at the end', 'limit%20=3', `"limit " ${unknown}.`],
  ['two errors', 'serchh=tide', `serchh ${unknown}.`],
  ['a name far from all', 'colour=red', `colour ${unknown}.`],
  ['a field of another operation', 'descriptio=x', `descriptio ${unknown}.`],
  ['a parameter of another operation', 'statu=pending', `statu ${unknown}.`],
  ['a name of every object', '__proto__=1', `__proto__ ${unknown}.`],
  ['another one', 'constructor=1', `constructor ${unknown}.`],
  [
    'no name',
    '=1',
    `The query has a parameter without a name${unknown.replace('is not a parameter', '')}.`,
  ],
  ['a pointer', 'a%2Fb~=1', `"a/b~" ${unknown}.`],
  ['a sentence', 'It%20worked.%20This=1', `"It worked. This" ${unknown}.`],
  ['line breaks and controls', 'a%0d%0ab%1b[2J%00=1', `"a b\uFFFD[2J\uFFFD" ${unknown}.`],
  ['a bidirectional override', 'a%e2%80%aeb=1', `"a\uFFFDb" ${unknown}.`],
  ['bytes that are no text', '%ff=1', `"\uFFFD" ${unknown}.`],
  ['a long name', `${'n'.repeat(9000)}=1`, `"${'n'.repeat(59)}…" ${unknown}.`],
  [
    'two problems',
    'limitt=3&colour=red',
    `limitt ${unknown}. There is 1 more problem; see data.errors.`,
  ],
  [
    'three problems',
    'page=0&colour=red&shape=round',
    `colour ${unknown}. There are 2 more problems; see data.errors.`,
  ],
  [
    '500 problems',
    Array.from({ length: 500 }, (_, index) => `limit${index}=1`).join('&'),
    `limit0 ${unknown}. There are 499 more problems; see data.errors.`,
  ],
])('the message about a query with %s', async ([, query, message]) => {
  const service = await startService()
  const reply = await service.get(`/apps?${query}`)
  expect([reply.status, reply.body.message]).toEqual([400, message])
  const head = await service.request('HEAD', `/apps?${query}`)
  expect([head.status, head.text]).toEqual([400, ''])
})

test.for<[what: string, body: string, message: string]>([
  ['one problem', '{"name":""}', 'name must not be empty.'],
  ['a misspelled field', '{"descripton":"A"}', `descripton ${notSettable}.`],
  ['another spelling', '{"categoryId":1}', `categoryId ${notSettable}.`],
  ['a parameter of another operation', '{"limits":1}', `limits ${notSettable}.`],
  [
    'a field that only responses have',
    '{"status":"approved"}',
    'The body must leave out the read-only field: status.',
  ],
  ['a name of every object', '{"__proto__":{"name":"A"}}', `__proto__ ${notSettable}.`],
  ['no name', '{"":1}', `"" ${notSettable}.`],
  ['a space for a name', '{" ":1}', `" " ${notSettable}.`],
  ['a pointer', '{"a/b~":1}', `"a~1b~0" ${notSettable}.`],
  ['half of a character', '{"a\\ud83d":1}', `"a\uFFFD" ${notSettable}.`],
  ['right to left', '{"\\u05d0\\u202eb":1}', `"\u05d0\uFFFDb" ${notSettable}.`],
  ['64 KiB', `{"${'x'.repeat(65_536)}":1}`, `"${'x'.repeat(59)}…" ${notSettable}.`],
  ['many marks', `{"a${'\u0301'.repeat(9000)}":1}`, `"…" ${notSettable}.`],
  ['no object', '[1]', 'The body must be an object.'],
  ['no field', '{}', 'The body must have at least one field.'],
  [
    'too much of everything',
    `[${'1,'.repeat(2000)}1]`,
    'The body must have at most 1000 JSON tokens.',
  ],
  [
    'two problems',
    '{"versio":"1","name":""}',
    `versio ${notSettable}. There is 1 more problem; see data.errors.`,
  ],
])('the message about a body with %s', async ([, body, message]) => {
  const service = await startService()
  const { keys, apps } = service.world
  const headers = { 'Content-Type': 'application/json' }
  const reply = await service.request('PUT', `/apps/${apps.approved}`, {
    key: keys.ada,
    headers,
    body,
  })
  expect([reply.status, reply.body.message]).toEqual([400, message])
})

describe('an app that was read and is sent back', () => {
  test.for<[what: string, method: 'PUT' | 'POST', from: 'app' | 'list']>([
    ['to update it', 'PUT', 'app'],
    ['as a new one', 'POST', 'app'],
    ['from the list of own apps', 'PUT', 'list'],
  ])('%s has one problem, which names the fields to leave out', async ([, method, from]) => {
    const service = await startService()
    const { apps } = service.world
    const key = service.world.keys.ada
    for (const id of [apps.approved, apps.pending, apps.rejected]) {
      const { body } = await service.get(from === 'app' ? `/apps/${id}` : '/developer/apps', {
        key,
      })
      const list: { id: number }[] = body.data.apps ?? [body.data.app]
      // A package name belongs to one app.
      const { package_name: _, ...app }: Record<string, unknown> = {
        ...list.find((one) => one.id === id),
        name: 'Star Map',
        category_id: service.world.categories.tools,
      }
      const send = (json: object) =>
        service.request(method, method === 'PUT' ? `/apps/${id}` : '/apps', { key, json })
      const refused = await send(app)
      const { errors } = refused.body.data
      const message = expect.stringMatching(/^must leave out the read-only fields: id, /)
      expect([refused.status, errors]).toEqual([400, [{ in: 'body', field: '', message }]])
      expect(refused.body.message).toBe(`The body ${errors[0].message}.`)
      const names: string[] = errors[0].message.split(': ')[1].split(', ')
      for (const name of names) delete app[name]
      expect((await send(app)).status).toBe(method === 'PUT' ? 200 : 201)
    }
  })

  test('is not the only problem', async () => {
    const service = await startService()
    const { keys, apps } = service.world
    const json = { id: 1, name: '', colour: 'red', reviews: [{ id: 'x' }] }
    const path = `/apps/${apps.approved}`
    const reply = await service.request('PUT', path, { key: keys.ada, json })
    expect([reply.body.message, reply.body.data.errors]).toEqual([
      'The body must leave out the read-only fields: id, reviews. There are 2 more problems; see data.errors.',
      [
        { in: 'body', field: '', message: 'must leave out the read-only fields: id, reviews' },
        { in: 'body', field: '/colour', message: notSettable },
        { in: 'body', field: '/name', message: 'must not be empty' },
      ],
    ])
  })
})

test('an operation without parameters says so', async () => {
  const service = await startService()
  const { status, body } = await service.get('/categories?limit=1')
  expect([status, body.message]).toEqual([400, 'limit is not a parameter; there are none.'])
})

test('a misspelled field is named before the missing one', async () => {
  const service = await startService()
  const json = { name: 'A', Description: 'B', category_id: 1 }
  const reply = await service.request('POST', '/apps', { key: service.world.keys.ada, json })
  expect(reply.body.data.errors).toEqual([
    { in: 'body', field: '/Description', message: notSettable },
    { in: 'body', field: '/description', message: 'is required' },
  ])
})

const problem = (place: Problem['in'], field: string): Problem => ({
  in: place,
  field,
  message: 'is wrong',
})

test.for<[problems: Problem[], message: string]>([
  [[problem('body', '/reviews/0/rating')], 'reviews/0/rating is wrong.'],
  [[problem('body', '')], 'The body is wrong.'],
  [[problem('query', '')], 'The query is wrong.'],
  [[problem('path', '')], 'The path is wrong.'],
  [[problem('header', '')], 'The request is wrong.'],
  [[problem('header', 'If-None-Match')], 'If-None-Match is wrong.'],
  [[problem('query', 'a'.repeat(60))], `${'a'.repeat(60)} is wrong.`],
  [[problem('query', 'a'.repeat(61))], `"${'a'.repeat(59)}…" is wrong.`],
  [[problem('query', '🔥'.repeat(60))], `"${'🔥'.repeat(60)}" is wrong.`],
  [
    Array.from({ length: 2001 }, () => problem('query', 'a')),
    'a is wrong. There are 2,000 more problems; see data.errors.',
  ],
])('the problems %j', ([problems, message]) => {
  const error = invalidRequest(problems)
  expect([error.code, error.message]).toEqual(['invalid_request', message])
  expect(error.details.errors).toEqual(problems.slice(0, 100))
})
