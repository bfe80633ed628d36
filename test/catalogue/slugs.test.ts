import fc from 'fast-check'
import { expect, test } from 'vitest'
import { numberedSlug, toSlug } from '../../src/catalogue/slugs.ts'
import { seed } from '../support/random.ts'

test.for([
  ['Tide Clock', 'tide-clock'],
  ['  Ebb & Flood!  ', 'ebb-flood'],
  ['Crème Brûlée', 'creme-brulee'],
  ['日本語辞書', 'ri-ben-yu-ci-shu'],
  ['Приложение', 'prilozhenie'],
  ['한국어', 'hangugeo'],
  ['a_b.c', 'a-b-c'],
  ['🎲', 'app'],
  ['𝓗𝓮𝓵𝓵𝓸 ①', 'hello-1'],
  ['STRAẞE', 'strasse'],
  ['-', 'app'],
  ['x'.repeat(100), 'x'.repeat(80)],
  [`${'x'.repeat(79)} y`, 'x'.repeat(79)],
])('%s becomes %s', ([name = '', slug = '']) => {
  expect(toSlug(name)).toBe(slug)
})

test('shortens the longest slug for a number', () => {
  expect(numberedSlug('x'.repeat(80), 12)).toBe(`${'x'.repeat(77)}-12`)
  expect(numberedSlug(`${'x'.repeat(77)}-yz`, 2)).toBe(`${'x'.repeat(77)}-2`)
})

test('every name gets a valid slug', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 100 }),
      fc.integer({ min: 2, max: 1e9 }),
      (name, number) => {
        for (const slug of [toSlug(name), numberedSlug(toSlug(name), number)]) {
          expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
          expect(slug.length).toBeLessThanOrEqual(80)
        }
      },
    ),
    { seed },
  )
})
