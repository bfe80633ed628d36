import { setTimeout as delay } from 'node:timers/promises'
import { openMigratedDatabase } from '../../src/db/open-database.ts'
import { decideApp } from '../../src/moderation/decisions.ts'

/** Approves pending apps and prints each acknowledged decision: `node operator.ts FILE`. */

const database = await openMigratedDatabase(`sqlite:${process.argv[2]}`)
for (;;) {
  const ids = await database.read(({ sql }) =>
    sql('apps')
      .where({ status: 'pending' })
      .whereNull('deleted_at')
      .orderBy('id')
      .limit(10)
      .pluck('id'),
  )
  for (const id of ids) {
    await database.write((connection) => decideApp(connection, 'approve', id, { operator: 'test' }))
    process.stdout.write(`${id}\n`)
  }
  if (ids.length === 0) await delay(10)
}
