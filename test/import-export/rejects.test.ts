import { expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { ReasonCounts, toReject, unwrapReject } from '../../src/import-export/rejects.ts'

const problem = (field: string, message = 'is wrong'): Problem => ({ in: 'body', field, message })

test.for<[what: string, text: string | undefined, rejected: unknown]>([
  ['the line', '{"a":1}', { a: 1 }],
  ['the text of invalid JSON', '{"a"', '{"a"'],
  ['the text of a line with a repeated field', '{"a":1,"a":2}', '{"a":1,"a":2}'],
  ['nothing if the line is not text', undefined, undefined],
])('a reject has %s', ([, text, rejected]) => {
  expect(toReject(3, [problem('/a')], text)).toEqual({
    line: 3,
    errors: [{ field: '/a', message: 'is wrong' }],
    rejected,
  })
})

test.for<[what: string, value: unknown, line: unknown]>([
  ['itself', { a: 1 }, { a: 1 }],
  ['the corrected line', { line: 3, errors: [], rejected: { a: 1 } }, { a: 1 }],
  ['the corrected line as a text', { errors: [], rejected: '{"a":1}' }, { a: 1 }],
  ['the innermost line', { errors: [], rejected: '{"errors":[],"rejected":{"a":1}}' }, { a: 1 }],
  [
    'the innermost of very many',
    JSON.parse(`${'{"errors":[],"rejected":'.repeat(30_000)}{"a":1}${'}'.repeat(30_000)}`),
    { a: 1 },
  ],
  ['the text of invalid JSON that was not corrected', { errors: [], rejected: '{"a"' }, '{"a"'],
  ['itself if it has no errors field', { rejected: 1 }, { rejected: 1 }],
  ['itself if it has no rejected field', { errors: [] }, { errors: [] }],
  ['nothing', null, null],
  ['a text', 'x', 'x'],
])('unwrapping returns %s', ([, value, line]) => {
  expect(unwrapReject(value)).toEqual(line)
})

test('reasons are counted once per line, without indexes, the most frequent first', () => {
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

test('messages that quote the line are one reason, with the first as its example', () => {
  const reasons = new ReasonCounts()
  const quoting = (name: string) => ({
    ...problem('/slug', `belongs to ${name}`),
    reason: 'belongs to another',
  })
  for (const name of ['Bob', 'Cy', 'Bob']) reasons.add([quoting(name)])
  reasons.add([problem('/slug')])
  expect(reasons.all()).toEqual([
    { reason: '/slug: belongs to another', count: 3, example: '/slug: belongs to Bob' },
    { reason: '/slug: is wrong', count: 1 },
  ])
})

test('reasons beyond a thousand are counted together', () => {
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
