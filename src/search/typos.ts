import { fold, type Term } from './terms.ts'

/** Words that one slip of a finger makes of another. */

/** Whether a term may be a word with a typo: scripts without spaces have terms of several tokens, and emoji are no letters. */
export const isCorrectable = ({ text, forms }: Term) => forms[0]?.tokens.length === 1 && correctable.test(text)

/** Shorter words have too many others beside them; longer ones cost too much to look up. */
const correctable = /^[\p{L}\p{N}].{3,29}$/u

/**
 * All words at distance one, each once: a letter more, less or another, or two side by side swapped. The letters are those that
 * are near the word's own in Unicode, which are its script's: of Latin, a to z. Digits are tried if the word has one.
 */
export function similarWords(word: string): string[] {
  // What is typed of Hangul is syllables, and the letters in them.
  const spellings = new Set([word, word.normalize('NFD')])
  const words = [...spellings]
    .flatMap((letters) => withOneEdit([...letters]))
    .map((changed) => changed.normalize('NFC'))
  return [...new Set(words)].filter((other) => other !== word && !looseJamo.test(other))
}

const isDigit = /[0-9]/

/** Letters of Hangul that make no syllable. */
const looseJamo = /[\u1100-\u11FF]/

function withOneEdit(letters: string[]): string[] {
  const digits = letters.some((letter) => isDigit.test(letter)) ? [...'0123456789'] : []
  const alphabet = [...digits, ...nearbyLetters(letters)]
  const changed = letters.flatMap((letter, at) => {
    const before = letters.slice(0, at).join('')
    const [next = '', ...rest] = letters.slice(at + 1)
    const behind = next + rest.join('')
    return [
      `${before}${behind}`,
      `${before}${next}${letter}${rest.join('')}`,
      ...alphabet.flatMap((other) => [`${before}${other}${behind}`, `${before}${other}${letter}${behind}`]),
    ]
  })
  return [...changed, ...alphabet.map((other) => `${letters.join('')}${other}`)]
}

/** How many code points share a part of Unicode: few parts hold more than one script. */
const blockSize = 128

const blocksOf = (letters: string[]) =>
  new Set(letters.map((letter) => Math.floor((letter.codePointAt(0) ?? 0) / blockSize)))

/** How many words `similarWords` returns, at most. */
export function countSimilarWords(word: string): number {
  const letters = [...word.normalize('NFD')]
  return 4 * (letters.length + 1) * (blockSize * blocksOf(letters).size + 11)
}

function nearbyLetters(letters: string[]): string[] {
  const points = [...blocksOf(letters)].flatMap((number) =>
    Array.from({ length: blockSize }, (_, index) => number * blockSize + index),
  )
  const near = points.map((point) => String.fromCodePoint(point))
  return near.filter((letter) => /[\p{L}\p{M}]/u.test(letter) && fold(letter) === letter)
}
