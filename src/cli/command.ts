import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { type Database, openMigratedDatabase } from '../db/database.ts'
import type { Connection, ServerOptions } from '../db/dialect.ts'
import { type Cell, sanitize, tableLines, terminalWidth } from './terminal-text.ts'

/** How commands are built: a command gets checked arguments and returns a result, which is printed for people or as JSON. */

export type CommandDescription = {
  /** Its name, description, arguments and options. */
  command: Command
  /** More help, printed below the options. */
  about?: string
  /** Command lines without `npx apps-service`. */
  examples: string[]
  /** The fields that `--json` prints. */
  json: string
}

type Output<Args, Result> = {
  /** The value that `--json` prints, if it is not the result itself. Nothing is printed for undefined. */
  toJson?: (result: NoInfer<Result>, args: NoInfer<Args>) => unknown
  /** Prints the result for people. */
  print: (result: NoInfer<Result>, args: NoInfer<Args>) => void
}

/** `Args` are the arguments, the options, and the command itself. */
type CommandParts<Args extends unknown[], Result> = CommandDescription &
  Output<Args, Result> & { run: (...args: Args) => Promise<Result> }

export const buildCommand = <Args extends unknown[], Result>(parts: CommandParts<Args, Result>) =>
  parts.command
    .option('--json', 'print JSON')
    .addHelpText('after', helpText(parts))
    .action(async (...given) => {
      const args = given as Args
      const result = await parts.run(...args)
      if (!parts.command.opts().json) return parts.print(result, args)
      const value = parts.toJson ? parts.toJson(result, args) : result
      if (value !== undefined) printJson(value)
    })

function helpText({ about, examples, json }: CommandDescription): string {
  const title = examples.length === 1 ? 'Example:' : 'Examples:'
  const usage = [title, ...examples.map((example) => `  npx apps-service ${example}`)].join('\n')
  return `\n${[...(about ? [about] : []), usage, `JSON: ${json}`].join('\n\n')}`
}

type DatabaseParts<Args extends unknown[], Result> = CommandDescription &
  Output<Args, Result> & { run: (database: Database, ...args: Args) => Promise<Result> }

/** A command that works on the database of `DATABASE_URL`. */
export const buildDatabaseCommand = <Args extends unknown[], Result>(parts: DatabaseParts<Args, Result>) =>
  buildCommand<Args, Result>({ ...parts, run: (...args) => withDatabase((database) => parts.run(database, ...args)) })

type PageOptions = { page: number; limit: number }

const maxPageSize = 1000

type ListParts<Options, Page> = CommandDescription & {
  /** What the rows are called. */
  rows: string
  find: (connection: Connection, options: Options, limit: number, offset: number) => Promise<Page>
  /** Prints the rows, of which there is at least one. */
  print: (page: NoInfer<Page>, options: NoInfer<Options>) => void
}

/** A command that prints a page of a list. */
export function buildListCommand<Options extends object, Page extends { total: number; note?: string }>({
  rows,
  find,
  print,
  ...parts
}: ListParts<Options, Page>) {
  const offsetOf = ({ page, limit }: PageOptions) => (page - 1) * limit
  const pagesOf = (total: number, limit: number) => Math.ceil(total / limit)
  parts.command
    .option('--page <number>', 'number of the page', parsePositiveInteger, 1)
    .option('--limit <number>', `rows on a page, at most ${maxPageSize}`, parseLimit, 50)
  return buildDatabaseCommand({
    ...parts,
    run: (database, options: Options & PageOptions) =>
      database.snapshot((connection) => find(connection, options, options.limit, offsetOf(options))),
    toJson: ({ total, note: _, ...page }, [{ page: current_page, limit }]) => ({
      ...page,
      pagination: { current_page, total_pages: pagesOf(total, limit), per_page: limit, total },
    }),
    print(found, [options]) {
      const { page, limit } = options
      if (found.total === 0) return printInfo(`No ${rows}.`)
      if (found.note) printInfo(found.note)
      if (offsetOf(options) < found.total) print(found, options)
      printInfo(`Page ${page} of ${pagesOf(found.total, limit)}, ${found.total} in all.`)
    },
  })
}

/** Options that narrow a list of apps. */
export const withFilterOptions = (command: Command) =>
  command
    .option('--developer <name>', 'only apps of this developer')
    .option('--category <slug>', 'only apps in this category')
    .option('--search <text>', 'only apps that the text finds, as in the catalogue')

/** Opens the database of `DATABASE_URL`, and closes it even if the work fails. */
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
    // In a container the account may have only a number.
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

function parseLimit(text: string): number {
  const limit = parsePositiveInteger(text)
  if (limit > maxPageSize) throw new InvalidArgumentError(`It must be ${maxPageSize} at most.`)
  return limit
}

/** Prints text for people, without the characters with which stored data could move the cursor. */
export function print(text: string) {
  process.stdout.write(`${sanitize(text)}\n`)
}

/** Prints to standard error, so that programs that read standard output do not see it. */
export function printInfo(text: string) {
  process.stderr.write(`${sanitize(text)}\n`)
}

/** Prints an error and sets the exit code to 1; the command may go on. */
export function printError(message: string) {
  printInfo(`apps-service: ${message}`)
  process.exitCode = 1
}

export function printJson(value: unknown) {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

type TableOptions = {
  shrinkable?: string[]
  optionalColumn?: string
  /** Lines to print below each row. */
  details?: string[][]
}

export function printTable(
  head: string[],
  rows: Cell[][],
  { shrinkable, optionalColumn, details = [] }: TableOptions = {},
) {
  const [headLine, ...lines] = tableLines(head, rows, shrinkable, optionalColumn)
  const detailed = lines.flatMap((line, index) => [line, ...(details[index] ?? []).map((detail) => indent + detail)])
  print([headLine, ...detailed].join('\n'))
}

const indent = '    '
/** The width of the lines below a table's rows. */
export const detailWidth = () => terminalWidth() - indent.length
