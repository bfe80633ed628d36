import { describe, expect, test } from 'vitest'
import { indexTokens, nameKey, queryTerms } from '../../src/apps/terms.ts'

describe('what a search asks', () => {
  test.for<[string, string, string[]]>([
    ['words', 'Weather radar', ['weather', 'radar']],
    ['each word once', 'go Go GO', ['go']],
    ['case', 'STRASSE straße', ['strasse']],
    ['diacritics', 'Crème Łódź Ångström', ['creme', 'lodz', 'angstrom']],
    ['letters with a stroke or tail', 'ØŁĐĦŦæŒ øłđħŧÆœ', ['oldhtaeoe']],
    ['a dotted and a dotless i', 'İstanbul ılık', ['istanbul', 'ilik']],
    ['a final sigma', 'ΟΔΌΣ οδός', ['οδοσ']],
    ['a capital sharp s', 'STRAẞE', ['strasse']],
    ['a word behind an emoji and its selector', '☕️Coffee', ['coffee']],
    ['a variant of a character', '葛󠄀城', ['葛城']],
    ['a soft hyphen', 'ra\u00addar', ['radar']],
    ['width', 'ＡＢＣ１２', ['abc12']],
    ['a ligature', 'ﬁne', ['fine']],
    ['points and vowel signs of Hebrew and Arabic', 'שָׁלוֹם مُحَمَّد', ['שלום', 'محمد']],
    ['a lengthened letter and a small alif of Arabic', 'مـحـمـد هٰذا', ['محمد', 'هذا']],
    ['vowel signs that are letters of their word', 'हिन्दी', ['हिन्दी']],
    ['a voiced kana, which is another letter', 'ガ', ['ガ']],
    [
      'operators as text',
      '"foo" AND (bar* OR -baz) NEAR/2 name:x ^y',
      ['foo', 'and', 'bar', 'or', 'baz', 'near', '2', 'name', 'x', 'y'],
    ],
    ['no letter or digit', '"\'*+—🎲\u0000', []],
    ['marks alone', '\u0301\u0e31', []],
    ['a run without spaces as its pairs', '日本語', ['日本 本語']],
    ['a single character of such a run', '語', ['語']],
    ['a run and a word beside it', '東京tower', ['東京', 'tower']],
    ['runs with punctuation between', '東京、大阪', ['東京', '大阪']],
    ['Thai', 'ไทย', ['ไท ทย']],
    ['Lao', 'ລາວ', ['ລາ າວ']],
    ['Khmer', 'ខ្មែរ', ['ខ្ ្ម មែ ែរ']],
    ['Burmese', 'ဗမာ', ['ဗမ မာ']],
    ['kana', 'ひらカタ', ['ひら らカ カタ']],
    ['Korean, which has spaces', '한국어 사전', ['한국어', '사전']],
    ['characters beyond the basic plane', '𠮷野', ['𠮷野']],
    ['a single one of these', '𠮷', ['𠮷']],
  ])('%s', ([, text, terms]) => {
    expect(queryTerms(text).map((term) => term.join(' '))).toEqual(terms)
  })
})

test.for([
  ['日本語 app', ['日本', '本語', '語', 'app']],
  ['語', ['語']],
  ['𠮷野家', ['𠮷野', '野家', '家']],
  ['𠮷', ['𠮷']],
] as const)('%s is indexed by the pairs and the last character of a run without spaces', ([text, tokens]) => {
  expect(indexTokens(text)).toEqual(tokens)
})

test.for([
  ['Tide  Clock', ' tide clock '],
  ['Crème', 'CREME'],
  ['Ｃ++', 'c++'],
])('the names %s and %s are the same', ([one = '', other = '']) => {
  expect(nameKey(one)).toBe(nameKey(other))
})

test('punctuation tells names apart', () => {
  expect(nameKey('C++')).not.toBe(nameKey('C'))
})
