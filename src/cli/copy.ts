import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { OperatorError } from '../contract/errors.ts'
import { copyDatabase } from '../db/copy.ts'
import { isDatabaseUrl, urlFormats } from '../db/database.ts'
import { createProgressPrinter, print, printJson } from './command.ts'
import { formatCount } from './terminal-text.ts'
import { elapsedSeconds } from './time.ts'

export const copyCommand = () =>
  new Command('copy')
    .description('copy all of the database into another, empty one, of the same engine or another')
    .requiredOption('--to <address>', 'the other database, as DATABASE_URL would name it')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
All of it: apps, reviews, developers, categories, keys, the audit, and which ids
and slugs were given already. What was served from the one is served from the
other, byte for byte. The other database is migrated first, and has nothing in
it; it gets all in one moment, or nothing: a copy that was stopped is begun
again. Stop the server before; while it lasts nobody writes to the first.

Example:
  npx apps-service copy --to postgres://apps@db.example/apps

A password in an argument is seen by who lists processes: put it into ~/.pgpass
or PGPASSWORD.

JSON: {to, rows, seconds}; rows is how many of each table.`,
    )
    .action(copy)

async function copy(options: { to: string; json?: true }) {
  const { databaseUrl, databaseOptions } = readConfig(process.env)
  if (!isDatabaseUrl(options.to)) throw new OperatorError(`--to must be ${urlFormats}`)
  const begin = performance.now()
  const noteProgress = createProgressPrinter()
  const onProgress = (done: number, total: number) =>
    noteProgress(() => `${formatCount(done)} of ${formatCount(total)} rows`)
  const { name, counts } = await copyDatabase(databaseOptions.direct ?? databaseUrl, options.to, onProgress)
  const seconds = elapsedSeconds(begin)
  if (options.json) return printJson({ to: name, rows: counts, seconds })
  const { apps, reviews, audit } = counts
  const what = `${formatCount(apps)} apps, ${formatCount(reviews)} reviews and ${formatCount(audit)} entries of the audit`
  print(`Copied all to ${name}: ${what}, in ${seconds} s. Set DATABASE_URL to it, and start the server.`)
}
