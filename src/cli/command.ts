import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { type Database, openMigratedDatabase } from '../db/database.ts'
import type { Connection, ServerOptions } from '../db/dialect.ts'
import { sanitize, tableLines, terminalWidth } from './terminal-text.ts'

/** How every command is built: it gets the database and checked arguments, and prints its result for people or as JSON. */

type CommandParts<Args extends unknown[], Result> = {
  /** Printed below the options. It ends with the fields that `--json` prints. */
  help: string
  /** What `--json` prints. */
  json?: string
  run: (...args: Args) => Promise<Result>
  /** The value that `--json` prints, if it is not the result itself. */
  toJson?: (result: NoInfer<Result>, args: NoInfer<Args>) => unknown
  /** Prints the result for people. */
  print: (result: NoInfer<Result>, args: NoInfer<Args>) => void
}

/** Adds the action, its help and `--json` to a command. `Args` are the command's arguments, then its options. */
export const addAction = <Args extends unknown[], Result>(
  command: Command,
  { help, json = 'one JSON object', run, toJson, print }: CommandParts<Args, Result>,
) =>
  command
    .option('--json', `print ${json}`)
    .addHelpText('after', help)
    .action(async (...args) => {
      // commander passes the command itself, too, as the last argument.
      const given = args.slice(0, -1) as Args
      const result = await run(...given)
      if (command.opts().json) printJson(toJson ? toJson(result, given) : result)
      else print(result, given)
    })

/** The same for a command that works on the database of `DATABASE_URL`. */
export const addDatabaseAction = <Args extends unknown[], Result>(
  command: Command,
  {
    run,
    ...parts
  }: Omit<CommandParts<Args, Result>, 'run'> & { run: (database: Database, ...args: Args) => Promise<Result> },
) =>
  addAction<Args, Result>(command, { ...parts, run: (...args) => withDatabase((database) => run(database, ...args)) })

type PageOptions = { page: number; limit: number }

const maxPageSize = 1000

/** The same for a command that prints a page of a list. `name` is the field with the rows. */
export function addListAction<Options extends object, Page extends { total: number; note?: string }>(
  command: Command,
  name: string,
  parts: {
    help: string
    find: (connection: Connection, options: Options, limit: number, offset: number) => Promise<Page>
    /** Prints the rows, of which there is at least one. */
    print: (page: NoInfer<Page>, options: NoInfer<Options>) => void
  },
) {
  const offsetOf = ({ page, limit }: PageOptions) => (page - 1) * limit
  const pagesOf = (total: number, limit: number) => Math.ceil(total / limit)
  command
    .option('--page <number>', 'number of the page', parsePositiveInteger, 1)
    .option('--limit <number>', `rows on a page, at most ${maxPageSize}`, parseLimit, 50)
  return addDatabaseAction(command, {
    help: parts.help,
    run: (database, options: Options & PageOptions) =>
      database.snapshot((connection) => parts.find(connection, options, options.limit, offsetOf(options))),
    toJson: ({ total, note: _, ...rows }, [{ page, limit }]) => ({
      ...rows,
      pagination: { current_page: page, total_pages: pagesOf(total, limit), per_page: limit, total },
    }),
    print(found, [options]) {
      const { page, limit } = options
      if (found.total === 0) return printInfo(`No ${name}.`)
      if (found.note) printInfo(found.note)
      if (offsetOf(options) < found.total) parts.print(found, options)
      printInfo(`Page ${page} of ${pagesOf(found.total, limit)}, ${found.total} in all.`)
    },
  })
}

/** Options that narrow a list of apps. */
export const withFilterOptions = (command: Command) =>
  command
    .option('--developer <name>', 'only apps of this developer')
    .option('--category <slug>', 'only apps in this category')
    .option('--search <text>', 'only apps with each word in the name, slug or package name')

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

/** Returns a function that prints progress, at most once every ten seconds. */
export function createProgressPrinter(): (text: () => string) => void {
  let last = performance.now()
  return (text) => {
    if (performance.now() - last < 10_000) return
    last = performance.now()
    printInfo(text())
  }
}

type TableOptions = {
  shrinkable?: string[]
  optionalColumn?: string
  /** Lines to print below each row. */
  details?: string[][]
}

export function printTable(
  head: string[],
  rows: (string | number)[][],
  { shrinkable, optionalColumn, details = [] }: TableOptions = {},
) {
  const [headLine, ...lines] = tableLines(head, rows, shrinkable, optionalColumn)
  const detailed = lines.flatMap((line, index) => [line, ...(details[index] ?? []).map((detail) => indent + detail)])
  print([headLine, ...detailed].join('\n'))
}

const indent = '    '
/** The width of the lines below a table's rows. */
export const detailWidth = () => terminalWidth() - indent.length
