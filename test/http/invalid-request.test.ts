import { expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { invalidRequest } from '../../src/http/invalid-request.ts'
import { nearestName } from '../../src/http/nearest-name.ts'
import { startService } from '../support/service.ts'

const unknown = 'is not a known parameter'
const notSettable = 'is not a field that can be set'

test.for<[what: string, query: string, message: string]>([
  ['a letter too many', 'limitt=3', `limitt ${unknown}; did you mean limit?`],
  ['a letter too few', 'catgory=games', `catgory ${unknown}; did you mean category?`],
  ['two letters swapped', 'serach=tide', `serach ${unknown}; did you mean search?`],
  ['another case', 'LIMIT=3', `LIMIT ${unknown}; did you mean limit?`],
  ['another spelling', 'packageName=a', `packageName ${unknown}; did you mean package_name?`],
  ['a hyphen', 'package-name=a', `package-name ${unknown}; did you mean package_name?`],
  ['a space at the end', 'limit%20=3', `"limit " ${unknown}; did you mean limit?`],
  ['two errors', 'serchh=tide', `serchh ${unknown}.`],
  ['a name far from all', 'colour=red', `colour ${unknown}.`],
  ['a field of another operation', 'descriptio=x', `descriptio ${unknown}.`],
  ['a parameter of another operation', 'statu=pending', `statu ${unknown}.`],
  ['a name of every object', '__proto__=1', `__proto__ ${unknown}.`],
  ['another one', 'constructor=1', `constructor ${unknown}.`],
  ['no name', '=1', 'The query has a parameter without a name.'],
  ['a pointer', 'a%2Fb~=1', `"a/b~" ${unknown}.`],
  ['a sentence', 'It%20worked.%20This=1', `"It worked. This" ${unknown}.`],
  ['line breaks and controls', 'a%0d%0ab%1b[2J%00=1', `"a b\uFFFD[2J\uFFFD" ${unknown}.`],
  ['a bidirectional override', 'a%e2%80%aeb=1', `"a\uFFFDb" ${unknown}.`],
  ['bytes that are no text', '%ff=1', `"\uFFFD" ${unknown}.`],
  ['a long name', `${'n'.repeat(9000)}=1`, `"${'n'.repeat(59)}…" ${unknown}.`],
  [
    'two problems',
    'limitt=3&colour=red',
    `limitt ${unknown}; did you mean limit? There is 1 more problem; see data.errors.`,
  ],
  [
    'three problems',
    'page=0&colour=red&shape=round',
    `colour ${unknown}. There are 2 more problems; see data.errors.`,
  ],
  [
    '500 problems',
    Array.from({ length: 500 }, (_, index) => `limit${index}=1`).join('&'),
    `limit0 ${unknown}; did you mean limit? There are 499 more problems; see data.errors.`,
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
  [
    'a misspelled field',
    '{"descripton":"A"}',
    `descripton ${notSettable}; did you mean description?`,
  ],
  ['another spelling', '{"categoryId":1}', `categoryId ${notSettable}; did you mean category_id?`],
  ['a parameter of another operation', '{"limits":1}', `limits ${notSettable}.`],
  ['a field that only answers have', '{"status":"approved"}', `status ${notSettable}.`],
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
    `versio ${notSettable}; did you mean version? There is 1 more problem; see data.errors.`,
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

test('a misspelled field is named before the missing one', async () => {
  const service = await startService()
  const json = { name: 'A', Description: 'B', category_id: 1 }
  const reply = await service.request('POST', '/apps', { key: service.world.keys.ada, json })
  expect(reply.body.data.errors).toEqual([
    { in: 'body', field: '/Description', message: `${notSettable}; did you mean description?` },
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

test.for<[name: string, known: string[], nearest: string | undefined]>([
  ['limits', ['limit', 'limits_'], 'limits_'],
  ['sort', [], undefined],
  ['', ['page'], undefined],
  ['limit'.repeat(10_000), ['limit'], undefined],
])('the name nearest to %s of %j', ([name, known, nearest]) => {
  expect(nearestName(name, known)).toBe(nearest)
})
