import { required } from '../util/helpers.ts'
import { fold } from './fold.ts'
import type { Term } from './terms.ts'

/** Finds the words that differ from another by one typing error, or two. */

/**
 * Whether a term may be a word with a typo. Excludes emoji and runs, which are not prefixes, and
 * four characters that have a letter beside them, as in e-mail, since both may be one word.
 */
export const isCorrectable = ({ text, spellings, isPrefix }: Term): boolean =>
  isPrefix &&
  correctable.test(text) &&
  ([...text].length > 4 || spellings.every((spelling) => [...spelling].length !== 5))

/** Shorter words have too many neighbours at distance one; longer ones cost too much to look up. */
const correctable = /^[\p{L}\p{N}].{3,29}$/u

/**
 * All words at distance one, each once: one letter added, removed or replaced, or two adjacent
 * letters swapped; and the word without the symbols at its end, as in C++.
 */
export function similarWords(word: string): string[] {
  // In Hangul, a typo may change a syllable or one of its letters. A syllable has up to three.
  const letters = word.normalize('NFD')
  const spellings = letters !== word && correctable.test(letters) ? [word, letters] : [word]
  const words = spellings
    .flatMap((letters) => withOneEdit([...letters]))
    .map((changed) => changed.normalize('NFC'))
  return [...new Set([...words, withoutSymbols(word)])].filter(
    (other) => other !== word && !looseJamo.test(other),
  )
}

/**
 * Whether the texts are the same, or differ in one character that is added, removed or replaced, or
 * in two adjacent ones that are swapped.
 */
export function isWithinOneEdit(one: string, other: string): boolean {
  const shorter = Math.min(one.length, other.length)
  // A character has one or two code units.
  if (Math.max(one.length, other.length) - shorter > 2) return false
  let start = 0
  while (start < shorter && one.charCodeAt(start) === other.charCodeAt(start)) start++
  // The halves of a character stay together.
  if (isHighSurrogate(one.charCodeAt(start - 1))) start--
  let end = 0
  while (
    end < shorter - start &&
    one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)
  )
    end++
  if (isLowSurrogate(one.charCodeAt(one.length - end))) end--
  if (shorter - start - end > 4) return false
  const [first, second, ...more] = [...one.slice(start, one.length - end)]
  const others = [...other.slice(start, other.length - end)]
  if (second === undefined && others.length <= 1) return true
  return more.length === 0 && others.length === 2 && first === others[1] && second === others[0]
}

/** Whether the texts differ in at most two such edits. */
export function isWithinTwoEdits(one: string, other: string): boolean {
  const letters = [...one]
  const others = [...other]
  const different = letters.findIndex((letter, at) => letter !== others[at])
  const start = different === -1 ? letters.length : different
  const isRestWithinOne = (skipped: number, othersSkipped: number) =>
    isWithinOneEdit(
      letters.slice(start + skipped).join(''),
      others.slice(start + othersSkipped).join(''),
    )
  const isSwapped = letters[start] === others[start + 1] && letters[start + 1] === others[start]
  return (
    isRestWithinOne(1, 0) ||
    isRestWithinOne(0, 1) ||
    isRestWithinOne(1, 1) ||
    (isSwapped && isRestWithinOne(2, 2))
  )
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00
const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit < 0xe000

/** The word without the symbols at its end, as in C++, and what follows them. */
const withoutSymbols = (word: string) => word.replace(/[+#].*/, '')

/** Letters of Hangul outside a syllable. */
const looseJamo = /[\u1100-\u11FF]/

/** Letters of Hangul that no syllable of Unicode has. */
const archaicJamo = /[\u1113-\u1160\u1176-\u11A7\u11C3-\u11FF]/

function withOneEdit(letters: string[]): string[] {
  const alphabet = alphabetOf(letters)
  return [...letters, ''].flatMap((letter, at) => {
    const before = letters.slice(0, at).join('')
    const after = letters.slice(at + 1).join('')
    return [
      `${before}${after}`,
      [before, letters[at + 1], letter, ...letters.slice(at + 2)].join(''),
      ...alphabet.flatMap((other) => [
        `${before}${other}${after}`,
        `${before}${other}${letter}${after}`,
      ]),
    ]
  })
}

/**
 * Code points per block of Unicode. Few blocks of this size have letters of more than one script.
 */
const blockSize = 128

/** Words from more blocks mix scripts, and would have too many letters to try. */
const maxBlocks = 3

/**
 * The letters of the blocks that the word is in, and so of its script: for Latin, a to z. With
 * digits if the word has one.
 */
function alphabetOf(letters: string[]): string[] {
  const blocks = new Set(
    letters.map((letter) => Math.floor(required(letter.codePointAt(0), 'a letter') / blockSize)),
  )
  if (blocks.size > maxBlocks) return []
  const wanted = letters.some((letter) => /[0-9]/.test(letter))
    ? /[\p{L}\p{M}0-9]/u
    : /[\p{L}\p{M}]/u
  return [...blocks]
    .flatMap((block) => Array.from({ length: blockSize }, (_, index) => block * blockSize + index))
    .map((point) => String.fromCodePoint(point))
    .filter((letter) => wanted.test(letter) && !archaicJamo.test(letter) && fold(letter) === letter)
}
