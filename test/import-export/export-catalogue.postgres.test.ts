import { Client } from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { exportLines } from '../support/catalogue-file.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'

const { apps } = inject('world')

/** Resolves when an export of the database has looked for running writes so often. */
function polled(database: Database, times: number): Promise<'waits'> {
  const { promise, resolve } = Promise.withResolvers<'waits'>()
  let polls = 0
  database.onStatement((statement) => {
    if (statement.includes('pg_locks') && ++polls === times) resolve('waits')
  })
  return promise
}

const holdVersion = (database: Database, id: number) =>
  holdWrite(database, ({ sql }) => sql('apps').where({ id }).update({ version: '2-slow' }))

test.for<{ seconds: number; result: string }>([
  { seconds: 2, result: 'has the write' },
  { seconds: 60, result: 'has the write' },
  { seconds: 61, result: 'has had a write transaction running for over a minute' },
])('an export beside a write that takes $seconds seconds: $result', async ({ seconds, result }) => {
  const advance = freezeMonotonicClock()
  const database = await openWorld()
  const release = await holdVersion(database, apps.approved)
  const exported = exportLines(database).then(
    (lines) => (lines.join().includes('2-slow') ? 'has the write' : 'lacks the write'),
    (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
  )
  await Promise.race([polled(database, 2), exported])
  advance(seconds * 1000)
  await Promise.race([polled(database, 2), exported])
  await release()
  expect(await exported).toBe(result)
})

/** The modes that a reader or VACUUM takes, and those that a writer takes. */
test.for<{ mode: string; result: 'waits' | 'is exported' }>([
  { mode: 'access share', result: 'is exported' },
  { mode: 'row share', result: 'is exported' },
  { mode: 'share update exclusive', result: 'is exported' },
  { mode: 'row exclusive', result: 'waits' },
  { mode: 'share row exclusive', result: 'waits' },
])('an export while another session has a $mode lock $result', async ({ mode, result }) => {
  const address = await copyWorld()
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  const other = new Client(address)
  await other.connect()
  onTestFinished(() => other.end())
  for (const table of ['apps', 'developers', 'categories', 'audit'])
    await other.query(`begin; lock table ${table} in ${mode} mode`)
  const waits = polled(database, 2)
  const exported = exportLines(database)
  expect(await Promise.race([waits, exported.then(() => 'is exported')])).toBe(result)
  await other.query('rollback')
  expect(await exported).not.toEqual([])
})

test('an export does not wait for writers of another database of the server', async () => {
  const [database, other] = [openDatabase(await copyWorld()), openDatabase(await copyWorld())]
  onTestFinished(() => database.close())
  onTestFinished(() => other.close())
  const release = await holdVersion(other, apps.approved)
  const waits = polled(database, 2)
  expect(await Promise.race([waits, exportLines(database)])).not.toBe('waits')
  await release()
})

// On Citus, one transaction at a time writes a table.
test.skipIf(inject('workers').length > 0)(
  'an export does not wait for writers that begin after it',
  async () => {
    const database = await openWorld()
    const releaseFirst = await holdVersion(database, apps.approved)
    // Knex reports a statement before it runs, so the first may yet see the second writer.
    const waits = polled(database, 2)
    const exported = exportLines(database)
    await waits
    const releaseSecond = await holdVersion(database, apps.bobs)
    await releaseFirst()
    // It would fail after a minute.
    expect((await exported).join().match(/2-slow/g)).toHaveLength(1)
    await releaseSecond()
  },
)
