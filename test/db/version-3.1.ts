import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import sqlite3 from 'sqlite3'
import { inject } from 'vitest'
import { emptyDatabaseUrl, filePath } from '../support/database.ts'
import { administer } from '../support/postgres.ts'

/**
 * The DATABASE_URL of a new database that version 3.1 has migrated and filled, with rows in each
 * table.
 */
export async function databaseOfVersion31(): Promise<string> {
  const address = await emptyDatabaseUrl()
  const engine = inject('engine')
  const dump = readFileSync(new URL(`version-3.1.${engine}.sql`, import.meta.url), 'utf8')
  if (engine === 'sqlite') await createFile(filePath(address), dump)
  else await administer(address, dump)
  return address
}

async function createFile(file: string, dump: string) {
  const database = new sqlite3.Database(file)
  await promisify<string, void>(database.exec).call(database, dump)
  await promisify<void>(database.close).call(database)
}
