import { describe, expect, test } from 'vitest'
import { fold, nameKey } from '../../src/search/fold.ts'
import { indexTokens, phrasesOf, queryTerms, toSearchDocument } from '../../src/search/terms.ts'

/** The phrases of each term of a search. */
const phrasesIn = (text: string) =>
  phrasesOf({ text, terms: queryTerms(text), categoryId: undefined }, 'prefix')

describe('what a search asks', () => {
  test.for<[string, string, string[]]>([
    ['words', 'Weather radar', ['weather', 'radar']],
    ['each word once', 'go Go GO', ['go']],
    ['case', 'STRASSE straße', ['strasse']],
    ['diacritics', 'Crème Łódź Ångström', ['creme', 'lodz', 'angstrom']],
    ['letters with a stroke or tail', 'ØŁĐĦŦæŒ øłđħŧÆœ', ['oldhtaeoe']],
    ['letters of Icelandic and Sami', 'Þórsmörk Ðð Ŋŋ', ['thorsmork', 'dd', 'ngng']],
    ['hiragana as katakana', 'ぽけもん ポケモン がゞ', ['ポケ ケモ モン', 'ガヾ']],
    ['a dotted and a dotless i', 'İstanbul ılık', ['istanbul', 'ilik']],
    ['a final sigma', 'ΟΔΌΣ οδός', ['οδοσ']],
    ['a capital sharp s', 'STRAẞE', ['strasse']],
    ['a word behind an emoji and its selector', '☕️Coffee', ['☕', 'coffee']],
    ['an emoji, whatever its selector and skin tone', '👍🏽 ❤️ ❤ 👩🏿‍🚀', ['👍', '❤', '👩‍🚀']],
    ['a flag and a key, whose signs are no letters', '🇩🇪 1️⃣', ['🇩🇪', '1⃣']],
    ['no sign of law', '© ® ©️', []],
    ['C++, C# and F#', 'C++ c# F#', ['c++', 'c#', 'f#']],
    ['signs behind a digit or alone', '10+ #1 + #', ['10', '1']],
    ['an apostrophe, whichever', 'don’t donʼt don‘t', ['don', 't']],
    ['signs behind a digit, in a text that is not all ASCII', 'für 10+', ['fur', '10']],
    ['a letter of Hawaii that looks like one', 'Hawaiʻi', ['hawai', 'i']],
    ['words over 100 characters', 'x'.repeat(120), ['x'.repeat(100)]],
    ['a variant of a character', '葛󠄀城', ['葛城']],
    ['a soft hyphen', 'ra\u00addar', ['radar']],
    ['width', 'ＡＢＣ１２', ['abc12']],
    ['a ligature', 'ﬁne', ['fine']],
    ['points and vowel signs of Hebrew and Arabic', 'שָׁלוֹם مُحَمَّد', ['שלום', 'محمد']],
    ['a lengthened letter and a small alif of Arabic', 'مـحـمـد هٰذا', ['محمد', 'هذا']],
    ['vowel signs that are letters of their word', 'हिन्दी', ['हिंदी']],
    [
      'each nasal of Hindi before its first and last consonant',
      'अङ्क सङ्घ पञ्च साञ्झ घण्टा ढूण्ढ अन्त गन्ध कम्प खम्भ',
      ['अंक', 'संघ', 'पंच', 'सांझ', 'घंटा', 'ढूंढ', 'अंत', 'गंध', 'कंप', 'खंभ'],
    ],
    [
      'a nasal before a consonant of another class, as it is written',
      'वाङ्मय जन्म कुण्वन् अन्य अम्ल',
      ['वाङ्मय', 'जन्म', 'कुण्वन्', 'अन्य', 'अम्ल'],
    ],
    ['a voiced kana, which is another letter', 'ガ', ['ガ']],
    [
      'operators as text',
      '"foo" AND (bar* OR -baz) NEAR/2 name:x ^y',
      ['foo', 'and', 'bar', 'or', 'baz', 'near', '2', 'name', 'x', 'y'],
    ],
    ['no letter, digit or emoji', '"\'*+—★\u0000', []],
    ['signs of ASCII alone', '+ - #', []],
    ['marks alone', '\u0301\u0e31', []],
    ['a run without spaces as its pairs', '日本語', ['日本 本語']],
    ['a single character of such a run', '語', ['語']],
    ['a run and a word beside it', '東京tower', ['東京', 'tower']],
    ['runs with punctuation between', '東京、大阪', ['東京', '大阪']],
    ['Thai', 'ไทย', ['ไท ทย']],
    ['Lao', 'ລາວ', ['ລາ າວ']],
    ['Khmer', 'ខ្មែរ', ['ខ្ ្ម មែ ែរ']],
    ['Burmese', 'ဗမာ', ['ဗမ မာ']],
    ['kana', 'ひらカタ', ['ヒラ ラカ カタ']],
    ['Korean, which has spaces', '한국어 사전', ['한국어', '사전']],
    ['characters beyond the basic plane', '𠮷野', ['𠮷野']],
    ['a single one of these', '𠮷', ['𠮷']],
  ])('%s', ([, text, terms]) => {
    expect(phrasesIn(text).map(([phrase]) => phrase?.tokens.join(' '))).toEqual(terms)
  })
})

