import { expect, onTestFinished, test } from 'vitest'
import { findAppPage } from '../../../src/catalogue/app-list.ts'
import { changeApps } from '../../../src/catalogue/app-store.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { cutNote } from '../../../src/search/best-matches.ts'
import { copyWorldFile } from '../../support/database.ts'

/**
 * The tables and indexes of earlier versions, with one app that the index should not have and
 * without those that it should.
 */
const before = [
  'alter table operator_sessions drop column opened_app_id',
  'alter table operator_sessions drop column opened_at',
  'drop table app_search',
  'drop table app_search_apps',
  'drop table app_search_words',
  'drop table app_names',
  'drop index apps_developer',
  'create index audit_developer on audit (developer_id, id)',
  'create index apps_developer on apps (developer_id, id)',
  'create index apps_lower_name on apps (lower(name), id)',
  `create virtual table app_search using fts5(tokens,
     content='', contentless_delete=1, tokenize="ascii tokenchars '+#~@=/'", prefix='1 2')`,
  `create virtual table app_search_recent using fts5(tokens,
     content='', contentless_delete=1, tokenize="ascii tokenchars '+#~@=/'", prefix='1 2')`,
  "create virtual table app_search_row using fts5vocab('app_search', 'row')",
  "create virtual table app_search_instance using fts5vocab('app_search', 'instance')",
  'create table app_search_lists (name text not null, block integer not null, ids blob not null)',
  'create table app_search_changed (name text not null, block integer not null, ids blob not null)',
  'create table app_search_state (version integer not null)',
  `insert into app_search (rowid, tokens) values (9999, 'ghost')`,
  `delete from knex_migrations where name = '0024-names.ts'`,
]

test('a full database gets the index anew, with all that is listed and nothing else', async () => {
  const database = openDatabase(`sqlite:${copyWorldFile()}`)
  onTestFinished(() => database.close())
  const many = 1100
  await database.write(async (runner) => {
    const world = await runner.sql('apps').where({ name: 'Tide Clock' }).first()
    if (!world) throw new Error('the world has no tides')
    const { id: _, slug: __, package_key: ___, ...row } = world
    const apps = Array.from({ length: many }, (_, index) => ({
      app: { ...row, package_name: `org.example.many${index}`, name: `Wave ${index}` },
      at: row.created_at,
    }))
    await changeApps(runner, 'app create', { inserts: apps }, { operator: 'test' })
    for (const statement of before) await runner.sql.raw(statement)
  })
  expect(await database.schemaAge()).toBe('older')
  const version = await database.dataVersion()
  expect(await database.migrate()).toEqual(['0024-names.ts'])
  expect(await database.dataVersion()).not.toBe(version)

  const tables = await database.read(({ sql }) =>
    sql('sqlite_master')
      .where({ type: 'table' })
      .whereLike('name', 'app_search%')
      .whereNot('sql', null)
      .pluck('name'),
  )
  expect(
    tables
      .filter((name) => !/^app_search_(data|idx|docsize|config|content)$/.test(name))
      .toSorted(),
  ).toEqual(['app_search', 'app_search_apps', 'app_search_words'])
  const totals = { wave: many, many1099: 1, ada: many + 1, 'tideclock org': 1, 'bird song': 1 }
  for (const [search, total] of Object.entries(totals)) {
    const found = await findAppPage(database, { page: 1, limit: 1, search })
    expect(found.total, search).toBe(Math.min(total, 1000))
    expect(found.notes, search).toEqual(total > 1000 ? [cutNote('best')] : [])
  }
  for (const search of ['cloud', 'gone', 'ghost']) {
    expect((await findAppPage(database, { page: 1, limit: 1, search })).total, search).toBe(0)
  }
})
