import { required } from '../util/helpers.ts'
import { fold } from './fold.ts'
import { isFunctionWord, type Term } from './terms.ts'

/** Finds the words that differ from another by one typing error, or two. */

/**
 * Whether a term may be a word with a typo. Excludes words of grammar, emoji and runs, which are not
 * prefixes, and four characters that have a letter beside them, as in e-mail, since both may be one
 * word.
 */
export const isCorrectable = ({ text, spellings, isPrefix }: Term): boolean =>
  isPrefix &&
  correctable.test(text) &&
  !isFunctionWord(text) &&
  ([...text].length > 4 || spellings.every((spelling) => [...spelling].length !== 5))

/** Shorter words have too many neighbours at distance one; longer ones cost too much to look up. */
const correctable = /^[\p{L}\p{N}].{3,29}$/u

/**
 * All words at distance one, each once: one letter added, removed or replaced, or two adjacent
 * letters swapped.
 */
export function similarWords(word: string): string[] {
  // In Hangul, a typo may change a syllable or one of its letters. A syllable has up to three.
  const letters = word.normalize('NFD')
  const spellings = letters !== word && correctable.test(letters) ? [word, letters] : [word]
  const words = spellings
    .flatMap((letters) => withOneEdit([...letters]))
    .map((changed) => changed.normalize('NFC'))
  return [...new Set(words)].filter((other) => other !== word && !looseJamo.test(other))
}

/**
 * Whether the texts differ in at most so many edits: a character that is added, removed or replaced,
 * or two adjacent ones that are swapped.
 */
export function isWithinEdits(maxEdits: number, one: string, other: string): boolean {
  // A character has one or two code units.
  if (Math.abs(one.length - other.length) > 2 * maxEdits) return false
  const letters = [...one]
  const others = [...other]
  return isRestWithin(maxEdits, 0, 0)

  /** Whether the letters from these positions on differ in at most so many edits. */
  function isRestWithin(edits: number, at: number, otherAt: number): boolean {
    let equal = 0
    while (at + equal < letters.length && letters[at + equal] === others[otherAt + equal]) equal++
    const end = at + equal
    const otherEnd = otherAt + equal
    if (end === letters.length && otherEnd === others.length) return true
    const isWithout = (removed: number, othersRemoved: number) =>
      isRestWithin(edits - 1, end + removed, otherEnd + othersRemoved)
    const isSwapped = letters[end] === others[otherEnd + 1] && letters[end + 1] === others[otherEnd]
    return (
      edits > 0 &&
      (isWithout(1, 0) || isWithout(0, 1) || isWithout(1, 1) || (isSwapped && isWithout(2, 2)))
    )
  }
}

/** Letters of Hangul outside a syllable. */
const looseJamo = /[\u1100-\u11FF]/

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
    .filter((letter) => wanted.test(letter) && fold(letter) === letter)
}
