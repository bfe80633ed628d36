import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { OperatorError } from '../contract/errors.ts'
import { formatMegabytes, formatQuantity } from '../util/text.ts'
import { buildDatabaseCommand } from './command.ts'
import { print } from './output.ts'
import { elapsedSeconds } from './time.ts'
import { assertMissing, writeNewFile } from './write-new-file.ts'

export const command = buildDatabaseCommand({
  command: new Command('backup')
    .description('copy the database into a new file, while it is in use, and verify the copy')
    .argument('<file>', 'path of the backup; an existing file is never overwritten'),
  help: `
The backup is a snapshot of the database in one file: all apps, including
pending, rejected and deleted ones, keys, and the audit log. The file appears
under its name only when it is complete, verified and synced to disk.
./apps-service restore puts it in the place of the database.

Examples:
  ./apps-service backup /var/backups/apps-2026-11-20.sqlite

JSON: {file, bytes, apps, seconds}.`,
  async run({ copyTo }, file: string) {
    if (!copyTo)
      throw new OperatorError(
        'backup works only on SQLite; docs/scaling.md (PostgreSQL) says how to back up a database server',
      )
    const begin = performance.now()
    const target = resolve(file)
    // SQLite would apply a log or journal of an older database to the backup when it is opened.
    for (const suffix of ['-wal', '-shm', '-journal']) assertMissing(target + suffix)
    const written = await writeNewFile(file, 'backup', async (copy) => {
      const { apps } = await copyTo(copy, { verify: true })
      return { bytes: (await stat(copy)).size, apps }
    })
    return { file: target, ...written, seconds: elapsedSeconds(begin) }
  },
  print: ({ file, bytes, apps, seconds }) =>
    print(
      `Backed up ${formatQuantity(apps, 'app')} to ${file}: ${formatMegabytes(bytes)}, verified, in ${seconds} s.`,
    ),
})
