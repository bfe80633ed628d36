import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { Command } from 'commander'
import { Refusal } from '../errors.ts'
import { exportCatalogue } from '../import/export.ts'
import { note, withDatabase } from './command.ts'

export const exportCommand = () =>
  new Command('export')
    .description('write the whole catalogue as a file that import reads')
    .argument('[file]', 'path of a new file, gzip where it ends in .gz; standard output where it is left out', '-')
    .addHelpText(
      'after',
      `
Deleted apps are in it too, and keep their ids, slugs and package names; API
keys, the audit and categories without an app are not.

Examples:
  npx apps-service export catalogue.ndjson.gz
  npx apps-service export | grep '"status":"pending"'`,
    )
    .action(runExport)

async function runExport(file: string) {
  const count = await withDatabase(async (database) => {
    if (file === '-') return exportCatalogue(database, process.stdout)
    const target = createWriteStream(file, { flags: 'wx' })
    const output = file.endsWith('.gz') ? createGzip() : target
    if (output !== target) output.pipe(target)
    const written = finished(target).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? new Refusal(`${file} is there already; name a new file`) : error
    })
    const [apps] = await Promise.all([exportCatalogue(database, output).finally(() => output.end()), written])
    return apps
  })
  note(`${count} apps exported.`)
}
