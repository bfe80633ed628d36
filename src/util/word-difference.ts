import { diffArrays } from 'diff'
import { required } from './helpers.ts'

/** Compares two texts word by word, to show what an owner changed. */

export type Part = { kind: 'same' | 'removed' | 'added'; text: string }

/**
 * Words that are removed and added, together. The time grows with its square; texts with more
 * differences are easier to read apart.
 */
const maxChangedWords = 200

/**
 * The parts of both texts, in order: `same` and `added` make up `after`, `same` and `removed` make
 * up `before`. Long parts that are the same are shortened in the middle. Undefined if the texts
 * differ in more than 200 words.
 */
export function wordDifference(before: string, after: string): Part[] | undefined {
  const graphemes = new Intl.Segmenter()
  return fullWordDifference(before, after)?.map(({ kind, text }) => ({
    kind,
    text: kind === 'same' ? shortenMiddle(text, graphemes) : text,
  }))
}

/** As `wordDifference`, without shortening. */
export function fullWordDifference(before: string, after: string): Part[] | undefined {
  const changes = diffArrays(splitWords(before), splitWords(after), {
    maxEditLength: maxChangedWords,
  })
  return changes?.map(({ added, removed, value }) => ({
    kind: added ? 'added' : removed ? 'removed' : 'same',
    text: value.join(''),
  }))
}

/**
 * Words with the space before them. Scripts without spaces are split into characters; combining
 * marks and the parts of an emoji stay together.
 */
// recheck-ignore: one pass, since no alternative begins as another does. NewAppDescription limits
// texts to 20,000 characters.
const word =
  /\s*(?:[[\p{L}\p{N}\p{M}_\u200C\u200D]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmr}\p{scx=Mymr}]]+|\p{RI}{2}|\S(?:\u200D\S|[\p{M}\p{EMod}\u{E0020}-\u{E007F}])*)|\s+/gv

const splitWords = (text: string): string[] => text.match(word) ?? []

/** Characters at each end of a shortened part. */
const shownLength = 60

/** Cuts between graphemes, so that neither end has more than 60 characters. */
function shortenMiddle(text: string, graphemes: Intl.Segmenter): string {
  if (text.length <= 2 * shownLength + 1) return text
  const segments = graphemes.segment(text)
  const first = required(segments.containing(shownLength), 'the grapheme after the first ones')
  const last = required(
    segments.containing(text.length - shownLength - 1),
    'the grapheme before the last ones',
  )
  return `${text.slice(0, first.index)}…${text.slice(last.index + last.segment.length)}`
}
