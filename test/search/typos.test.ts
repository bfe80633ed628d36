import { expect, test } from 'vitest'
import { queryTerms } from '../../src/search/terms.ts'
import { isCorrectable, isWithinEdits, similarWords } from '../../src/search/typos.ts'

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

test.for<[what: string, one: string, other: string, isWithin: boolean]>([
  ['the same', 'tide', 'tide', true],
  ['nothing and nothing', '', '', true],
  ['nothing and a letter', '', 'a', true],
  ['nothing and two letters', '', 'ab', false],
  ['a letter more', 'tide', 'tiide', true],
  ['a letter more at the start', 'tide', 'atide', true],
  ['a letter more at the end', 'tide', 'tides', true],
  ['two letters more', 'tide', 'tiiide', false],
  ['another letter', 'tide', 'tile', true],
  ['two other letters', 'tide', 'tola', false],
  ['two swapped', 'tide', 'tdie', true],
  ['two swapped, and another letter', 'tides', 'tdiea', false],
  ['the first and the last swapped', 'tide', 'eidt', false],
  ['three turned', 'tide', 'tedi', false],
  ['two letters and none of them', 'ab', 'cd', false],
  ['one of two letters in another place', 'ab', 'ca', false],
  ['a letter repeated', 'aaaa', 'aaaaa', true],
  ['a character of two code units more', 'tide', 'tide🔥', true],
  ['two of them more', 'tide', 'tide🔥🔥', false],
  ['one of them before a similar one', '🔥', '🔦🔥', true],
  ['one of them after a similar one', '🔥', '🔥🔦', true],
  ['another one of them', 'a🔥', 'a🐾', true],
  ['another one with the same second half', 'a\u{10400}', 'a\u{10800}', true],
  ['one of them instead of a letter', 'tide', 'tid🔥', true],
  ['two of them swapped', '🔥🔦', '🔦🔥', true],
  [
    'two of them swapped, with the same second half',
    '\u{10400}\u{10800}',
    '\u{10800}\u{10400}',
    true,
  ],
  ['one of them swapped with a letter', '🔥a', 'a🔥', true],
  ['one of them instead of two letters', 'tide', 'ti🔥', false],
])('is one edit enough for %s: %s, %s: %s', ([, one, other, isWithin]) => {
  expect(isWithinEdits(1, one, other)).toBe(isWithin)
  expect(isWithinEdits(1, other, one)).toBe(isWithin)
})

test.for<[what: string, one: string, other: string, isWithin: boolean]>([
  ['the same', 'tide', 'tide', true],
  ['nothing and two letters', '', 'ab', true],
  ['nothing and three letters', '', 'abc', false],
  ['two letters more', 'tide', 'tiiide', true],
  ['three letters more', 'tide', 'tiiiide', false],
  ['a letter more at either end', 'tide', 'atides', true],
  ['two other letters', 'tide', 'tola', false],
  ['two of four letters', 'tide', 'bids', true],
  ['two swapped, and another letter', 'tides', 'tdiea', true],
  ['two pairs swapped', 'tide', 'ited', true],
  ['a letter moved', 'tide', 'idet', true],
  ['a letter less and one more', 'lanternbreak', 'lanternbrake', true],
  ['two characters of two code units more', 'tide', 'tide🔥🔦', true],
  ['three of them more', 'tide', 'tide🔥🔦🔥', false],
  ['two of them swapped, and another', '🔥🔦a', '🔦🔥b', true],
])('are two edits enough for %s: %s, %s: %s', ([, one, other, isWithin]) => {
  expect(isWithinEdits(2, one, other)).toBe(isWithin)
  expect(isWithinEdits(2, other, one)).toBe(isWithin)
})

test.for(['facebook', 'tiles512', 'шахматы', '계산기'])(
  'each word beside %s is within one edit',
  (word) => {
    const far = similarWords(word).filter((other) => !isWithinEdits(1, word, other))
    expect(far).toEqual([])
  },
)

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

test.for<[syllables: number, areTried: boolean]>([
  [10, true],
  [11, false],
])(
  'other letters within a syllable are tried in a word of %i syllables of three letters: %s',
  ([syllables, areTried]) => {
    const words = similarWords('강'.repeat(syllables))
    expect(words.includes(`${'강'.repeat(syllables - 1)}항`)).toBe(areTried)
  },
)
