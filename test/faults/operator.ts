import { setTimeout as delay } from 'node:timers/promises'
import { openMigratedDatabase } from '../../src/db/database.ts'
import { moderationStore } from '../../src/moderation/moderation-store.ts'

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
    await database.write((connection) =>
      moderationStore(connection).decide('approve', id, { operator: 'test' }),
    )
    process.stdout.write(`${id}\n`)
  }
  if (ids.length === 0) await delay(10)
}
