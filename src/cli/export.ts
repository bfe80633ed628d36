import { Command, Option } from 'commander'
import { UsageError } from '../contract/errors.ts'
import { exportCatalogue } from '../import-export/export-catalogue.ts'
import { formatCount, formatQuantity } from '../util/text.ts'
import { withDatabase } from './command.ts'
import { printInfo } from './output.ts'
import { exportTo, publishExport } from './publish-export.ts'
import { parsePastTime } from './time.ts'
import { rethrowFileError, writeNewFile } from './write-new-file.ts'

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
  .addOption(
    new Option(
      '--into <directory>',
      'publish what --public exports: the whole, the changes of three days, and their index',
    )
      .implies({ public: true })
      .conflicts('since'),
  )
  .addHelpText(
    'after',
    `
An export is a snapshot of the catalogue: categories, then apps with their
reviews, in any status, including deleted ones. The last line on standard error
has the --since for the next export. docs/moving-data.md says what is left out,
and how to keep a mirror.

--into writes all-TIME.ndjson.gz, changes-TIME.ndjson.gz and, last, index.json,
which has their names, sizes and sums. The files of the former index stay until
the next run. If another run has not ended, this one only says so.

Examples:
  ./apps-service export catalogue.ndjson.gz
  ./apps-service export --public public.ndjson.gz
  ./apps-service export --public --into /srv/www/export
  ./apps-service export | grep '"status":"pending"'`,
  )
  .action(runExport)

async function runExport(
  file: string,
  { since, public: isPublic, into }: { since?: string; public?: boolean; into?: string },
) {
  if (into !== undefined) return publishInto(into, file)
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

async function publishInto(directory: string, file: string) {
  if (file !== '-') throw new UsageError(`--into names its files itself; leave out ${file}`)
  const index = await withDatabase((database) => publishExport(database, directory)).catch(
    (error) => rethrowFileError(error, error.path ?? directory),
  )
  printInfo(
    index
      ? `${formatQuantity(index.all.lines, 'line')}, and ${formatCount(index.changes.lines)} of changes since ${index.changes.since}, published in ${directory}`
      : `another export into ${directory} has not ended; this one leaves it to that`,
  )
}
