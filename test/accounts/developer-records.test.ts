import { expect, inject, test } from 'vitest'
import { accountStore } from '../../src/accounts/account-store.ts'
import { developerRecords, maxCounted } from '../../src/accounts/developer-records.ts'
import { appStore } from '../../src/catalogue/app-store.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { moderationStore } from '../../src/moderation/moderation-store.ts'
import { openWorld } from '../support/database.ts'

const { apps } = inject('world')
const actor = { operator: 'test' }
const [ada, bob] = [1, 2]

async function start() {
  const database = await openWorld()
  return {
    database,
    records: async (...ids: number[]) =>
      Object.fromEntries(await database.read((runner) => developerRecords(runner, ids))),
  }
}

/** Adds pending apps of Bob; each changed at its own second. */
async function addApps({ database }: Awaited<ReturnType<typeof start>>, count: number) {
  await database.write(async (runner) => {
    const rows = Array.from({ length: count }, (_, number) => {
      const at = new Date(Date.UTC(2030, 0, 1, 0, 0, number)).toISOString()
      return {
        at,
        app: {
          name: `Many ${number}`,
          developer_id: bob,
          category_id: 1,
          version: '1',
          description: 'D',
          short_description: null,
          package_name: null,
          total_downloads: 0,
          status: 'pending' as const,
          approved_at: null,
          rejection_reason: null,
          created_at: at,
          updated_at: at,
        },
      }
    })
    await appStore(runner).insertAll('app create', rows, actor)
  })
}

test('the apps of each developer are counted by status, without deleted ones', async () => {
  const { records } = await start()
  expect(await records(ada, bob)).toEqual({
    [ada]: { approved: 1, rejected: 1, pending: 1 },
    [bob]: { approved: 1, rejected: 0, pending: 1 },
  })
  expect(await records(bob)).toEqual({ [bob]: { approved: 1, rejected: 0, pending: 1 } })
})

test('after a decision, a restore and a transfer, the counts are those of now', async () => {
  const { database, records } = await start()
  await database.write(async (runner) => {
    const store = moderationStore(runner)
    await store.decide('approve', apps.pending, actor)
    await store.restore(apps.deleted, actor)
    await store.transfer(apps.rejected, 'Bob', actor)
  })
  const { [ada]: adas, [bob]: bobs } = await records(ada, bob)
  expect(adas).toMatchObject({ rejected: 0, pending: 0 })
  expect(adas?.approved).toBe(3)
  expect(bobs).toEqual({ approved: 1, rejected: 1, pending: 1 })
})

test('a developer without apps has zeros, and one who does not exist no record', async () => {
  const { database, records } = await start()
  const { id } = await database.write((runner) => accountStore(runner).findOrAddDeveloper('Eve'))
  expect(await records(id, 999)).toEqual({ [id]: { approved: 0, rejected: 0, pending: 0 } })
  expect(await records()).toEqual({})
})

test('of a developer with more than 1,000 apps, those that changed last are counted', async () => {
  const service = await start()
  const { database, records } = service
  await addApps(service, maxCounted - 1)
  expect(await records(bob)).toEqual({ [bob]: { approved: 1, rejected: 0, pending: 999 } })
  await addApps(service, 1)
  expect(await records(ada, bob)).toEqual({
    [ada]: { approved: 1, rejected: 1, pending: 1 },
    [bob]: { approved: 0, rejected: 0, pending: 1000 },
  })
  // It is the last changed app now.
  await database.write((runner) =>
    runner.sql('apps').where({ id: apps.bobs }).update({ updated_at: '2040-01-01T00:00:00.000Z' }),
  )
  expect(await records(bob)).toEqual({ [bob]: { approved: 1, rejected: 0, pending: 999 } })
})

test('the rows of the apps come from the index of own apps, in its order', async ({ skip }) => {
  skip(inject('engine') === 'postgres', 'PostgreSQL reads and sorts the few rows of a small table')
  const { database } = await start()
  const plan = await database.read(async (runner) => {
    const statements: string[] = []
    const rows: QueryRunner['rows'] = (statement, values) => {
      statements.push(statement)
      return runner.rows(statement, values)
    }
    await developerRecords({ ...runner, rows }, [ada, bob])
    return runner.rows<{ detail: string }>(`explain query plan ${statements.join()}`, [ada, bob])
  })
  expect(plan.map(({ detail }) => detail).filter((step) => /\bapps\b/.test(step))).toEqual([
    'SEARCH apps USING INDEX apps_own ((developer_id,updated_at)>(?,?) AND (developer_id,updated_at)<(?,?))',
  ])
})
