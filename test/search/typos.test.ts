import { expect, test } from 'vitest'
import { queryTerms } from '../../src/search/terms.ts'
import { isCorrectable, similarWords } from '../../src/search/typos.ts'

test.for<[string, string, string]>([
  ['a letter more', 'facebok', 'facebook'],
  ['a letter less', 'faceboook', 'facebook'],
  ['another letter', 'facebuok', 'facebook'],
  ['two swapped', 'faceboko', 'facebook'],
  ['the first letter', 'xfacebook', 'facebook'],
  ['the last letter', 'faceboo', 'facebook'],
  ['a digit', 'tiles51', 'tiles512'],
  ['a sign', 'disney+', 'disney'],
  ['Greek', 'μουσκη', 'μουσικη'],
  ['Cyrillic', 'шахмоты', 'шахматы'],
  ['Arabic', 'موسيقا', 'موسيقي'],
  ['Hebrew', 'מתכונין', 'מתכונים'],
  ['a vowel sign of Devanagari', 'रागमला', 'रागमाला'],
  ['a letter within a syllable of Hangul', '게산기', '계산기'],
  ['a whole syllable of Hangul', '계산산기', '계산기'],
])('a word beside another: %s', ([, word, other]) => {
  expect(similarWords(word)).toContain(other)
})

test('the words beside one of nine letters are some 500, each once, and not the word itself', () => {
  const words = similarWords('abcdefghi')
  expect(words).toHaveLength(9 + 8 + 9 * 25 + 10 * 26 - 9)
  expect(new Set(words).size).toBe(words.length)
  expect(words).not.toContain('abcdefghi')
})

test('a word in many scripts, which nobody types by mistake, has few words beside it', () => {
  const word = 'aαбաאبअঅதఅაሀ'
  expect(queryTerms(word).map(isCorrectable)).toEqual([true])
  expect(similarWords(word).length).toBeLessThan(2 * word.length)
})

test.for<[blocks: number, word: string, areTried: boolean]>([
  [3, 'aαбa', true],
  [4, 'aαбא', false],
])('other letters are tried in a word of letters from %i blocks: %s: %s', ([, word, areTried]) => {
  expect(similarWords(word).includes(`${word}b`)).toBe(areTried)
})

test.for<[string, boolean]>([
  ['four', true],
  ['six', false],
  ['日本語辞書', false],
  ['👍', false],
  ['x'.repeat(30), true],
  ['x'.repeat(31), false],
])('a typo in %s is corrected: %s', ([text, isCorrected]) => {
  expect(queryTerms(text).map(isCorrectable)).toEqual([isCorrected])
})
