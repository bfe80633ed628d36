import stringWidth from 'string-width'

/** Text as a terminal shows it: safe, and no wider than there is room. */

/** What a pipe or a file is taken for. */
const defaultWidth = 80

export const terminalWidth = () => process.stdout.columns ?? defaultWidth

/** What moves the cursor or turns the direction of reading: in it, what a terminal shows could differ from what is there. */
const unsafeCharacters = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu

/** Text of several lines, with nothing in it that could deceive the reader. */
export const sanitize = (text: string) =>
  text
    .split(/\r\n?|\n/)
    .map((line) => line.replaceAll('\t', '    ').replace(unsafeCharacters, '\uFFFD'))
    .join('\n')

export const toSingleLine = (text: string) => sanitize(text.replace(/\s+/g, ' ').trim())

const graphemes = new Intl.Segmenter()

/** No wider than so many columns; what is left out is marked. */
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

/** How much is shown of what stands before a difference. */
const contextLength = 8

/** Two texts that differ, on a line: each from shortly before where they begin to differ, and no wider than so many columns. */
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

/** As little of a spare column as is worth showing. */
const minOptionalWidth = 16

/**
 * The lines of a table, the first of them its head. Where it is wider than the terminal, the widest of the columns that
 * may be shortened is, again and again until it fits. A spare column has what room the others leave, or is left out.
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
