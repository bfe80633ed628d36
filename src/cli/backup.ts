import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { print, printJson, withDatabase } from './command.ts'
import { formatCount } from './terminal-text.ts'
import { elapsedSeconds } from './time.ts'
import { assertMissing, writeNewFile } from './write-new-file.ts'

export const backupCommand = () =>
  new Command('backup')
    .description('copy the database, while it is in use, into a new file, and verify the copy')
    .argument('<file>', 'path of the backup; a file that is there is never overwritten')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The backup is the database of one moment, whole in the one file: all apps,
pending, rejected and deleted ones too, keys, and the audit. The file gets its
name when all of it is written, checked and safe on disk, not before.

Example:
  npx apps-service backup /var/backups/apps-2026-11-20.sqlite

JSON: {file, bytes, apps, seconds}.

To restore it:
  1. Stop the server.
  2. Move away the file that DATABASE_URL names, and those beside it with -wal
     and -shm at the end of its name.
  3. Copy the backup to where that file was.
  4. npx apps-service migrate, which brings a backup of an older version up to
     date, and start the server.

To look into it first, serve a copy of it:
  DATABASE_URL=sqlite:COPY PORT=3001 npx apps-service serve`,
    )
    .action(backup)

async function backup(file: string, options: { json?: true }) {
  const begin = performance.now()
  const target = resolve(file)
  // A log or journal of an older database would be taken for the backup's own as soon as somebody opens it.
  for (const suffix of ['-wal', '-shm', '-journal']) await assertMissing(target + suffix)
  const written = await withDatabase((database) =>
    writeNewFile(file, 'backup', async (copy) => {
      const { apps } = await database.copyTo(copy)
      return { bytes: (await stat(copy)).size, apps }
    }),
  )
  const seconds = elapsedSeconds(begin)
  if (options.json) return printJson({ file: target, ...written, seconds })
  const megabytes = (written.bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })
  print(`Backed up ${formatCount(written.apps)} apps to ${file}: ${megabytes} MB, verified, in ${seconds} s.`)
}
