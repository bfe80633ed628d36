import stringWidth from 'string-width'

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

/**
 * The lines of a table, the head first. If it is wider than the terminal, the widest shrinkable column is narrowed until
 * it fits. The optional column gets the width that the others leave, or is left out.
 */
export function tableLines(
  head: string[],
  rows: (string | number)[][],
  shrinkable: string[] = [],
  optionalColumn?: string,
): string[] {
  const lines = [head, ...rows]
  const all = head.map((name, index) => {
    const isShrinkable = shrinkable.includes(name) || name === optionalColumn
    const whole = lines.map((line) => toSingleLine(String(line[index] ?? '')))
    const cells = isShrinkable ? whole.map((cell) => truncate(cell, terminalWidth())) : whole
    const width = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0)
    return { name, cells, width, minWidth: isShrinkable ? stringWidth(name) : width }
  })
  const widthOf = (columns: typeof all) =>
    columns.reduce((sum, column) => sum + column.width + separator.length, -separator.length)
  const others = all.filter(({ name }) => name !== optionalColumn)
  const availableWidth = terminalWidth() - widthOf(others) - separator.length
  const columns = all.flatMap((column) => {
    if (column.name !== optionalColumn) return [column]
    const isWideEnough =
      availableWidth >= Math.min(column.width, minOptionalWidth) && column.cells.some((cell, line) => line > 0 && cell)
    return isWideEnough ? [{ ...column, width: Math.min(column.width, availableWidth) }] : []
  })
  while (widthOf(columns) > terminalWidth()) {
    const [widest] = columns.filter((column) => column.width > column.minWidth).toSorted((a, b) => b.width - a.width)
    if (!widest) break
    widest.width--
  }
  return lines.map((_, line) =>
    columns
      .map((column) => padToWidth(truncate(column.cells[line] ?? '', column.width), column.width))
      .join(separator)
      .trimEnd(),
  )
}

const padToWidth = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - stringWidth(text)))

export const formatCount = (count: number) => count.toLocaleString('en')
