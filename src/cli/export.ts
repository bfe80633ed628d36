import { createWriteStream } from 'node:fs'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Command } from 'commander'
import type { DatabaseWithTools } from '../db/tools.ts'
import { type ExportOptions, exportCatalogue } from '../import-export/export-catalogue.ts'
import { formatQuantity } from '../util/text.ts'
import { withDatabase } from './command.ts'
import { printInfo } from './output.ts'
import { parsePastTime } from './time.ts'
import { writeNewFile } from './write-new-file.ts'

export const command = new Command('export')
  .description('export the catalogue, or what has changed, as a file that import reads')
  .argument(
    '[file]',
    'path of a new file, compressed with gzip if it ends in .gz; default: standard output',
    '-',
  )
  .option(
    '--since <time>',
    'only changes since: the time that the previous export printed, or one in UTC such as 2027-01-31 or 12h',
    parsePastTime,
  )
  .option('--public', 'only public data: approved apps, without data for owners and operators')
  .addHelpText(
    'after',
    `
An export is a snapshot of the catalogue: categories, then apps with their
reviews, in any status, including deleted ones. The last line on standard error
has the --since for the next export. docs/moving-data.md says what is left out,
and how to keep a mirror.

Examples:
  ./apps-service export catalogue.ndjson.gz
  ./apps-service export --public public.ndjson.gz
  ./apps-service export | grep '"status":"pending"'`,
  )
  .action(runExport)

async function runExport(
  file: string,
  { since, public: isPublic }: { since?: string; public?: boolean },
) {
  const options = { since, isPublic }
  const { apps, removed, categories, next } = await withDatabase((database) =>
    file === '-'
      ? exportCatalogue(database, process.stdout, options)
      : writeNewFile(file, 'export', (path) => exportTo(path, database, options)),
  )
  const removals = removed === 0 ? '' : `${formatQuantity(removed, 'removal')}, `
  const written = `${removals}${formatQuantity(apps, 'app')} and ${formatQuantity(categories, 'category', 'categories')}`
  printInfo(`${written} exported. Export later changes with --since ${next}`)
}

async function exportTo(path: string, database: DatabaseWithTools, options: ExportOptions) {
  const output = path.endsWith('.gz') ? createGzip() : new PassThrough()
  const written = pipeline(output, createWriteStream(path))
  const exporting = exportCatalogue(database, output, options).finally(() => output.end())
  // Waits for both, because both must have ended before the database is closed.
  const [exported, end] = await Promise.allSettled([exporting, written])
  if (end.status === 'rejected') throw end.reason
  if (exported.status === 'rejected') throw exported.reason
  return exported.value
}
