import { expect, test } from 'vitest'
import type { Problem } from '../../src/contract/contract.ts'
import { ReasonCounts } from '../../src/import-export/reason-counts.ts'

const problem = (field: string, message = 'is wrong'): Problem => ({ in: 'body', field, message })

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
