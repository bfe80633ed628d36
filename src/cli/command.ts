import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { type Database, openMigratedDatabase } from '../db/database.ts'
import type { ServerOptions } from '../db/dialect.ts'
import { sanitize, tableLines, terminalWidth } from './terminal-text.ts'

/** What every command needs: the database, arguments that are checked, and something to print. */

/** Opens the database that `DATABASE_URL` names, and closes it whatever happens. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>, options?: ServerOptions): Promise<T> {
  const { databaseUrl, databaseOptions } = readConfig(process.env)
  const database = await openMigratedDatabase(databaseUrl, { ...databaseOptions, ...options })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The account that runs the command, as the audit names it. */
export function currentOperator() {
  try {
    return { operator: userInfo().username }
  } catch {
    // In a container an account may have a number alone.
    return { operator: `uid ${process.getuid?.()}` }
  }
}

export function parsePositiveInteger(text: string): number {
  const number = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(number)) {
    throw new InvalidArgumentError('It must be a whole number from 1.')
  }
  return number
}

/** Text for people: whoever named what stands in it does not move the cursor, nor turn the direction of reading. */
export function print(text: string) {
  process.stdout.write(`${sanitize(text)}\n`)
}

/** For people, beside what a program reads from standard output. */
export function printInfo(text: string) {
  process.stderr.write(`${sanitize(text)}\n`)
}

/** How far something is, as a note every ten seconds: what is given between is passed over. */
export function createProgressPrinter(): (text: () => string) => void {
  let last = performance.now()
  return (text) => {
    if (performance.now() - last < 10_000) return
    last = performance.now()
    printInfo(text())
  }
}

export function printJson(value: unknown) {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

export function printTable(head: string[], rows: (string | number)[][], shrinkable: string[] = []) {
  print(tableLines(head, rows, shrinkable).join('\n'))
}

/** A table with lines of their own below its rows. */
export function printDetailedTable(
  head: string[],
  rows: { cells: (string | number)[]; details: string[] }[],
  shrinkable: string[] = [],
  optionalColumn?: string,
) {
  const [headLine, ...lines] = tableLines(
    head,
    rows.map(({ cells }) => cells),
    shrinkable,
    optionalColumn,
  )
  const detailed = lines.flatMap((line, index) => [
    line,
    ...(rows[index]?.details ?? []).map((detail) => indent + detail),
  ])
  print([headLine, ...detailed].join('\n'))
}

const indent = '    '
/** How much room there is below a table's row. */
export const detailWidth = () => terminalWidth() - indent.length

/** One line of what went wrong; the command goes on, and has failed. */
export function printError(message: string) {
  printInfo(`apps-service: ${message}`)
  process.exitCode = 1
}

/** Options that narrow a list of apps. */
export const withFilterOptions = (command: Command) =>
  command
    .option('--developer <name>', 'of this developer')
    .option('--category <slug>', 'in this category')
    .option('--search <text>', 'each word of it is in the name, slug or package name')

export type PageOptions = { page: number; limit: number; json?: true }

const maxPageSize = 1000

export const withPageOptions = (command: Command) =>
  command
    .option('--page <number>', 'which page', parsePositiveInteger, 1)
    .option('--limit <number>', `how many on a page, ${maxPageSize} at most`, parseLimit, 50)

function parseLimit(text: string): number {
  const limit = parsePositiveInteger(text)
  if (limit > maxPageSize) throw new InvalidArgumentError(`It must be ${maxPageSize} at most.`)
  return limit
}

export const pageOffset = ({ page, limit }: PageOptions) => (page - 1) * limit

/**
 * One page of a list; for people, where in the list it is goes beside what they asked for. `extra` is for programs.
 */
export function printPage<Row>(
  name: string,
  { rows, total, extra }: { rows: Row[]; total: number; extra?: object },
  { page, limit, json }: PageOptions,
  printRows: (rows: Row[]) => void,
) {
  const total_pages = Math.ceil(total / limit)
  const pagination = { current_page: page, total_pages, per_page: limit, total }
  if (json) return printJson({ [name]: rows, ...extra, pagination })
  if (total === 0) return printInfo(`No ${name}.`)
  if (rows.length > 0) printRows(rows)
  printInfo(`Page ${page} of ${total_pages}, ${total} in all.`)
}
