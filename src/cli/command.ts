import { userInfo } from 'node:os'
import Table from 'cli-table3'
import { InvalidArgumentError } from 'commander'
import { readConfig } from '../config.ts'
import { type Database, openMigratedDatabase } from '../db/open.ts'

/** What every command needs: the database, arguments that are checked, and something to print. */

/** Opens the database that `DATABASE_URL` names, and closes it whatever happens. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openMigratedDatabase(readConfig(process.env).database)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The account that runs the command, as the audit names it. */
export const operator = () => ({ operator: userInfo().username })

export function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(number)) {
    throw new InvalidArgumentError('It must be a whole number from 1.')
  }
  return number
}

export function print(text: string) {
  process.stdout.write(`${text}\n`)
}

/** For people, beside what a program reads from standard output. */
export function note(text: string) {
  process.stderr.write(`${text}\n`)
}

export const printJson = (value: unknown) => print(JSON.stringify(value, null, 2))

export function printTable(head: string[], rows: (string | number)[][]) {
  const bare = Object.fromEntries(
    ['top', 'bottom', 'left', 'right', 'mid']
      .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
      .map((name) => [name, '']),
  )
  const table = new Table({
    head,
    chars: { ...bare, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  table.push(...rows)
  print(table.toString())
}
