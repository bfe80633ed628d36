import { expect, test } from 'vitest'
import { excerptOf, shortChange, wholeChange } from '../../src/moderation-page/parts/excerpts.ts'

/** What lists show of long texts: at most 200 characters. */

test.for([
  { what: 'of 200 characters is whole', text: 'x'.repeat(200), excerpt: 'x'.repeat(200) },
  { what: 'of 201 ends with …', text: 'x'.repeat(201), excerpt: `${'x'.repeat(199)}…` },
  { what: 'is not cut within an emoji', text: '😀'.repeat(101), excerpt: `${'😀'.repeat(99)}…` },
  {
    what: 'is not cut before an accent',
    text: `${'e\u0301'.repeat(100)}e`,
    excerpt: `${'e\u0301'.repeat(99)}…`,
  },
])('a text $what', ({ text, excerpt }) => {
  expect(excerptOf(text)).toBe(excerpt)
})

test('marks above one character do not make an excerpt longer', () => {
  expect(excerptOf(`x${'\u0301'.repeat(1000)}`).length).toBeLessThanOrEqual(200)
})

const longest = 'x'.repeat(200)
const tooLong = 'x'.repeat(201)

test.for<{ before: string | null; after: string | null; isCut: boolean }>([
  { before: 'a', after: 'b', isCut: false },
  { before: null, after: longest, isCut: false },
  { before: longest, after: null, isCut: false },
  { before: tooLong, after: 'b', isCut: true },
  { before: 'a', after: tooLong, isCut: true },
  { before: null, after: tooLong, isCut: true },
  { before: tooLong, after: null, isCut: true },
  { before: `${tooLong}b`, after: `${tooLong}c`, isCut: true },
])('a change from $before to $after is cut: $isCut', ({ before, after, isCut }) => {
  const change = { field: 'description', before, after } as const
  expect(shortChange(change).isCut).toBe(isCut)
  expect(wholeChange(change)).toEqual({ ...change, isCut: false })
})
