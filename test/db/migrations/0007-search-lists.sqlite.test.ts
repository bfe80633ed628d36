import { expect, onTestFinished, test } from 'vitest'
import { findApps } from '../../../src/catalogue/app-list.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { copyWorldFile } from '../../support/database.ts'

/** Reverts only this migration. */
const before = [
  'drop table app_search_row',
  'drop table app_search_instance',
  'drop table app_search_recent',
  'drop table app_search_lists',
  'drop table app_search_changed',
  'drop table app_search_state',
  `delete from knex_migrations where name = '0007-search-lists.ts'`,
]

test('search finds the same as before, also with typos, and indexes new changes', async () => {
  const database = openDatabase(`sqlite:${copyWorldFile()}`)
  onTestFinished(() => database.close())
  await database.write(async ({ sql }) => {
    for (const statement of before) await sql.raw(statement)
  })
  expect(await database.schemaAge()).toBe('older')
  expect(await database.migrate()).toEqual(['0007-search-lists.ts'])

  const namesOf = async (search: string) =>
    (await findApps(database, { page: 1, limit: 10, search })).apps.map(({ name }) => name)
  expect(await namesOf('tide')).toEqual(['Tide Clock'])
  expect(await namesOf('tidee')).toEqual(['Tide Clock'])
  await database.write(async ({ sql, search }) => {
    await search.remove(await sql('apps').where({ name: 'Tide Clock' }).pluck('id'))
  })
  expect(await namesOf('tide')).toEqual([])
})
