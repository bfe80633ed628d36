/**
 * Characters that move the cursor or reverse the reading direction, and so could disguise text; not
 * the line break.
 */
const unsafeCharacters = /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/gu

/** Keeps line breaks. */
export const sanitize = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').replace(unsafeCharacters, '\uFFFD')

export const toSingleLine = (text: string): string => sanitize(text.replace(/\s+/g, ' ').trim())

export const formatCount = (count: number): string => count.toLocaleString('en')

/** The noun of a count: `app` of 1, `apps` of 0 and 2. */
export const nounOf = (count: number, one: string, many = `${one}s`): string =>
  count === 1 ? one : many

/** `1 app`, `2,000 apps`. */
export const formatQuantity = (count: number, one: string, many?: string): string =>
  `${formatCount(count)} ${nounOf(count, one, many)}`

export const formatMegabytes = (bytes: number): string =>
  `${formatCount(Math.round(bytes / 1e5) / 10)} MB`

/** The size of a text, such as its columns in a terminal. */
export type Measure = (text: string) => number

/** The size in UTF-16 code units. */
export const lengthOf: Measure = ({ length }) => length

/** Code units that a text may have for each unit of its size: more than any script or emoji needs. */
const maxDensity = 8

/**
 * Shortens text to a size, with … at the end. Looks only at its beginning, so the work does not
 * grow with the text.
 */
export function shorten(text: string, size: number, measure: Measure): string {
  const beginning = text.slice(0, maxDensity * size)
  if (beginning.length === text.length && measure(text) <= size) return text
  // Made here, because the first one takes 15 ms, and most commands need none.
  const graphemes = new Intl.Segmenter()
  let room = size - measure('…')
  let end = 0
  for (const { segment, index } of graphemes.segment(beginning)) {
    room -= measure(segment)
    if (room < 0) break
    end = index + segment.length
  }
  return `${beginning.slice(0, end)}…`
}

/** Characters shown before the first difference. */
const contextLength = 8

/**
 * Both texts on one line, each shortened to the size and, if one is too long, from shortly before
 * the first difference.
 */
export function shortenDifference(
  before: string,
  after: string,
  size: number,
  measure: Measure,
): [before: string, after: string] {
  const fits = (text: string) =>
    text.length <= maxDensity * size && measure(toSingleLine(text)) <= size
  const start = fits(before) && fits(after) ? 0 : startBefore(firstDifference(before, after))
  const shown = (text: string) => {
    const end = start + maxDensity * size
    const part = (start > 0 ? '…' : '') + toSingleLine(text.slice(start, end))
    return shorten(end < text.length ? `${part}…` : part, size, measure)
  }
  return [shown(before), shown(after)]

  function startBefore(index: number): number {
    const first = Math.max(0, index - contextLength)
    // Not between the halves of a surrogate pair.
    return /^[\uDC00-\uDFFF]/.test(before.charAt(first)) ? Math.max(0, first - 1) : first
  }
}

function firstDifference(before: string, after: string): number {
  let index = 0
  while (index < before.length && before[index] === after[index]) index++
  return index
}

/** For paths such as `~/apps.sqlite` that do not exist. */
export const tildeAdvice = 'a shell replaces ~ only at the beginning of a word and outside quotes'
