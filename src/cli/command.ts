import { userInfo } from 'node:os'
import { Command, InvalidArgumentError } from 'commander'
import type { Operator } from '../audit/audit-store.ts'
import { describeDatabaseUrl, readConfig } from '../config.ts'
import { OperatorError, ServiceError, UsageError } from '../contract/errors.ts'
import { type AppReference, parseReference, referenceFormat } from '../contract/field-rules.ts'
import type { DatabaseOptions, QueryRunner } from '../db/engine.ts'
import { openDatabase, openMigratedDatabase } from '../db/open-database.ts'
import type { DatabaseWithTools } from '../db/tools.ts'
import { printInfo, printJson } from './output.ts'

/**
 * Shared by all commands: building them, and opening the database. A command's `run` gets checked
 * arguments and returns a result, which is printed for people or, with `--json`, as JSON.
 */

export function commandGroup(name: string, description: string, commands: Command[]): Command {
  const group = new Command(name).description(description)
  for (const command of commands) group.addCommand(command)
  return group
}

type CommandParts<Result> = {
  /** Its name, description, arguments and options. */
  command: Command
  /** Printed below the options: explanations, examples, and the fields of `--json`. */
  help: string
  /** The value that `--json` prints, if it is not the result itself. */
  toJson?: (result: NoInfer<Result>) => unknown
  /** Prints the result for people, unless `run` has printed it. */
  print?: (result: NoInfer<Result>) => void
}

/**
 * `Args` are what commander passes to an action: the arguments in their order, then the object of
 * options.
 */
export const buildCommand = <Args extends unknown[], Result>({
  command,
  help,
  run,
  toJson = (result) => result,
  print,
}: CommandParts<Result> & { run: (...args: Args) => Promise<Result> }): Command =>
  withRequiredUsage(command)
    .addHelpText('after', help)
    .option('--json', 'print JSON')
    .action(async (...args) => {
      // The last one is the command.
      const result = await run(...(args.slice(0, -1) as Args))
      if (command.opts().json) printJson(toJson(result))
      else print?.(result)
    })

/** Its usage also names the options that it requires, which commander leaves out. */
function withRequiredUsage(command: Command) {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags)
  return command.usage(command.usage().replace('[options]', ['[options]', ...required].join(' ')))
}

/** A command that works on the database of `DATABASE_URL`. */
export const buildDatabaseCommand = <Args extends unknown[], Result>({
  run,
  ...parts
}: CommandParts<Result> & {
  run: (database: DatabaseWithTools, ...args: Args) => Promise<Result>
}): Command =>
  buildCommand<Args, Result>({
    ...parts,
    run: (...args) => withDatabase((database) => run(database, ...args)),
  })

/** Breaks the names of a help text, which follow a word, into lines of at most 80 characters. */
export const wrapNames = (names: string): string =>
  names.replace(/(.{1,72})(?: |$)/g, '$1\n').trim()

type PageOptions = { page: number; limit?: number; json?: true }

const maxPageSize = 1000
const defaultPageSize = 50

type ListParts<Arguments extends unknown[], Options, Page> = {
  command: Command
  help: string
  /** Plural noun for the rows. */
  rows: string
  /** Rows of `--json` without `--limit`, for programs that want them all. */
  jsonLimit?: number
  find: (
    runner: QueryRunner,
    options: Options,
    limit: number,
    offset: number,
    ...args: Arguments
  ) => Promise<Page>
  /** Prints the rows, of which there is at least one. */
  print: (page: NoInfer<Page>, options: NoInfer<Options>) => void
}

/** A command that prints a page of a list. A `note` of the page is printed before its rows. */
export const buildListCommand = <
  Arguments extends unknown[],
  Options extends object,
  Page extends { total: number; note?: string },
>({
  command,
  help,
  rows,
  jsonLimit = defaultPageSize,
  find,
  print,
}: ListParts<Arguments, Options, Page>): Command =>
  buildDatabaseCommand({
    command: command
      .option('--page <number>', 'number of the page', parsePositiveInteger, 1)
      .option(
        '--limit <number>',
        `rows on a page, at most ${maxPageSize} (default: ${defaultPageSize})`,
        parseLimit,
      ),
    help,
    async run(database, ...given: [...Arguments, Options & PageOptions]) {
      // TypeScript does not know which the last and the first ones are.
      const options = given.at(-1) as Options & PageOptions
      const args = given.slice(0, -1) as Arguments
      const { page, json, limit = json ? jsonLimit : defaultPageSize } = options
      const found = await database.snapshot((runner) =>
        find(runner, options, limit, (page - 1) * limit, ...args),
      )
      const total_pages = Math.ceil(found.total / limit)
      return {
        found,
        options,
        pagination: { current_page: page, total_pages, per_page: limit, total: found.total },
      }
    },
    toJson: ({ found: { total: _, note: __, ...page }, pagination }) => ({ ...page, pagination }),
    print({ found, options, pagination: { current_page, total_pages, total } }) {
      if (total === 0) return printInfo(`No ${rows}.`)
      if (found.note) printInfo(found.note)
      if (current_page <= total_pages) print(found, options)
      printInfo(`Page ${current_page} of ${total_pages}, ${total} in all.`)
    },
  })

/** Options that narrow a list of apps. */
export const withFilterOptions = (command: Command): Command =>
  command
    .option('--developer <name>', 'only apps of this developer')
    .option('--category <slug>', 'only apps in this category')

/** Opens the database of `DATABASE_URL`, and closes it even if the work fails. */
export async function withDatabase<T>(
  work: (database: DatabaseWithTools) => Promise<T>,
  options?: DatabaseOptions,
): Promise<T> {
  const { databaseUrl, databaseOptions } = readConfig()
  const database = await openMigratedDatabase(databaseUrl, {
    ...databaseOptions,
    ...options,
  }).catch(rethrowWithOrigin)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The same for work on a database that may not exist or not be migrated. */
export async function withUncheckedDatabase<T>(
  work: (database: DatabaseWithTools) => Promise<T>,
): Promise<T> {
  const { databaseUrl, databaseOptions } = readConfig()
  const database = openDatabase(databaseUrl, databaseOptions)
  return work(database).catch(rethrowWithOrigin).finally(database.close)
}

/** Adds the source of DATABASE_URL to an error about an unusable database. */
function rethrowWithOrigin(error: unknown): never {
  if (!(error instanceof OperatorError || error instanceof ServiceError) || error.cause) throw error
  throw new OperatorError(`${error.message} (${describeDatabaseUrl()})`)
}

/**
 * The account that runs the command and, from `OPERATOR`, the name of the person, for the audit
 * log.
 */
export function currentOperator(): Operator {
  const { operator: operatorName } = readConfig()
  return { operator: currentAccount(), ...(operatorName !== '' && { operatorName }) }
}

function currentAccount(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the account may have only a number.
    return `uid ${process.getuid?.()}`
  }
}

/** A parser for commander of a function that throws an OperatorError for a wrong text. */
export const parseWith =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text)
    } catch (error) {
      throw error instanceof OperatorError ? new UsageError(error.message) : error
    }
  }

/** Parses an argument such as `108` or `108@k3f9a`. */
export function parseAppReference(text: string): AppReference {
  const reference = parseReference(text)
  if (!reference) throw new InvalidArgumentError(`It must be ${referenceFormat}.`)
  return reference
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
