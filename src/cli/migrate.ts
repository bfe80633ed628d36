import { Command } from 'commander'
import { withUncheckedDatabase } from './command.ts'
import { print } from './output.ts'

export const command = new Command('migrate')
  .description(
    'create the database or upgrade its schema; run it before serve, in only one process',
  )
  .action(() =>
    withUncheckedDatabase(async (database) => {
      const names = await database.migrate()
      print(
        names.length === 0
          ? `The database ${database.name} is up to date.`
          : `Migrated the database ${database.name}: ${names.join(', ')}.`,
      )
    }),
  )
