import { Command } from 'commander'
import { findPendingMigrations, migrate } from '../db/migrations.ts'
import { knownMigrations } from '../db/schema-age.ts'
import { withUncheckedDatabase } from './command.ts'
import { errorPrefix, print, printInfo } from './output.ts'

export const command = new Command('migrate')
  .description(
    'create the database or upgrade its schema; run it before serve, in only one process',
  )
  .option('--check', 'change nothing; name the pending migrations and exit with 1 if there are any')
  .action(({ check = false }: { check?: boolean }) =>
    withUncheckedDatabase(async (database) => {
      const onWait = () =>
        printInfo(
          `${errorPrefix}waiting for the database ${database.name}: another process is writing to it or migrating it`,
        )
      const names = await (check ? findPendingMigrations(database) : migrate(database, onWait))
      if (names.length === 0) return print(`The database ${database.name} is up to date.`)
      const isNew = !check && names.length === knownMigrations.length
      if (isNew) return print(`Created the database ${database.name}.`)
      const done = check ? 'Pending migrations of' : 'Migrated'
      print(`${done} the database ${database.name}: ${names.join(', ')}.`)
      if (check) process.exitCode = 1
    }),
  )
