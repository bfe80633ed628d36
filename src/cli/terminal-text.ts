import stringWidth from 'string-width'
import { required } from '../util/helpers.ts'

/** Makes text safe to print on a terminal, and fits it to the width. */

/** Columns, if standard output is not a terminal. */
const defaultWidth = 80

export const terminalWidth = () => process.stdout.columns ?? defaultWidth

/** Characters that move the cursor or reverse the reading direction, and so could disguise text. */
const unsafeCharacters = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu

/** Keeps line breaks. */
export const sanitize = (text: string) =>
  text
    .split(/\r\n?|\n/)
    .map((line) => line.replaceAll('\t', '    ').replace(unsafeCharacters, '\uFFFD'))
    .join('\n')

export const toSingleLine = (text: string) => sanitize(text.replace(/\s+/g, ' ').trim())

const graphemes = new Intl.Segmenter()

/** Shortens text to a width in columns, with … at the end. */
export function truncate(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let result = ''
  let used = 1
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment)
    if (used > width) break
    result += segment
  }
  return `${result}…`
}

/** Characters shown before the first difference. */
const contextLength = 8

/** Both texts on one line, each from shortly before the first difference and at most `width` columns wide. */
export function formatDifference(before: string, after: string, width: number): string {
  const [old, now] = [[...toSingleLine(before)], [...toSingleLine(after)]]
  const fits = Math.max(old.length, now.length) <= width
  const first = old.findIndex((character, index) => character !== now[index])
  const same = first === -1 ? old.length : first
  const shown = (characters: string[]) =>
    truncate(
      fits || same <= contextLength ? characters.join('') : `…${characters.slice(same - contextLength).join('')}`,
      width,
    )
  return `${shown(old)} → ${shown(now)}`
}

const separator = '  '

/** Columns. A narrower optional column is left out. */
const minOptionalWidth = 16

export type Cell = string | number | null

/**
 * The lines of a table, the head first. If it is wider than the terminal, the widest shrinkable column is narrowed until
 * it fits. The optional column gets the width that the others leave, or is left out.
 */
export function tableLines(
  head: string[],
  rows: Cell[][],
  shrinkable: string[] = [],
  optionalColumn?: string,
): string[] {
  const columns = head.map((name, index) => {
    const cells = [name, ...rows.map((row) => toSingleLine(String(row[index] ?? '')))]
    const width = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0)
    return { name, cells, width, minWidth: shrinkable.includes(name) ? stringWidth(name) : width }
  })
  const widthOf = (some: typeof columns) => some.reduce((sum, { width }) => sum + width + separator.length, 0)
  const available = terminalWidth() + separator.length
  const optional = columns.find(({ name }) => name === optionalColumn)
  if (optional) {
    const left = available - widthOf(columns) + optional.width
    const isEmpty = optional.cells.every((cell, line) => line === 0 || cell === '')
    if (isEmpty || left < Math.min(optional.width, minOptionalWidth)) columns.splice(columns.indexOf(optional), 1)
    optional.width = Math.min(optional.width, left)
  }
  while (widthOf(columns) > available) {
    const [widest] = columns.filter((column) => column.width > column.minWidth).toSorted((a, b) => b.width - a.width)
    if (!widest) break
    widest.width--
  }
  const lineOf = (index: number) =>
    columns
      .map(({ cells, width }) => fitToWidth(required(cells[index], 'a cell'), width))
      .join(separator)
      .trimEnd()
  return [head, ...rows].map((_, index) => lineOf(index))
}

function fitToWidth(text: string, width: number): string {
  const fitting = truncate(text, width)
  return fitting + ' '.repeat(width - stringWidth(fitting))
}

export const formatCount = (count: number) => count.toLocaleString('en')
