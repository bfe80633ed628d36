import { expect, onTestFinished, test } from 'vitest'
import { issueKey } from '../../src/accounts/account-store.ts'
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { recordEntries } from '../../src/audit/audit-store.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { findEntriesAfter } from '../../src/moderation/entries.ts'
import { copyWorld } from '../support/database.ts'

/** For more: `AUDIT_WRITERS=64 AUDIT_ENTRIES=10000 npx vitest run test/moderation`. */
const writers = Number(process.env.AUDIT_WRITERS ?? 8)
const total = Number(process.env.AUDIT_ENTRIES ?? 300)

const actor = { operator: 'test' }
const at = '2026-01-01T00:00:00.000Z'
const pageSize = 50

/** What writes one entry or more. */
const kinds: ((runner: QueryRunner) => Promise<unknown>)[] = [
  (runner) => addModerator(runner, 'Eve', actor),
  (runner) => issueKey(runner, { id: 1, name: 'Ada' }, actor),
  (runner) => {
    const entry = {
      actor,
      action: 'app import',
      at,
      app_id: 1,
      developer_id: 1,
      after: {},
    } as const
    return recordEntries(runner, [entry, entry, entry])
  },
]

const rolledBack = new Error('rolled back')

/** Writes, and rolls some writes back, until all writers together have written enough entries. */
async function keepWriting(database: Database, progress: { written: number }, first: number) {
  for (let number = first; progress.written < total; number++) {
    const write = database.write(async (runner) => {
      await kinds[number % kinds.length]?.(runner)
      progress.written++
      // Meanwhile others get greater ids, and commit.
      for (let more = 0; more < number % 5; more++) await runner.sql.raw('select 1')
      if (number % 7 === 0) throw rolledBack
    })
    await write.catch((error: unknown) => {
      if (error !== rolledBack) throw error
    })
  }
}

test(`who continues after the last id gets each entry once and in order, while ${writers} write`, async () => {
  const address = await copyWorld()
  const open = (pool: number) => {
    const database = openDatabase(address, { pool })
    onTestFinished(() => database.close())
    return database
  }
  // A third of the connections are for writes.
  const database = open(3 * writers)
  const reader = open(4)
  const seen: number[] = []
  const progress = { written: 0 }
  let isWritten = false
  const written = Promise.all(
    Array.from({ length: writers }, (_, index) => keepWriting(database, progress, index)),
  ).finally(() => {
    isWritten = true
  })
  // It is awaited below.
  written.catch(() => {})
  for (;;) {
    const isLast = isWritten
    const { entries, hasNewer } = await findEntriesAfter(reader, seen.at(-1) ?? 0, pageSize)
    if (hasNewer) expect(entries).toHaveLength(pageSize)
    seen.push(...entries.map(({ id }) => id))
    if (isLast && entries.length === 0) break
  }
  await written
  expect(seen).toEqual(await reader.read(({ sql }) => sql('audit').orderBy('id').pluck('id')))
}, 600_000)
