import { describe, expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { invalidRequest } from '../../src/http/invalid-request.ts'
import { ownerFields } from '../contract/owner-fields.ts'
import { share } from '../support/lifetime.ts'
import { type Service, startService } from '../support/service.ts'

const unknown =
  'is not a parameter; use one of category, limit, package_name, page, search, slug, sort'
const notSettable = `is not a field that can be set; use one of ${ownerFields.toSorted().join(', ')}`

/** A service that its tests leave as it was. */
let service: Service
share(async () => {
  service = await startService()
})

const sendBody = (body: string) =>
  service.request('PUT', `/apps/${service.world.apps.approved}`, {
    key: service.world.keys.ada,
    headers: { 'Content-Type': 'application/json' },
    body,
  })

const parameters = (count: number) =>
  Array.from({ length: count }, (_, index) => `p${index}=1`).join('&')

test.for<{ name: string; query: string; message: string }>([
  { name: 'an unknown parameter', query: 'limitt=3', message: `limitt ${unknown}.` },
  { name: 'another case', query: 'LIMIT=3', message: `LIMIT ${unknown}.` },
  { name: 'a parameter of another operation', query: 'status=a', message: `status ${unknown}.` },
  { name: 'a name of every object', query: '__proto__=1', message: `__proto__ ${unknown}.` },
  {
    name: 'no name',
    query: '=1',
    message: `The query has a parameter without a name${unknown.replace('is not a parameter', '')}.`,
  },
  { name: 'bytes that are no text', query: '%ff=1', message: `"\uFFFD" ${unknown}.` },
  {
    name: 'two problems',
    query: 'limitt=3&colour=red',
    message: `limitt ${unknown}. There is 1 more problem; see data.errors.`,
  },
  {
    name: '500 problems',
    query: parameters(500),
    message: `p0 ${unknown}. There are 499 more problems; see data.errors.`,
  },
  {
    name: '501 parameters',
    query: parameters(501),
    message: 'The query must have at most 500 parameters.',
  },
])('the message about a query with $name', async ({ query, message }) => {
  const reply = await service.get(`/apps?${query}`)
  expect([reply.status, reply.body.message]).toEqual([400, message])
  const head = await service.request('HEAD', `/apps?${query}`)
  expect([head.status, head.text]).toEqual([400, ''])
})

test.for<{ name: string; body: string; message: string }>([
  { name: 'one problem', body: '{"name":""}', message: 'name must not be empty.' },
  { name: 'an unknown field', body: '{"descripton":"A"}', message: `descripton ${notSettable}.` },
  {
    name: 'a field that only responses have',
    body: '{"status":"approved"}',
    message: 'The body must leave out the read-only field: status.',
  },
  {
    name: 'a name of every object',
    body: '{"__proto__":{"name":"A"}}',
    message: `__proto__ ${notSettable}.`,
  },
  { name: 'no name', body: '{"":1}', message: `"" ${notSettable}.` },
  { name: 'a pointer', body: '{"a/b~":1}', message: `"a~1b~0" ${notSettable}.` },
  { name: 'half of a character', body: '{"a\\ud83d":1}', message: `"a\uFFFD" ${notSettable}.` },
  { name: 'no object', body: '[1]', message: 'The body must be an object.' },
  { name: 'no field', body: '{}', message: 'The body must have at least one field.' },
  {
    name: 'two problems',
    body: '{"versio":"1","name":""}',
    message: `versio ${notSettable}. There is 1 more problem; see data.errors.`,
  },
])('the message about a body with $name', async ({ body, message }) => {
  const reply = await sendBody(body)
  expect([reply.status, reply.body.message]).toEqual([400, message])
})

describe('an app that was read and is sent back', () => {
  test.for<{ name: string; method: 'PUT' | 'POST'; from: 'app' | 'list' }>([
    { name: 'to update it', method: 'PUT', from: 'app' },
    { name: 'as a new one', method: 'POST', from: 'app' },
    { name: 'from the list of own apps', method: 'PUT', from: 'list' },
  ])('$name has one problem, which names the fields to leave out', async ({ method, from }) => {
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
    const { body } = await sendBody('{"id":1,"name":"","colour":"red","reviews":[{"id":"x"}]}')
    expect(body.data.errors).toEqual([
      { in: 'body', field: '', message: 'must leave out the read-only fields: id, reviews' },
      { in: 'body', field: '/colour', message: notSettable },
      { in: 'body', field: '/name', message: 'must not be empty' },
    ])
  })
})

test('an operation without parameters says so', async () => {
  const { status, body } = await service.get('/categories?limit=1')
  expect([status, body.message]).toEqual([
    400,
    'limit is not a parameter; this operation has none.',
  ])
})

test('a misspelled field is named before the missing one', async () => {
  const json = { name: 'A', Description: 'B', category_id: 1 }
  const reply = await service.request('POST', '/apps', { key: service.world.keys.ada, json })
  expect(reply.body.data.errors).toEqual([
    { in: 'body', field: '/Description', message: notSettable },
    { in: 'body', field: '/description', message: 'is required' },
  ])
})

test.for<{ place: Problem['in']; field: string; subject: string }>([
  { place: 'body', field: '', subject: 'The body' },
  { place: 'query', field: '', subject: 'The query' },
  { place: 'path', field: '', subject: 'The path' },
  { place: 'header', field: '', subject: 'The request' },
  { place: 'body', field: '/reviews/0/rating', subject: 'reviews/0/rating' },
  { place: 'header', field: 'If-None-Match', subject: 'If-None-Match' },
  // Names that could be taken for something else are quoted.
  { place: 'query', field: 'limit ', subject: '"limit "' },
  { place: 'query', field: 'a/b~', subject: '"a/b~"' },
  { place: 'query', field: 'It worked. This', subject: '"It worked. This"' },
  { place: 'query', field: 'a\r\nb\u001B[2J\0', subject: '"a b\uFFFD[2J\uFFFD"' },
  { place: 'query', field: 'a\u202Eb', subject: '"a\uFFFDb"' },
  // Long ones are shortened.
  { place: 'query', field: 'a'.repeat(60), subject: 'a'.repeat(60) },
  { place: 'query', field: 'a'.repeat(61), subject: `"${'a'.repeat(59)}…"` },
  { place: 'query', field: '🔥'.repeat(60), subject: `"${'🔥'.repeat(60)}"` },
  { place: 'body', field: `/a${'\u0301'.repeat(9000)}`, subject: '"…"' },
])('the message about $field in the $place begins with $subject', (row) => {
  const error = invalidRequest([{ in: row.place, field: row.field, message: 'is wrong' }])
  expect(error.message).toBe(`${row.subject} is wrong.`)
})

test('of many problems, the response has the first hundred, and the message says how many there are', () => {
  const problems = Array.from({ length: 2001 }, (_, index) => ({
    in: 'query' as const,
    field: `a${index}`,
    message: 'is wrong',
  }))
  const error = invalidRequest(problems)
  expect(error.message).toBe('a0 is wrong. There are 2,000 more problems; see data.errors.')
  expect(error.details.errors).toEqual(problems.slice(0, 100))
})
