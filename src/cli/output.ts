import stringWidth from 'string-width'
import { OperatorError } from '../contract/errors.ts'
import { formatAddress } from '../moderation/describe.ts'
import { sanitize, shorten, shortenDifference, toSingleLine } from '../util/text.ts'

/**
 * Prints results and messages. Texts are made safe for a terminal, and tables fitted to its width.
 * Widths are in columns of the terminal.
 */

/**
 * Prints text for people. Replaces control characters, with which stored data could move the
 * cursor.
 */
export function print(text: string): void {
  process.stdout.write(`${sanitize(text)}\n`)
}

/** Prints a line for each field that is not null. */
export function printFields(fields: Record<string, string | number | null>): void {
  for (const [label, value] of Object.entries(fields)) {
    if (value !== null) print(`${label.padEnd(16)}${toSingleLine(String(value))}`)
  }
}

/** Prints to standard error, so that programs that read standard output do not see it. */
export function printInfo(text: string): void {
  process.stderr.write(`${sanitize(text)}\n`)
}

/** Begins all errors and warnings. */
export const errorPrefix = 'apps-service: '

/** Prints an error and sets the exit code to 1; the command may go on. */
export function printError(message: string): void {
  printInfo(errorPrefix + message)
  process.exitCode = 1
}

/**
 * The message of the cause if that is for operators. Further lines, which only other errors have,
 * are for developers.
 */
export function messageOf(error: Error): string {
  const { message, cause } = error
  if (cause instanceof OperatorError) return cause.message
  const shown = 'statement' in error ? `the database reports: ${message}` : message
  return shown.split('\n', 1).join()
}

/** Prints the reason of `optimizeAtEnd`, if there is one. The exit code is then 1. */
export function printOptimizeProblem(done: string, problem: string | undefined): void {
  if (problem !== undefined)
    printError(
      `${done}, but the database could not be optimized, so searches take longer: ${problem}`,
    )
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** The width of the terminal; 80 if standard output is not one. */
const terminalWidth = () => process.stdout.columns ?? 80

/** Shortens text to a width, with … at the end. */
export const truncate = (text: string, width: number): string => shorten(text, width, stringWidth)

/** Both texts on one line, each at most `width` wide, around the first difference. */
export const formatDifference = (before: string, after: string, width: number): string =>
  shortenDifference(before, after, width, stringWidth).join(' → ')

export const noValue = '(none)'

/** The values of a changed field, in one line below a row. */
export function changedFieldLine(field: string, before: string, after: string): string {
  const label = `${field}: `
  const width = Math.floor((detailWidth() - label.length - ' → '.length) / 2)
  return label + formatDifference(before, after, width)
}

/** An address below a row; its host is whole, even if the line is then too long. */
export const addressLine = (field: string, address: string): string =>
  `${field}: ${formatAddress(address, detailWidth() - field.length - ': '.length)}`

/** One below the other, because a swapped letter is hard to see elsewhere. */
export function changedAddressLines(field: string, before: string, after: string): string[] {
  const size = detailWidth() - field.length - ': '.length
  const [old, now] = [formatAddress(before, size), formatAddress(after, size)]
  const isCut = old === now && formatAddress(before) !== formatAddress(after)
  return [`${field}: ${old}`, `→ ${isCut ? 'changed further on' : now}`]
}

/** The line below a developer who has a contact. */
export const contactLines = (contact: string | null): string[] =>
  contact === null ? [] : [detailLine(`contact: ${contact}`)]

/** Text below a row, in one line that fits the terminal. */
export const detailLine = (text: string): string => truncate(toSingleLine(text), detailWidth())

type Row = Record<string, string | number | null>

type Column = { name: string; cells: string[]; width: number }

const separator = '  '
const indent = '    '

/** The width of the lines below a table's rows. */
const detailWidth = () => terminalWidth() - indent.length

/**
 * Prints rows, of which there is at least one. Its fields are the columns. If the table is wider
 * than the terminal, the `shrinkable` columns are narrowed, the widest first. `details` are lines
 * printed below each row.
 */
export const printTable = (...table: Parameters<typeof tableLines>): void =>
  print(tableLines(...table).join('\n'))

/** The lines of a table, the head first. */
export function tableLines(
  rows: Row[],
  shrinkable: string[] = [],
  details: string[][] = [],
): string[] {
  const columns = Object.keys(rows[0] ?? {}).map((name): Column => {
    const cells = [name, ...rows.map((row) => toSingleLine(String(row[name] ?? '')))]
    return {
      name,
      cells,
      width: cells.reduce((most, cell) => Math.max(most, stringWidth(cell)), 0),
    }
  })
  fitToTerminal(columns, shrinkable)
  const lineOf = (index: number) =>
    columns
      .map(({ cells, width }) => fitToWidth(cells[index] ?? '', width))
      .join(separator)
      .trimEnd()
  const detailsOf = (index: number) =>
    (details[index] ?? []).map((text) => indent + toSingleLine(text))
  return [lineOf(0), ...rows.flatMap((_, index) => [lineOf(index + 1), ...detailsOf(index)])]
}

function fitToTerminal(columns: Column[], shrinkable: string[]) {
  const tableWidth = () =>
    columns.reduce((sum, { width }) => sum + width + separator.length, -separator.length)
  while (tableWidth() > terminalWidth()) {
    const [widest] = columns
      .filter(({ name, width }) => shrinkable.includes(name) && width > name.length)
      .toSorted((a, b) => b.width - a.width)
    if (!widest) return
    widest.width--
  }
}

function fitToWidth(text: string, width: number): string {
  const fitting = truncate(text, width)
  return fitting + ' '.repeat(width - stringWidth(fitting))
}
