import { expect, onTestFinished, test } from 'vitest'
import { findOrAddDeveloper, renameDeveloper } from '../../src/accounts/account-store.ts'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import { changeApps, insertApp } from '../../src/catalogue/app-store.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { moderationStore } from '../../src/moderation/moderation-store.ts'
import { importLines } from '../support/catalogue-file.ts'
import { expectConsistent, findNames } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'

const actor = { operator: 'test' }
const past = '2020-01-01T00:00:00.000Z'

/** More than two batches of the search index. */
const count = 241

/**
 * A database with a developer of many approved apps and a pending one, and a second connection, as
 * of another process.
 */
async function prolific() {
  const address = await copyWorld()
  const [database, other] = [openDatabase(address), openDatabase(address)]
  onTestFinished(async () => {
    await database.close()
    await other.close()
  })
  const { developer, waiting } = await database.write(async (runner) => {
    const developer = await findOrAddDeveloper(runner, 'Prolific')
    const row = {
      developer_id: developer.id,
      category_id: 1,
      created_at: past,
      updated_at: past,
      total_downloads: 0,
      rejection_reason: null,
      package_name: null,
      short_description: null,
      description: 'One of many.',
      version: '1',
    }
    const listed = { ...row, status: 'approved' as const, approved_at: past }
    const apps = Array.from({ length: count }, (_, index) => ({
      app: { ...listed, name: `Many ${index % 2}` },
      at: past,
    }))
    await changeApps(runner, 'app import', { inserts: apps }, actor)
    const pending = { ...row, status: 'pending' as const, approved_at: null }
    const waiting = await Promise.resolve([
      await insertApp(runner, { ...pending, name: 'Waiting' }, actor),
      await insertApp(runner, { ...pending, name: 'A waiting one' }, actor),
    ])
    return { developer, waiting: waiting.map(({ id }) => id) }
  })
  return { database, other, id: developer.id, waiting }
}

const matches = async (database: Database, search: string) =>
  (await findAppPage(database, { page: 1, limit: 1, search })).total

const rename = (database: Database, from: string, to: string) =>
  database.write((runner) => renameDeveloper(runner, from, to, actor))

test('search finds all apps by the new name, and the progress is reported', async () => {
  const { database, id } = await prolific()
  const progress: [done: number, total: number][] = []
  const renamed = database.write((runner) =>
    renameDeveloper(runner, ' Prolific', ' Frugal', actor, (...numbers) => progress.push(numbers)),
  )
  expect(await renamed).toEqual({ id, name: 'Frugal', listed_apps: count })
  expect(progress.map(([, total]) => total)).toEqual(progress.map(() => count))
  expect([progress.length > 1, progress.at(-1)]).toEqual([true, [count, count]])
  expect([await matches(database, 'prolific'), await matches(database, 'frugal')]).toEqual([
    0,
    count,
  ])
  expect(await matches(database, 'ada')).toBe(1)
  await expectConsistent(database)
  const { changed_at, entries } = await database.snapshot(async ({ sql }) => ({
    changed_at: (await sql('developers').where({ id }).first('changed_at'))?.changed_at,
    entries: await sql('audit')
      .where({ action: 'developer rename' })
      .select('at', 'before', 'after'),
  }))
  expect(entries).toEqual([
    { at: changed_at, before: '{"name":"Prolific"}', after: '{"name":"Frugal"}' },
  ])
})

test('concurrent writes succeed, and search finds each app by the name that it shows', async () => {
  const { database, other, id, waiting } = await prolific()
  const line = { description: 'New.', category: 'tools', status: 'approved' }
  const [listed] = await other.read(({ sql }) =>
    sql('apps').where({ developer_id: id, name: 'Many 1' }).pluck('id'),
  )
  const onApp = (
    appId: number,
    act: (store: ReturnType<typeof moderationStore>) => Promise<unknown>,
  ) => other.write((runner) => act(moderationStore(runner))).then(() => appId)
  const [first = 0, second = 0] = waiting
  const [renamed] = await Promise.all([
    rename(database, 'Prolific', 'Frugal'),
    onApp(first, (store) => store.decide('approve', first, actor)),
    onApp(listed ?? 0, (store) => store.decide('reject', listed ?? 0, actor, { reason: 'Spam.' })),
    onApp(second, (store) => store.decide('approve', second, actor)),
    importLines(other, [{ ...line, name: 'Theirs', developer_name: 'Grace' }]),
  ])
  expect(renamed).toMatchObject({ id, name: 'Frugal' })
  expect([await matches(database, 'prolific'), await matches(database, 'frugal')]).toEqual([
    0,
    count + 1,
  ])
  await expectConsistent(database)
})

test('an interrupted rename changes nothing', async () => {
  const { database } = await prolific()
  const stopped = database.write(async (runner) => {
    await renameDeveloper(runner, 'Prolific', 'Frugal', actor)
    throw new Error('stopped')
  })
  await expect(stopped).rejects.toThrow('stopped')
  expect([await matches(database, 'prolific'), await matches(database, 'frugal')]).toEqual([
    count,
    0,
  ])
  await expectConsistent(database)
})

test('a new developer with the old name is separate from the renamed one', async () => {
  const { database } = await prolific()
  await rename(database, 'Prolific', 'Frugal')
  const line = {
    name: 'Theirs',
    description: 'New.',
    category: 'tools',
    developer_name: 'Prolific',
  }
  await importLines(database, [{ ...line, status: 'approved' }])
  expect(await findNames(database, 'prolific')).toEqual(['Theirs'])
  expect(await matches(database, 'frugal')).toBe(count)
  await expectConsistent(database)
})
