import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { UsageError } from '../contract/errors.ts'
import { copyDatabase } from '../db/copy-database.ts'
import { databaseUrlFormats, isDatabaseUrl } from '../db/database-url.ts'
import { formatQuantity } from '../util/text.ts'
import { buildCommand } from './command.ts'
import { print, printOptimizeProblem } from './output.ts'
import { showCount } from './progress.ts'
import { elapsedSeconds } from './time.ts'

export const command = buildCommand({
  command: new Command('copy')
    .description('copy the whole database into another, empty one, of the same engine or another')
    .requiredOption('--to <url>', 'URL of the other database, in the format of DATABASE_URL'),
  help: `
Stop the server first. Migrate the other database first; it must be empty. The
copy is one transaction, so an interrupted copy leaves the other database empty.
Other users of the machine can see a password in an argument: put it into
~/.pgpass or PGPASSWORD.

Examples:
  ./apps-service copy --to postgres://apps@db.example/apps

JSON: {to, rows, seconds}; rows is the number of rows of each table.`,
  async run({ to }: { to: string }) {
    const { databaseUrl } = readConfig()
    if (!isDatabaseUrl(to)) throw new UsageError(`--to must be ${databaseUrlFormats}`)
    const begin = performance.now()
    const { name, counts, optimizeProblem } = await copyDatabase(databaseUrl, to, showCount('row'))
    printOptimizeProblem('everything was copied', optimizeProblem)
    return { to: name, rows: counts, seconds: elapsedSeconds(begin) }
  },
  print({ to, rows: { apps, reviews, audit }, seconds }) {
    const copied = `${formatQuantity(apps, 'app')}, ${formatQuantity(reviews, 'review')} and ${formatQuantity(audit, 'audit entry', 'audit entries')}`
    print(
      `Copied everything to ${to}: ${copied}, in ${seconds} s. Set DATABASE_URL to it, and start the server.`,
    )
  },
})
