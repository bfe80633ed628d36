import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { type Database, openMigratedDatabase } from '../db/database.ts'
import { safe, tableLines, terminalWidth } from './terminal-text.ts'

/** What every command needs: the database, arguments that are checked, and something to print. */

/** Opens the database that `DATABASE_URL` names, and closes it whatever happens. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const { databaseUrl, databaseOptions } = readConfig(process.env)
  const database = await openMigratedDatabase(databaseUrl, databaseOptions)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The account that runs the command, as the audit names it. */
export function operator() {
  try {
    return { operator: userInfo().username }
  } catch {
    // In a container an account may have a number alone.
    return { operator: `uid ${process.getuid?.()}` }
  }
}

export function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(number)) {
    throw new InvalidArgumentError('It must be a whole number from 1.')
  }
  return number
}

/** Text for people: whoever named what stands in it does not move the cursor, nor turn the direction of reading. */
export function print(text: string) {
  process.stdout.write(`${safe(text)}\n`)
}

/** For people, beside what a program reads from standard output. */
export function note(text: string) {
  process.stderr.write(`${safe(text)}\n`)
}

/** How far something is, as a note every ten seconds: what is given between is passed over. */
export function notesNowAndThen(): (text: () => string) => void {
  let last = performance.now()
  return (text) => {
    if (performance.now() - last < 10_000) return
    last = performance.now()
    note(text())
  }
}

export function printJson(value: unknown) {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

export function printTable(head: string[], rows: (string | number)[][], shortened: string[] = []) {
  print(tableLines(head, rows, shortened).join('\n'))
}

/** A table with lines of their own below its rows. */
export function printDetailedTable(
  head: string[],
  rows: { cells: (string | number)[]; details: string[] }[],
  shortened: string[] = [],
  spare?: string,
) {
  const [headLine, ...lines] = tableLines(
    head,
    rows.map(({ cells }) => cells),
    shortened,
    spare,
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
export function complain(message: string) {
  note(`apps-service: ${message}`)
  process.exitCode = 1
}

/** Options that narrow a list of apps. */
export const filtered = (command: Command) =>
  command
    .option('--developer <name>', 'of this developer')
    .option('--category <slug>', 'in this category')
    .option('--search <text>', 'each word of it is in the name, slug or package name')

export type PageOptions = { page: number; limit: number; json?: true }

const maximumLimit = 1000

export const paged = (command: Command) =>
  command
    .option('--page <number>', 'which page', wholeNumber, 1)
    .option('--limit <number>', `how many on a page, ${maximumLimit} at most`, limitFrom, 50)

function limitFrom(text: string): number {
  const limit = wholeNumber(text)
  if (limit > maximumLimit) throw new InvalidArgumentError(`It must be ${maximumLimit} at most.`)
  return limit
}

export const offsetOf = ({ page, limit }: PageOptions) => (page - 1) * limit

/**
 * One page of a list; for people, where in the list it is goes beside what they asked for. What is `beside` the rows is for
 * programs.
 */
export function printPage<Row>(
  what: string,
  { rows, total, beside }: { rows: Row[]; total: number; beside?: object },
  { page, limit, json }: PageOptions,
  printRows: (rows: Row[]) => void,
) {
  const total_pages = Math.ceil(total / limit)
  const pagination = { current_page: page, total_pages, per_page: limit, total }
  if (json) return printJson({ [what]: rows, ...beside, pagination })
  if (total === 0) return note(`No ${what}.`)
  if (rows.length > 0) printRows(rows)
  note(`Page ${page} of ${total_pages}, ${total} in all.`)
}
