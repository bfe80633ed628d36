import { expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { ReasonCounts, toReject, unwrapReject } from '../../src/transfer/rejects.ts'

const problem = (field: string, message = 'is wrong'): Problem => ({ in: 'body', field, message })

test.for<[what: string, text: string | undefined, field: string, rejected: unknown, value: unknown]>([
  ['a field, by what it is', '{"a":1}', '/a', { a: 1 }, 1],
  ['a field within a list', '{"a":[{"b":"x"}]}', '/a/0/b', { a: [{ b: 'x' }] }, 'x'],
  ['a field whose name has signs', '{"a/b~":null}', '/a~1b~0', { 'a/b~': null }, null],
  ['a field that is not there', '{}', '/a', {}, undefined],
  ['a field that nothing has of itself', '{}', '/toString', {}, undefined],
  ['a field within a text', '{"a":"xy"}', '/a/0', { a: 'xy' }, undefined],
  ['a field within nothing', '{"a":null}', '/a/0', { a: null }, undefined],
  ['an object, which is in the line', '{"a":{"b":1}}', '/a', { a: { b: 1 } }, undefined],
  ['the line', '7', '', 7, 7],
  ['a text of 200 characters', JSON.stringify({ a: 'x'.repeat(200) }), '/a', { a: 'x'.repeat(200) }, 'x'.repeat(200)],
  [
    'a text of more, by its beginning',
    JSON.stringify({ a: 'x'.repeat(201) }),
    '/a',
    { a: 'x'.repeat(201) },
    `${'x'.repeat(200)}…`,
  ],
  [
    'a text cut within a character',
    JSON.stringify({ a: `${'x'.repeat(199)}🎲` }),
    '/a',
    { a: `${'x'.repeat(199)}🎲` },
    `${'x'.repeat(199)}\uFFFD…`,
  ],
  ['what is no JSON, by its text', '{"a"', '', '{"a"', '{"a"'],
  ['what says a field twice, by its text', '{"a":1,"a":2}', '/a', '{"a":1,"a":2}', undefined],
  ['what is no text', undefined, '', undefined, undefined],
])('a refused line tells of %s', ([, text, field, rejected, value]) => {
  expect(toReject(3, [problem(field)], text)).toEqual({
    line: 3,
    errors: [{ field, message: 'is wrong', value }],
    rejected,
  })
})

test.for<[what: string, value: unknown, line: unknown]>([
  ['itself', { a: 1 }, { a: 1 }],
  ['the one that was mended', { line: 3, errors: [], rejected: { a: 1 } }, { a: 1 }],
  ['the one that was mended as a text', { errors: [], rejected: '{"a":1}' }, { a: 1 }],
  ['the one within others', { errors: [], rejected: '{"errors":[],"rejected":{"a":1}}' }, { a: 1 }],
  [
    'the one within very many',
    JSON.parse(`${'{"errors":[],"rejected":'.repeat(30_000)}{"a":1}${'}'.repeat(30_000)}`),
    { a: 1 },
  ],
  ['a text that was not mended', { errors: [], rejected: '{"a"' }, '{"a"'],
  ['itself where it has only a part of that', { rejected: 1 }, { rejected: 1 }],
  ['itself where it has only the other part', { errors: [] }, { errors: [] }],
  ['nothing', null, null],
  ['a text', 'x', 'x'],
])('a line that is read is %s', ([, value, line]) => {
  expect(unwrapReject(value)).toEqual(line)
})

test('reasons are counted without what differs from line to line, once a line, the most frequent first', () => {
  const reasons = new ReasonCounts()
  reasons.add([problem('', 'is not valid JSON')])
  reasons.add([problem('/reviews/0/rating'), problem('/reviews/12/rating'), problem('/a1/2x')])
  reasons.add([problem('/reviews/3/rating'), problem('/reviews/4')])
  expect(reasons.all()).toEqual([
    { reason: '/reviews/*/rating: is wrong', count: 2 },
    { reason: 'line: is not valid JSON', count: 1 },
    { reason: '/a1/2x: is wrong', count: 1 },
    { reason: '/reviews/*: is wrong', count: 1 },
  ])
})

test('of more than a thousand reasons the others are counted together', () => {
  const reasons = new ReasonCounts()
  for (let number = 0; number < 1003; number++) reasons.add([problem(`/field${number}`)])
  reasons.add([problem('/field0')])
  const [others, first, ...rest] = reasons.all()
  expect([others, first, rest.length]).toEqual([
    { reason: 'other reasons', count: 3 },
    { reason: '/field0: is wrong', count: 2 },
    999,
  ])
})
