import unhomoglyph from 'unhomoglyph'
import { fold, isAscii } from './fold.ts'

/** Finds names that look the same to users: they have a look in common. */

/** Characters. One is too little to tell C++ from C#. */
const minLetters = 2

/**
 * The looks of a name: its letters, each replaced by the basic letter that it looks like, without
 * case, accents, spaces and symbols. Digits in words become letters. Case changes what a letter
 * looks like, so a name has up to three looks:
 *
 * - of the folded name;
 * - of the name whose letters beyond ASCII are replaced before it is folded;
 * - of the latter with each capital I as an l.
 */
export function looksOf(name: string): string[] {
  const text = name.replace(separator, ' ')
  const replaced = replaceForeign(text)
  const spellings = new Set([fold(text), fold(replaced)])
  if (replaced.includes('I')) spellings.add(replaced.replaceAll('I', 'l'))
  return [...new Set([...spellings].map(lookOf))]
}

/** A bar between two words is no letter. */
const separator = /(?<=\s)\|(?=\s)/g

function lookOf(text: string): string {
  const replaced = replaceForeign(text).replace(/[01|]/g, unhomoglyph)
  const letters = withLetters(fold(replaced))
    .replace(notLetters, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
  // Of C++ or an emoji, the symbols are the name.
  return letters.length < minLetters ? fold(text).replace(/\s+/g, '') : letters
}

const notLetters = /[^\p{L}\p{N}\p{M}]+|\p{Default_Ignorable_Code_Point}+/gu

/**
 * Replaces the characters beyond ASCII as UTS #39 does
 * (https://www.unicode.org/reports/tr39/#Confusable_Detection).
 */
const replaceForeign = (text: string) =>
  isAscii(text) ? text : text.normalize('NFD').replace(/\P{ASCII}/gu, replaceCharacter)

/**
 * Maximum number of characters whose looks are remembered: those of a few large scripts. Calling
 * unhomoglyph, whose pattern has thousands of characters, takes ten times as long.
 */
const maxRemembered = 20_000
const remembered = new Map<string, string>()

function replaceCharacter(character: string): string {
  const known = remembered.get(character)
  if (known !== undefined) return known
  const letters = unhomoglyph(character)
  // If a character became several letters, one different character would be several edits.
  const look = letters.length > character.length ? character : letters
  if (remembered.size >= maxRemembered) remembered.clear()
  remembered.set(character, look)
  return look
}

/** Digits and signs that stand for letters between others. 0 and 1 always look like letters. */
const signsInWord = /(?<=[a-z])[34578@$]+(?=[a-z])/g
const letterOf: Record<string, string> = {
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  8: 'b',
  '@': 'a',
  $: 's',
}
const withLetters = (text: string) =>
  text.replace(signsInWord, (signs) => signs.replace(/./g, (sign) => letterOf[sign] ?? sign))
