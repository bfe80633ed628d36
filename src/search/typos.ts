import { fold, type Term } from './terms.ts'

/** Words that one slip of a finger makes of another. */

/** Shorter words have too many others beside them; longer ones cost too much to look up. */
const shortest = 4
const longest = 30

/** Whether a typo in it can be forgiven. */
export const isForgivable = ({ word = '' }: Term) => [...word].length >= shortest && [...word].length <= longest

/**
 * All words at distance one, each once: a letter more, less or another, or two side by side swapped. The letters are digits,
 * and those that stand near the word's own in Unicode, which are its script's: of Latin, a to z. Those that begin with
 * `absent`, of which it is known that nothing does, are left out.
 */
export function wordsBeside(word: string, absent?: string): string[] {
  // What is typed of Hangul is syllables, and the letters in them.
  const spellings = new Set([word, word.normalize('NFD')])
  const words = [...spellings]
    .flatMap((letters) => withOneChange([...letters]))
    .map((changed) => changed.normalize('NFC'))
  const isThere = (other: string) => absent === undefined || !other.startsWith(absent)
  return [...new Set(words)].filter((other) => other !== word && !looseLetters.test(other) && isThere(other))
}

/** Letters of Hangul that make no syllable. */
const looseLetters = /[\u1100-\u11FF]/

function withOneChange(letters: string[]): string[] {
  const alphabet = [...'0123456789', ...lettersNear(letters)]
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
const part = 128

function lettersNear(letters: string[]): string[] {
  const parts = new Set(letters.map((letter) => Math.floor((letter.codePointAt(0) ?? 0) / part)))
  const points = [...parts].flatMap((number) => Array.from({ length: part }, (_, index) => number * part + index))
  const near = points.map((point) => String.fromCodePoint(point))
  return near.filter((letter) => /[\p{L}\p{M}]/u.test(letter) && fold(letter) === letter)
}
