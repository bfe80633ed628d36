import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { OperatorError } from '../contract/errors.ts'
import { openDatabase } from '../db/open-database.ts'
import { formatCommand } from '../util/command.ts'
import { formatMegabytes, formatQuantity } from '../util/text.ts'
import { buildCommand } from './command.ts'
import { cannotRead } from './file-errors.ts'
import { errorPrefix, print, printInfo } from './output.ts'
import { elapsedSeconds } from './time.ts'
import { rethrowFileError } from './write-new-file.ts'

export const command = buildCommand({
  command: new Command('restore')
    .description('put a backup in the place of the database, which is moved aside')
    .argument('<file>', 'path of the backup, which is verified and stays as it is'),
  help: `
Stop the server and the moderation page first. The database that DATABASE_URL
names gets another name beside its place, which is printed; nothing is deleted.
If anything fails, it stays where it is. The restored one has the same owner and
permissions; a new one that root restores has the owner of its directory.
A deleted app is restored with: ./apps-service app restore ID

Examples:
  ./apps-service restore /var/backups/apps-2026-11-20.sqlite

JSON: {file, database, replaced, bytes, apps, needs_migration, seconds};
replaced is the former database, or null if there was none.`,
  async run(file: string) {
    const { databaseUrl } = readConfig()
    const { name, restoreFrom } = openDatabase(databaseUrl)
    const begin = performance.now()
    const backup = resolve(file)
    await assertReadable(file)
    const restoring = restoreFrom(backup, (signal) =>
      printInfo(`${errorPrefix}stopped by ${signal}; nothing was restored`),
    )
    const { needsMigration, replaced, apps, bytes } = await restoring.catch((error) =>
      rethrowFileError(error, name),
    )
    return {
      file: backup,
      database: name,
      replaced: replaced ?? null,
      bytes,
      apps,
      needs_migration: needsMigration,
      seconds: elapsedSeconds(begin),
    }
  },
  print({ file, database, replaced, bytes, apps, needs_migration, seconds }) {
    print(
      `Restored ${formatQuantity(apps, 'app')} from ${file} to ${database}: ${formatMegabytes(bytes)}, verified, in ${seconds} s.`,
    )
    if (replaced) print(`The former database is ${replaced}.`)
    if (needs_migration)
      print(
        `The backup is of an older version. To go on with this one, run ${formatCommand('migrate')}; ` +
          'to go back, start the older one.',
      )
    else print(`Next, start the server: ${formatCommand('serve')}, or its service.`)
  },
})

async function assertReadable(file: string) {
  const found = await stat(file).catch((error) => {
    throw cannotRead(file, error)
  })
  if (!found.isFile()) throw new OperatorError(`${resolve(file)} is not a regular file`)
  await access(file, constants.R_OK).catch((error) => {
    throw cannotRead(file, error)
  })
}
