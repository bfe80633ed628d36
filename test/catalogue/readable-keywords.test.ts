import { expect, test } from 'vitest'
import { readableValue } from '../../src/catalogue/keywords.ts'

const read = (keywords: string[]) => readableValue('keywords', JSON.stringify(keywords))

test('moderators read keywords in one line', () => {
  expect(read(['static analysis', 'C#'])).toBe('static analysis, C#')
})

test.each([
  [['map', 'stars'], ['map, stars']],
  [
    ['map', 'stars'],
    ['map,', 'stars'],
  ],
  [['"map', 'stars"'], ['map, stars']],
  [['"map, stars"'], ['map, stars']],
  [
    ['map', 'stars'],
    ['"map', 'stars"'],
  ],
])('moderators read different lists differently: %j and %j', (one, other) => {
  expect(read(one)).not.toBe(read(other))
})
