import { createWriteStream } from 'node:fs'
import { finished, pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Command } from 'commander'
import type { Database } from '../db/database.ts'
import { exportCatalogue } from '../transfer/export.ts'
import { printInfo, withDatabase } from './command.ts'
import { parsePastTime } from './time.ts'
import { writeNewFile } from './write-new-file.ts'

export const exportCommand = () =>
  new Command('export')
    .description('write the catalogue as a file that import reads: all of it, or what has changed')
    .argument('[file]', 'path of a new file, gzip where it ends in .gz; standard output where it is left out', '-')
    .option(
      '--since <time>',
      'only what has changed since: what the export before printed for it, or a time such as 2027-01-31 or 12h',
      parsePastTime,
    )
    .addHelpText(
      'after',
      `
It is the catalogue of one moment: categories, then apps with their reviews, in
whatever state. Deleted apps are in it too, and keep their ids, slugs and
package names; so is what an operator has yet to look at. API keys, the audit,
and developers without an app are not.

With --since it holds what has changed: apps, their reviews, the names of their
developers and categories, and deleted apps as lines with deleted_at. The last
line on standard error says what to give the next time. That is some time ago
already, so that nothing is missed; what comes twice is unchanged when it is
imported.

Examples:
  npx apps-service export catalogue.ndjson.gz
  npx apps-service export | grep '"status":"pending"'

The file gets its name when it is whole, not before.

To keep a mirror, migrate an empty database and import a whole export into it
once, and then, from cron:
  npx apps-service export --since 2h |
    DATABASE_URL=sqlite:mirror.sqlite npx apps-service import -`,
    )
    .action(runExport)

async function runExport(file: string, { since }: { since?: string }) {
  const { apps, categories, next } = await withDatabase((database) =>
    file === '-'
      ? exportCatalogue(database, process.stdout, since)
      : writeNewFile(file, 'export', (path) => exportTo(path, database, since)),
  )
  printInfo(`${apps} apps and ${categories} categories exported. What changes from now on: --since ${next}`)
}

async function exportTo(path: string, database: Database, since: string | undefined) {
  const target = createWriteStream(path)
  const gzip = path.endsWith('.gz') ? createGzip() : undefined
  const output = gzip ?? target
  const written = gzip ? pipeline(gzip, target) : finished(target)
  const exporting = exportCatalogue(database, output, since).finally(() => output.end())
  // Neither goes on when the database is closed.
  const [exported, end] = await Promise.allSettled([exporting, written])
  if (end.status === 'rejected') throw end.reason
  if (exported.status === 'rejected') throw exported.reason
  return exported.value
}
