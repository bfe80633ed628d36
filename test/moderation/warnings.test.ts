import { expect, test } from 'vitest'
import { addressColumns } from '../../src/catalogue/app-columns.ts'
import { warningsOf } from '../../src/moderation/warnings.ts'
import { pick } from '../../src/util/helpers.ts'
import { noFields } from '../support/whole-app.ts'

const none = { name: 'Tide Clock', ...pick(noFields, ...addressColumns) }

const cyrillicA = '\u0430'
const cyrillicE = '\u0435'

test.for<[what: string, name: string, warning: string | undefined]>([
  ['one Cyrillic letter', `Tid${cyrillicE} Clock`, `${cyrillicE} is Cyrillic`],
  ['one Latin letter among Cyrillic ones', 'Яндeкс Maps', 'e is Latin'],
  [
    'several letters, each named once',
    `G${cyrillicA}m${cyrillicE} p${cyrillicA}ck`,
    `${cyrillicA}, ${cyrillicE} are Cyrillic`,
  ],
  ['as many letters of both', `C${cyrillicA}`, `${cyrillicA} is Cyrillic`],
  ['only in its second word', `Tide Cl${'\u03BF'}ck`, '\u03BF is Greek'],
  ['with a digit between', `Tid3${cyrillicE}`, `${cyrillicE} is Cyrillic`],
  ['with an invisible character between', `Tid\u200B${cyrillicE}`, `${cyrillicE} is Cyrillic`],
  ['with an accent between', `Ti\u0301d${cyrillicE}`, `${cyrillicE} is Cyrillic`],
  ['of a script that few languages have', '\u13AABC', '\u13AA is of another script'],
  ['of three scripts', `クロックc${cyrillicA}t`, `${cyrillicA} is Cyrillic`],
  ['of two scripts that nobody writes together', '한글ひらがな', '한, 글 are Hangul'],
  ['in ASCII', 'Tide Clock', undefined],
  ['with accents and ligatures', 'Łódź Straße Œuvre Đà Nẵng', undefined],
  ['with decomposed accents', 'Cafe\u0301 Е\u0308лка', undefined],
  ['with words of different scripts', 'Яндекс Maps', undefined],
  ['joined by a hyphen', 'Яндекс-Maps', undefined],
  ['of another script as a whole', `${cyrillicA}${cyrillicE}`, undefined],
  ['in Japanese', 'ねこタイマー時計ABC', undefined],
  ['in Chinese, with Bopomofo', '漢字ㄅㄆABC', undefined],
  ['in Korean', '카카오톡漢字TV', undefined],
  ['with letters of no script: the micro sign, a bold one', '\u00B5Torrent \u{1D400}bc', undefined],
  ['with emoji and digits', 'ねこ🐾2', undefined],
])('a name whose word mixes scripts: %s', ([, name, letters]) => {
  expect(warningsOf({ ...none, name })).toEqual(
    letters === undefined ? [] : [`Letters of two scripts: ${letters}`],
  )
})

// The letters а of exаmple and all of раураl but the last are Cyrillic.
test.for<[what: string, website: string | null, source: string | null, hosts: string[]]>([
  ['with one letter of another script', 'https://exаmple.org/x', null, ['xn--exmple-4nf.org']],
  ['in the form of browsers', 'https://xn--exmple-4nf.org/', null, ['xn--exmple-4nf.org']],
  ['of the source code', 'https://example.org/', 'https://раураl.com/', ['xn--l-7sba6dbr.com']],
  ['twice', 'https://exаmple.org/', 'https://exаmple.org/x', ['xn--exmple-4nf.org']],
  ['with a Cyrillic name only', 'https://аррӏе.com/', null, ['xn--80ak6aa92e.com']],
  ['in German', 'https://münchen.de/', 'https://straße.example/', []],
  ['in French', 'https://café.fr/', 'https://cœur.example/', []],
  ['in Polish and Spanish', 'https://łódź.pl/', 'https://ñandú.example/', []],
  ['in Danish and Icelandic', 'https://ørsted.dk/', 'https://þing.is/', []],
  ['in Turkish and Hungarian', 'https://ısı.example/', 'https://őz.hu/', []],
  ['in Hawaiian, with an okina', 'https://hawai\u02BBi.example/', null, []],
  ['with an emoji', 'https://i❤.example/', null, []],
  ['in ASCII', 'https://exarnple.org/', null, []],
  ['of another script as a whole', 'https://пример.example/', 'https://例え.example/', []],
  ['that is ASCII, with another letter in the path', 'https://example.org/а', null, []],
  ['that no browser opens', 'https://\u202Egro.elpmaxe/', 'javascript:а', []],
  ['that is missing', null, null, []],
])(
  'a host that looks like ASCII because of letters of another script: one %s',
  ([, website_url, source_code_url, hosts]) => {
    expect(warningsOf({ ...none, website_url, source_code_url })).toEqual(
      hosts.map((host) => `Host with letters of another script: ${host}`),
    )
  },
)
