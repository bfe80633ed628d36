import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { openDatabase } from '../db/database.ts'
import { rethrowWithOrigin } from './command.ts'
import { print } from './output.ts'

export const command = new Command('migrate')
  .description(
    'create the database or upgrade its schema; run it before serve, in only one process',
  )
  .action(async () => {
    const { databaseUrl, databaseOptions } = readConfig()
    const database = openDatabase(databaseUrl, databaseOptions)
    try {
      const names = await database.migrate().catch(rethrowWithOrigin)
      print(
        names.length === 0
          ? `The database ${database.name} is up to date.`
          : `Migrated the database ${database.name}: ${names.join(', ')}.`,
      )
    } finally {
      await database.close()
    }
  })
