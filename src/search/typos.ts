import { required } from '../util/helpers.ts'
import { fold, type Term } from './terms.ts'

/** Finds the words that differ from another by one typing error. */

/** Whether a term may be a word with a typo. Emoji and runs, which are no prefixes, cannot. */
export const isCorrectable = ({ text, isPrefix }: Term) => isPrefix && correctable.test(text)

/** Shorter words have too many neighbours at distance one; longer ones cost too much to look up. */
const correctable = /^[\p{L}\p{N}].{3,29}$/u

/**
 * All words at distance one, each once: one letter added, removed or replaced, or two adjacent
 * letters swapped; and the word without the symbols at its end, as in C++.
 */
export function similarWords(word: string): string[] {
  // In Hangul, a typo may change a syllable or one of its letters.
  const spellings = new Set([word, word.normalize('NFD')])
  const words = [...spellings]
    .flatMap((letters) => withOneEdit([...letters]))
    .map((changed) => changed.normalize('NFC'))
  return [...new Set([...words, word.replace(/[+#].*/, '')])].filter(
    (other) => other !== word && !looseJamo.test(other),
  )
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