test.for<[string, string, string[]]>([
  [
    'by itself or with a neighbour',
    'new pipe app',
    ['new newpipe', 'pipe newpipe pipeapp', 'app pipeapp'],
  ],
  ['joined by a sign', 'Wi-Fi', ['wi wifi', 'fi wifi']],
  ['joined by a hyphen of print', 'Wi‐Fi', ['wi wifi', 'fi wifi']],
  [
    'joined to no more than 100 characters, however they are stored',
    `${'𐐨'.repeat(50)}-${'𐐨'.repeat(51)}`,
    [`${'𐐨'.repeat(50)} ${'𐐨'.repeat(100)}`, `${'𐐨'.repeat(51)} ${'𐐨'.repeat(100)}`],
  ],
  ['with its last neighbours where it stands twice', 'go a go', ['go ago', 'a goa ago']],
  [
    'alone beside a run without spaces or an emoji',
    'app 日本 map 🎲 go',
    ['app', '日本', 'map', '🎲', 'go'],
  ],
  ['with the sign that belongs to a word', 'visual c++', ['visual visualc++', 'c++ visualc++']],
  ['without numbers made of numbers', '3.5 mm', ['3', '5 5mm', 'mm 5mm']],
])('a term is met %s', ([, text, terms]) => {
  expect(
    phrasesIn(text).map((phrases) =>
      phrases.flatMap(({ tokens }) => tokens.filter((token) => !/^[+@]/.test(token))).join(' '),
    ),
  ).toEqual(terms)
})

test.for([
  ['کتابخانه‌ی', 'كتابخانهي'],
  ['مكتبة', 'مكتبه'],
  ['خانۀ', 'خانه'],
  ['GEM™', 'gem'],
])('%s and %s are one word', ([one = '', other = '']) => {
  expect(phrasesIn(one)).toEqual(phrasesIn(other))
})

test('words and single characters may begin a longer word; emoji and runs without spaces may not', () => {
  const mayBegin = queryTerms('new pipe 日本 🎲 語').map(({ isPrefix }) => isPrefix)
  expect(mayBegin).toEqual([true, true, false, false, true])
})

test('the tokens of whole names differ for 20,000 names', () => {
  const tokens = Array.from({ length: 20_000 }, (_, index) => {
    const { tokens } = toSearchDocument({ name: `Map ${index}` }, 'Ada')
    return tokens.split(' ').find((token) => token.startsWith('='))
  })
  expect(new Set(tokens).size).toBe(20_000)
})

test('a search has no more than three spellings of each of its terms', () => {
  const words = Array.from({ length: 50 }, (_, index) =>
    String.fromCodePoint(0x3b1 + (index % 17), 0x61 + (index % 23)),
  )
  for (const between of [' ', '-', '.']) {
    for (const { spellings } of queryTerms(words.join(between)))
      expect(spellings.length).toBeLessThanOrEqual(3)
  }
})

describe('what is indexed of a text', () => {
  test.for<[string, string, string]>([
    ['its words, each once', 'Go, gopher, go', 'go gopher'],
    ['what a sign joins, apart, in pairs and whole', 'F-Droid', 'f droid fdroid'],
    ['the same of more than two', "rock'n'roll", 'rock n roll rockn nroll rocknroll'],
    [
      'of every joining sign',
      'a-b c’d e&f g.h i_j k+l',
      'a b ab c d cd e f ef g h gh i j ij k l kl',
    ],
    ['but not of others', 'and/or, e. g.', 'and or e g'],
    ['a word with its sign', 'C++, C#', 'c++ c#'],
    ['a sign behind a number, which is none of it', 'Lantern+ 10+', 'lantern+ 10'],
    ['an Arabic word with its article, and without', 'الموسيقى', 'الموسيقي موسيقي'],
    ['the same with a preposition', 'وللبيت والكتاب للسفر', 'وللبيت والكتاب للسفر كتاب سفر'],
    ['but not where two letters remain', 'الله', 'الله'],
    ['Hebrew as it is', 'הספר', 'הספר'],
    ['a run without spaces by its pairs and its last character', '日本語 app', 'app 日本 本語 語'],
    ['a run of characters beyond the basic plane', '𠮷野家', '𠮷野 野家 家'],
    ['a single character', '𠮷', '𠮷'],
    ['an emoji', 'Tiles 🎲!', 'tiles 🎲'],
  ])('%s', ([, text, tokens]) => {
    expect(indexTokens(text)).toEqual(tokens.split(' '))
  })

  test.for<[string, string, string]>([
    ['side by side', 'Photo Editor', 'photo editor +photoeditor'],
    [
      'of three words, in pairs and together',
      'Photo Editor Pro',
      'photo editor pro +photoeditor +editorpro +photoeditorpro',
    ],
    ['in camel case', 'NewPipe', 'new pipe newpipe'],
    ['behind a number', 'Mp3Player', 'mp3 player mp3player'],
    ['of capitals', 'PDFReader', 'pdf reader pdfreader'],
    ['in camel case and side by side', 'Go NewPipe', 'go new pipe newpipe +gonew +gonewpipe'],
    ['in camel case of letters beyond ASCII', 'ÉcranÜber', 'ecran uber ecranuber'],
    ['of capitals beyond ASCII', 'ПДФЧитатель', 'пдф читатель пдфчитатель'],
    ['behind a number', '3DScan', '3d scan 3dscan'],
    ['with a number', '512 Tiles', '512 tiles +512tiles'],
    ['with more than a sign between them', 'Tide & (Time)', 'tide time +tidetime'],
    ['but none beside a run without spaces or an emoji', 'App 日本 Map 🎲 Go', 'app map 🎲 go'],
  ])('of a name also words %s', ([, name, tokens]) => {
    const all = toSearchDocument({ name }, '').tokens.split(' ')
    const ofName = all.filter((token) => /^[~+](?!_)/.test(token) && !/\p{scx=Han}/u.test(token))
    expect(ofName).toEqual(
      tokens.split(' ').map((token) => (token.startsWith('+') ? token : `~${token}`)),
    )
  })

  test('is no token over 100 characters', () => {
    expect(indexTokens(`${'x'.repeat(150)} ${'𝒜'.repeat(101)}`)).toEqual([
      'x'.repeat(100),
      'a'.repeat(100),
    ])
    const joined = Array.from({ length: 60 }, () => 'ab').join('.')
    expect(indexTokens(joined)).toEqual(['ab', 'abab', 'ab'.repeat(50)])
  })
})

