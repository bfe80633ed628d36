import { isWithinOneEdit } from '../search/typos.ts'

/** Longer than any name of the document, and short enough to compare hundreds. */
const maxLength = 100

/**
 * The known name that another one stands for: it differs in case, hyphens and underscores alone, or
 * else also in one character or in two that are swapped. Undefined if there is none.
 */
export function nearestName(name: string, known: string[]): string | undefined {
  if (name.length > maxLength) return undefined
  const letters = lettersOf(name)
  return (
    known.find((other) => lettersOf(other) === letters) ??
    known.find((other) => isWithinOneEdit(lettersOf(other), letters))
  )
}

const lettersOf = (name: string) => name.toLowerCase().replace(/[_-]/g, '')
