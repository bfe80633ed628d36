import stringWidth from 'string-width'

/** Text as a terminal shows it: safe, and no wider than there is room. */

/** What a pipe or a file is taken for. */
const defaultWidth = 80

export const terminalWidth = () => process.stdout.columns ?? defaultWidth

/** What moves the cursor or turns the direction of reading: in it, what a terminal shows could differ from what is there. */
const deceptive = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu

/** Text of several lines, with nothing in it that could deceive the reader. */
export const safe = (text: string) =>
  text
    .split(/\r\n?|\n/)
    .map((line) => line.replaceAll('\t', '    ').replace(deceptive, '\uFFFD'))
    .join('\n')

export const oneLine = (text: string) => safe(text.replace(/\s+/g, ' ').trim())

const graphemes = new Intl.Segmenter()

/** No wider than so many columns; what is left out is marked. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let kept = ''
  let used = 1
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment)
    if (used > width) break
    kept += segment
  }
  return `${kept}…`
}

/** How much is shown of what stands before a difference. */
const lead = 8

/** Two texts that differ, on a line: each from shortly before where they begin to differ, and no wider than so many columns. */
export function difference(before: string, after: string, width: number): string {
  const [old, now] = [[...oneLine(before)], [...oneLine(after)]]
  const fits = Math.max(old.length, now.length) <= width
  const first = old.findIndex((character, index) => character !== now[index])
  const same = first === -1 ? old.length : first
  const shown = (characters: string[]) =>
    cut(fits || same <= lead ? characters.join('') : `…${characters.slice(same - lead).join('')}`, width)
  return `${shown(old)} → ${shown(now)}`
}

const separator = '  '

/** As little of a spare column as is worth showing. */
const leastSpare = 16

/**
 * The lines of a table, the first of them its head. Where it is wider than the terminal, the widest of the columns that
 * may be shortened is, again and again until it fits. A spare column has what room the others leave, or is left out.
 */
export function tableLines(
  head: string[],
  rows: (string | number)[][],
  shortened: string[] = [],
  spare?: string,
): string[] {
  const lines = [head, ...rows]
  const all = head.map((name, index) => {
    const mayShrink = shortened.includes(name) || name === spare
    const whole = lines.map((line) => oneLine(String(line[index] ?? '')))
    const cells = mayShrink ? whole.map((cell) => cut(cell, terminalWidth())) : whole
    const width = cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0)
    return { name, cells, width, least: mayShrink ? stringWidth(name) : width }
  })
  const widthOf = (columns: typeof all) =>
    columns.reduce((sum, column) => sum + column.width + separator.length, -separator.length)
  const others = all.filter(({ name }) => name !== spare)
  const room = terminalWidth() - widthOf(others) - separator.length
  const columns = all.flatMap((column) => {
    if (column.name !== spare) return [column]
    const isWorthIt = room >= Math.min(column.width, leastSpare) && column.cells.some((cell, line) => line > 0 && cell)
    return isWorthIt ? [{ ...column, width: Math.min(column.width, room) }] : []
  })
  while (widthOf(columns) > terminalWidth()) {
    const [widest] = columns.filter((column) => column.width > column.least).toSorted((a, b) => b.width - a.width)
    if (!widest) break
    widest.width--
  }
  return lines.map((_, line) =>
    columns
      .map((column) => padded(cut(column.cells[line] ?? '', column.width), column.width))
      .join(separator)
      .trimEnd(),
  )
}

const padded = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - stringWidth(text)))

export const grouped = (count: number) => count.toLocaleString('en')
