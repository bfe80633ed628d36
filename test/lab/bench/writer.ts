import { setInterval } from 'node:timers/promises'
import { findOrAddDeveloper } from '../../../src/accounts/account-store.ts'
import { insertApp } from '../../../src/catalogue/app-store.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { decideApp } from '../../../src/moderation/decisions.ts'
import { vocabulary } from './catalogue.ts'

/** A process that creates and approves an app each second until it is killed. */

const [databaseFile = ''] = process.argv.slice(2)
const database = openDatabase(`sqlite:${databaseFile}`)
const actor = { operator: 'bench' }

const developer = await database.write((runner) => findOrAddDeveloper(runner, 'Developer 1'))
process.send?.('ready')

for await (const _ of setInterval(1000)) {
  const now = new Date().toISOString()
  const { id } = await database.write((runner) =>
    insertApp(
      runner,
      {
        developer_id: developer.id,
        category_id: 1,
        status: 'pending',
        approved_at: null,
        rejection_reason: null,
        created_at: now,
        updated_at: now,
        total_downloads: 0,
        package_name: null,
        version: '1.0.0',
        name: vocabulary.slice(0, 3).join(' '),
        short_description: vocabulary.slice(0, 6).join(' '),
        description: vocabulary.slice(0, 60).join(' '),
      },
      actor,
    ),
  )
  await database.write((runner) => decideApp(runner, 'approve', id, actor))
}
