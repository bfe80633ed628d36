import { domainToUnicode } from 'node:url'
import { addressColumns } from '../catalogue/app-columns.ts'
import type { AppRow } from '../db/rows.ts'
import { isAscii, looksOf } from '../search/fold.ts'
import { required } from '../util/helpers.ts'

/**
 * Warnings about the name and the hosts of an app, for the queues and the page of an app: letters of
 * two scripts can imitate a name or host that the catalogue does not have.
 */

type NameAndHosts = Pick<AppRow, 'name' | (typeof addressColumns)[number]>

export const warningsOf = (app: NameAndHosts): string[] => [
  ...mixedLetters(app.name).map((letters) => `Letters of two scripts: ${letters}`),
  ...deceptiveHosts(app).map((host) => `Host with letters of another script: ${host}`),
]

/** The scripts of today's languages (https://www.unicode.org/reports/tr31/#Table_Recommended_Scripts). */
const scriptNames =
  'Latin Cyrillic Greek Arabic Armenian Bengali Bopomofo Devanagari Ethiopic Georgian Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'.split(
    ' ',
  )
const anyOf = (names: string[]) => `[${names.map((name) => `\\p{Script=${name}}`).join('')}]`

const scripts = [
  ...scriptNames.map((name) => ({ name, letter: anyOf([name]) })),
  { name: 'of another script', letter: `(?!${anyOf(scriptNames)}).` },
]

/**
 * Scripts that are written together
 * (https://www.unicode.org/reports/tr39/#Restriction_Level_Detection, highly restrictive).
 */
const writtenTogether = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
]

const oneScript = [...writtenTogether.map(anyOf), ...scripts.map(({ letter }) => letter)]
  .map((letter) => `(?:${letter})*`)
  .join('|')

// recheck-ignore: the letters of a word of a name, which has at most 100 characters.
const unmixed = new RegExp(`^(?:${oneScript})$`, 'u')

/** With characters that nobody sees: they do not end a word. */
const words = /[\p{L}\p{M}\p{N}\p{Default_Ignorable_Code_Point}]+/gu

const notOfScript = /[\P{L}\p{Script=Common}\p{Script=Inherited}]+/gu

/** The letters of the rarest script of the first word that mixes scripts, such as "е is Cyrillic". */
function mixedLetters(name: string): string[] {
  const mixed = name
    .match(words)
    ?.map((word) => word.replace(notOfScript, ''))
    .find((letters) => !unmixed.test(letters))
  if (mixed === undefined) return []
  // Of equally frequent scripts, the last counts: Latin is the first.
  // recheck-ignore: the letters of a word of a name, which has at most 100 characters.
  const [rarest] = scripts
    .map(({ name, letter }) => ({ name, letters: mixed.match(new RegExp(letter, 'gu')) ?? [] }))
    .filter(({ letters }) => letters.length > 0)
    .reverse()
    .sort((a, b) => a.letters.length - b.letters.length)
  const { name: script, letters } = required(rarest, 'a script')
  const named = [...new Set(letters)]
  return [`${named.join(', ')} ${named.length === 1 ? 'is' : 'are'} ${script}`]
}

/** A letter of a script, but not of Latin. */
const foreignLetter = /(?![\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}])\p{L}/u

/** The hosts that look as if they were ASCII because of letters of another script than Latin. */
function deceptiveHosts(app: NameAndHosts): string[] {
  const hosts = addressColumns.map((column) => URL.parse(app[column] ?? '')?.hostname ?? '')
  return [...new Set(hosts)].filter((host) => {
    const readable = domainToUnicode(host)
    return foreignLetter.test(readable) && looksOf(readable).some(isAscii)
  })
}
