import { expect, onTestFinished, test } from 'vitest'
import { findApps } from '../../../src/catalogue/app-list.ts'
import { appStore } from '../../../src/catalogue/store.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { copyWorldFile } from '../../support/database.ts'

/** The index of the first version, with a wrong app and without the right ones. */
const before = [
  'drop table app_search',
  `create virtual table app_search using fts5(name, text, exact, category,
     content='', contentless_delete=1, tokenize='ascii', prefix='1 2')`,
  `insert into app_search (rowid, name, text, exact, category) values (9999, 'ghost', '', '', 'c1')`,
  `delete from knex_migrations where name = '0003-search.ts'`,
]

test('rebuilds the index of a full database with exactly the listed apps', async () => {
  const database = openDatabase(`sqlite:${copyWorldFile()}`)
  onTestFinished(() => database.close())
  const many = 1100
  await database.write(async (connection) => {
    const world = await connection.sql('apps').where({ name: 'Tide Clock' }).first()
    if (!world) throw new Error('the world has no tides')
    const { id: _, slug: __, package_key: ___, ...row } = world
    const apps = Array.from({ length: many }, (_, index) => ({
      app: { ...row, package_name: `org.example.many${index}`, name: `Wave ${index}` },
      at: row.created_at,
    }))
    await appStore(connection).insertAll('app create', apps, { operator: 'test' })
    for (const statement of before) await connection.sql.raw(statement)
  })
  expect(await database.schemaAge()).toBe('older')
  expect(await database.migrate()).toEqual(['0003-search.ts'])

  const totalOf = async (search: string) => (await findApps(database, { page: 1, limit: 1, search })).total
  const totals = {
    wave: many,
    many1099: 1,
    ada: many + 1,
    'tideclock org': 1,
    'bird song': 1,
    cloud: 0,
    gone: 0,
    ghost: 0,
  }
  for (const [search, total] of Object.entries(totals)) expect(await totalOf(search), search).toBe(total)
})
