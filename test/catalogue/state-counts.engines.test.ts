import { expect, inject, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { countAppsByState } from '../../src/catalogue/app-store.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { decideApp, restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { openWorld } from '../support/database.ts'

const { apps } = inject('world')
const actor = { operator: 'test' }
const [ada, bob] = [1, 2]

async function start() {
  const database = await openWorld()
  return {
    database,
    records: async (...ids: number[]) =>
      Object.fromEntries(await database.read((runner) => countAppsByState(runner, ids))),
  }
}

test('the apps of each developer are counted by state; a deleted one counts only as deleted', async () => {
  const { records } = await start()
  expect(await records(ada, bob)).toEqual({
    [ada]: { approved: 1, rejected: 1, pending: 1, deleted: 1 },
    [bob]: { approved: 1, rejected: 0, pending: 1, deleted: 0 },
  })
  expect(await records(bob)).toEqual({
    [bob]: { approved: 1, rejected: 0, pending: 1, deleted: 0 },
  })
})

test('after a decision, a restore and a transfer, the counts are those of now', async () => {
  const { database, records } = await start()
  await database.write(async (runner) => {
    await decideApp(runner, 'approve', apps.pending, actor)
    await restoreApp(runner, apps.deleted, actor)
    await transferApp(runner, apps.rejected, 'Bob', actor)
  })
  const { [ada]: adas, [bob]: bobs } = await records(ada, bob)
  expect(adas).toMatchObject({ rejected: 0, pending: 0, deleted: 0 })
  expect(adas?.approved).toBe(3)
  expect(bobs).toEqual({ approved: 1, rejected: 1, pending: 1, deleted: 0 })
})

test('a developer without apps, and one who does not exist, have no counts', async () => {
  const { database, records } = await start()
  const { id } = await database.write((runner) => findOrAddDeveloper(runner, 'Eve'))
  expect(await records(id, 999)).toEqual({})
  expect(await records()).toEqual({})
})

test('the counts come from an index that has the states', async ({ skip }) => {
  skip(inject('engine') === 'postgres', 'PostgreSQL reads the few rows of a small table')
  const { database } = await start()
  const plan = await database.read(({ rows, sql }) => {
    const statements: string[] = []
    sql.on('query', ({ sql }: { sql: string }) => statements.push(sql))
    return countAppsByState({ sql, rows } as QueryRunner, [ada, bob]).then(() =>
      rows<{ detail: string }>(`explain query plan ${statements.join()}`, [ada, bob]),
    )
  })
  expect(plan[0]?.detail).toBe('SEARCH apps USING COVERING INDEX apps_developer (developer_id=?)')
})
