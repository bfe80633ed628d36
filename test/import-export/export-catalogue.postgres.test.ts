import { Client } from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { exportLines } from '../support/catalogue-file.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'

const { apps } = inject('world')

test.for<[seconds: number, result: string]>([
  [2, 'has the write'],
  [60, 'has the write'],
  [61, 'has had a write transaction running for over a minute'],
])('an export beside a write that takes %i seconds: %s', async ([seconds, result]) => {
  const advance = freezeMonotonicClock()
  const database = await openWorld()
  const release = await holdWrite(database, ({ sql }) =>
    sql('apps').where({ id: apps.approved }).update({ version: '2-slow' }),
  )
  const exported = exportLines(database).then(
    (lines) => (lines.join().includes('2-slow') ? 'has the write' : 'lacks the write'),
    (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
  )
  /** Resolves when the export has looked for running writes again. */
  const polledAgain = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let polls = 0
    database.onStatement((statement) => {
      if (statement.includes('pg_locks') && ++polls === 2) resolve()
    })
    return Promise.race([promise, exported])
  }
  await polledAgain()
  advance(seconds * 1000)
  await polledAgain()
  await release()
  expect(await exported).toBe(result)
})

/** The modes that a reader or VACUUM takes, and those that a writer takes. */
test.for<[mode: string, isWaitedFor: boolean]>([
  ['access share', false],
  ['row share', false],
  ['share update exclusive', false],
  ['row exclusive', true],
  ['share row exclusive', true],
])('an export while another session has a %s lock waits for it: %j', async ([mode, waits]) => {
  const address = await copyWorld()
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  const other = new Client(address)
  await other.connect()
  onTestFinished(() => other.end())
  for (const table of ['apps', 'developers', 'categories', 'audit'])
    await other.query(`begin; lock table ${table} in ${mode} mode`)
  const polledAgain = Promise.withResolvers<'waits'>()
  let polls = 0
  database.onStatement((statement) => {
    if (statement.includes('pg_locks') && ++polls === 2) polledAgain.resolve('waits')
  })
  const exported = exportLines(database)
  expect(await Promise.race([polledAgain.promise, exported.then(() => 'is exported')])).toBe(
    waits ? 'waits' : 'is exported',
  )
  await other.query('rollback')
  expect(await exported).not.toEqual([])
})

test('an export does not wait for writers of another database of the server', async () => {
  const [database, other] = [openDatabase(await copyWorld()), openDatabase(await copyWorld())]
  onTestFinished(() => database.close())
  onTestFinished(() => other.close())
  const release = await holdWrite(other, ({ sql }) =>
    sql('apps').where({ id: apps.approved }).update({ version: '2-slow' }),
  )
  let polls = 0
  const polledAgain = Promise.withResolvers<'waits'>()
  database.onStatement((statement) => {
    if (statement.includes('pg_locks') && ++polls === 2) polledAgain.resolve('waits')
  })
  const exported = exportLines(database)
  expect(await Promise.race([polledAgain.promise, exported])).not.toBe('waits')
  await release()
})

test('an export does not wait for writers that begin after it', async () => {
  const database = await openWorld()
  const hold = (id: number) =>
    holdWrite(database, ({ sql }) => sql('apps').where({ id }).update({ version: '2-slow' }))
  const releaseFirst = await hold(apps.approved)
  const polled = Promise.withResolvers<void>()
  database.onStatement((statement) => {
    if (statement.includes('pg_locks')) polled.resolve()
  })
  const exported = exportLines(database)
  await polled.promise
  const releaseSecond = await hold(apps.bobs)
  await releaseFirst()
  // It would fail after a minute.
  expect((await exported).join().match(/2-slow/g)).toHaveLength(1)
  await releaseSecond()
})