test.for([
  ['Tide  Clock', ' tide clock '],
  ['Crème', 'CREME'],
  ['Ｃ++', 'c++'],
])('the names %s and %s are the same', ([one = '', other = '']) => {
  expect(nameKey(one)).toBe(nameKey(other))
})

test.for<[what: string, text: string, tokens: string[]]>([
  [
    'twenty thousand marks on a letter',
    `cafe${'\u0301\u0323\u0315\u0327'.repeat(5000)} noir`,
    ['cafe', 'noir'],
  ],
  [
    'marks that belong to their letter, as many as thirty',
    `ह${'ि'.repeat(20_000)}`,
    [`ह${'ि'.repeat(30)}`],
  ],
])('%s do not keep a text from being indexed', ([, text, tokens]) => {
  expect(indexTokens(text)).toEqual(tokens)
})

test('no character of Unicode makes the longest description more than about twice as long', () => {
  const lengthening = Array.from({ length: 0x11_00_00 }, (_, point) => String.fromCodePoint(point))
    .filter((character) => character.normalize('NFKC').length > 3)
    .map((character) => ({ character, length: fold(character.repeat(20_000)).length }))
  expect(lengthening.length).toBeGreaterThan(50)
  expect(lengthening.filter(({ length }) => length > 42_000)).toEqual([])
})

test.for<[script: string, syllable: string]>([
  ['Latin', 'a'],
  ['Vietnamese', 'ệ'],
  ['Hangul', '한'],
  ['Greek of four parts', 'ᾧ'],
  ['Arabic ligatures of two letters', 'ﻼ'],
  ['Devanagari', 'क़ि'],
  ['Han beyond the basic plane', '𠮷'],
  ['Chakma, whose vowel signs come apart', '𑄇𑄮'],
])('the longest texts of an app are indexed to their last word: %s', ([, syllable]) => {
  const filled = (length: number) => syllable.repeat(length / [...syllable].length)
  const app = {
    name: filled(100),
    short_description: filled(200),
    package_name: `org.example.${'a'.repeat(243)}`,
    description: `${filled(19_996)} end`,
  }
  expect(toSearchDocument(app, filled(100)).tokens.split(' ')).toContain('end')
})

test('keywords are in the lead, and push no word of the description out of it', () => {
  const app = { name: 'Map', short_description: 'a'.repeat(200), description: 'Shore and sea.' }
  const keywords = JSON.stringify(Array.from({ length: 10 }, (_, i) => `${'b'.repeat(29)}${i}`))
  const leadOf = (one: typeof app & { keywords?: string }) =>
    toSearchDocument(one, 'Ada')
      .tokens.split(' ')
      .filter((token) => token.startsWith('@'))
  expect(leadOf(app)).toContain('@shore')
  expect(leadOf({ ...app, keywords })).toEqual(expect.arrayContaining(leadOf(app)))
  expect(leadOf({ ...app, keywords })).toContain(`@${'b'.repeat(29)}9`)
})

test('the last word of a long text is indexed', () => {
  expect(indexTokens(`${'é '.repeat(9999)}end`)).toContain('end')
})

test('punctuation and white space tell names apart', () => {
  expect(nameKey('Tide Clock')).not.toBe(nameKey('Tideclock'))
  expect(nameKey('C++')).not.toBe(nameKey('C'))
})
