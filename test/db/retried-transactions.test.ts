import { expect, test } from 'vitest'
import { accountStore } from '../../src/accounts/account-store.ts'
import { categoryStore } from '../../src/catalogue/category-store.ts'
import type { Database } from '../../src/db/database.ts'
import { newApp } from '../contract/valid-requests.ts'
import { importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { startService } from '../support/service.ts'

/** An engine can retry a transaction. Here it runs every transaction twice. */
const again = (database: Database): Database => ({
  ...database,
  async write(work) {
    const undo = new Error('conflict')
    const first = database.write(async (connection) => {
      await work(connection)
      throw undo
    })
    await first.catch((error: unknown) => {
      if (error !== undo) throw error
    })
    return database.write(work)
  },
})

const actor = { operator: 'test' }

test("an app's life cycle, with every transaction run twice", async () => {
  const service = await startService({ database: again })
  const key = service.world.keys.ada
  const created = await service.request('POST', '/apps', { key, json: newApp })
  expect(created.body.data).toMatchObject({ slug: 'star-map', status: 'pending' })
  const path = `/apps/${created.body.data.app_id}`
  const updated = await service.request('PUT', path, { key, json: { name: 'Sky Map' } })
  expect([updated.status, updated.body.data.app.name]).toEqual([200, 'Sky Map'])
  expect((await service.request('POST', '/apps', { key, json: newApp })).body.data.slug).toBe(
    'star-map-2',
  )
  expect((await service.request('DELETE', path, { key })).status).toBe(200)
  expect((await service.get(path, { key })).status).toBe(404)
  await expectConsistent(service.database)
})

test("operators' commands have one effect, with every transaction run twice", async () => {
  const { database } = await startService()
  const twice = again(database)
  const { key, category } = await twice.write(async (connection) => {
    const accounts = accountStore(connection)
    return {
      key: await accounts.issueKey(await accounts.findOrAddDeveloper('Eve'), actor),
      category: await categoryStore(connection).add('travel', 'Travel', actor),
    }
  })
  const renamed = await twice.write((connection) =>
    accountStore(connection).rename('Ada', 'Lovelace', actor),
  )
  expect([key.developer_name, category.slug, renamed.listed_apps]).toEqual(['Eve', 'travel', 1])
  const entries = await database.read(({ sql }) =>
    sql('audit').orderBy('id', 'desc').limit(3).pluck('action'),
  )
  expect(entries).toEqual(['developer rename', 'category add', 'key issue'])
  await expectConsistent(database)
})

test('an import loses and repeats no line, with every transaction run twice', async () => {
  const { database } = await startService()
  const lines = Array.from({ length: 700 }, (_, index) => ({
    name: `Imported ${index}`,
    description: 'Of a file.',
    category: 'tools',
    developer_name: 'Ada',
    status: 'approved',
    reviews: [
      {
        reviewer_name: 'Cy',
        rating: 1 + (index % 5),
        comment: '',
        created_at: '2026-01-01T00:00:00Z',
      },
    ],
  }))
  expect(await importLines(again(database), lines)).toMatchObject({
    lines: 700,
    created: 700,
    rejected: 0,
  })
  expect(await importLines(again(database), lines)).toMatchObject({ unchanged: 700, rejected: 0 })
  await expectConsistent(database)
})
