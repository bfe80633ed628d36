import { Command } from 'commander'
import { addDemoCatalogue } from '../../seeds/demo-catalogue.ts'
import { findOrAddDeveloper, issueKey } from '../accounts/account-store.ts'
import { findCategories } from '../catalogue/category-store.ts'
import { readConfig } from '../config.ts'
import { formatCommand } from '../util/command.ts'
import { currentOperator, withDatabase } from './command.ts'
import { print } from './output.ts'

export const command = new Command('seed')
  .description(
    'fill a database without categories with the demo catalogue, and print a key to try it',
  )
  .action(seed)

async function seed() {
  const { baseUrl, moderation } = readConfig()
  const addresses = `  Address    ${baseUrl}\n  Reference  ${baseUrl}/docs`
  const page = `on the page ${moderation.baseUrl}, with a key that the first of these prints:

  ${formatCommand('moderator add NAME')}
  ${formatCommand('moderation serve')}
`
  await withDatabase(async (database) => {
    // Each app, even a deleted one, has a category.
    if ((await database.read(findCategories)).length > 0) {
      return print(`A catalogue is already present; nothing was changed.

${addresses}
  Key        for another one: ${formatCommand('key issue --developer "Demo Developer"')}

Moderate ${page}`)
    }
    await database.write(addDemoCatalogue)
    const { key } = await database.write(async (runner) => {
      return issueKey(runner, await findOrAddDeveloper(runner, 'Demo Developer'), currentOperator())
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

  ${formatCommand('moderation approve ID')}

Or ${page}`)
  })
}
