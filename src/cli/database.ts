import { Command } from 'commander'
import { addDemoCatalogue } from '../../seeds/demo-catalogue.ts'
import { accountStore } from '../accounts/account-store.ts'
import { categoryStore } from '../catalogue/category-store.ts'
import { readConfig } from '../config.ts'
import { openDatabase } from '../db/database.ts'
import { currentOperator, print, rethrowWithOrigin, withDatabase } from './command.ts'

export const migrateCommand = () =>
  new Command('migrate')
    .description(
      'create the database or upgrade its schema; run it before serve, in only one process',
    )
    .action(migrate)

export const seedCommand = () =>
  new Command('seed')
    .description(
      'fill a database without categories with the demo catalogue, and print a key to try it',
    )
    .action(seed)

async function migrate() {
  const { databaseUrl, databaseOptions } = readConfig(process.env)
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
}

async function seed() {
  const { baseUrl } = readConfig(process.env)
  const addresses = `  Address    ${baseUrl}\n  Reference  ${baseUrl}/docs`
  await withDatabase(async (database) => {
    // Each app, even a deleted one, has a category.
    if ((await database.read((connection) => categoryStore(connection).all())).length > 0) {
      return print(`A catalogue is already present; nothing was changed.

${addresses}
  Key        for another one: ./apps-service key issue --developer "Demo Developer"
`)
    }
    await database.write(addDemoCatalogue)
    const { key } = await database.write(async (connection) => {
      const accounts = accountStore(connection)
      return accounts.issueKey(
        await accounts.findOrAddDeveloper('Demo Developer'),
        currentOperator(),
      )
    })
    print(`Added the demo catalogue.

${addresses}
  Key        ${key} (not shown again)

Create an app:

  curl ${baseUrl}/apps \\
    -H 'Authorization: Bearer ${key}' \\
    -H 'Content-Type: application/json' \\
    -d '{"name": "My App", "description": "What it does.", "category_id": 1}'

Approve it, with the app_id of the response:

  ./apps-service moderation approve ID
`)
  })
}
