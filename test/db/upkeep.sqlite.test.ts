import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { copyWorldFile } from '../support/database.ts'
import { serve } from '../support/process.ts'

/** Counters decide when search lists are made. The tests set the counters instead of creating that many apps. */
function openCounting(listed: number) {
  const address = `sqlite:${copyWorldFile()}`
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  const stateOf = () =>
    database.read(({ sql }) => sql('app_search_state').first('listed', sql.raw('cast(making as text) as making')))
  const count = (listed_apps: number) =>
    database.write(({ sql }) => sql('categories').where({ id: 1 }).update({ listed_apps }))
  return { address, database, stateOf, count, ready: count(listed) }
}

test('makes lists if there are enough apps, and again if there are many more', async () => {
  const { database, stateOf, count, ready } = openCounting(16_000)
  await ready
  await database.maintain()
  expect(await stateOf()).toBeUndefined()

  await count(20_000)
  await database.maintain()
  const first = await stateOf()
  expect(first.listed).toBeGreaterThanOrEqual(20_000)

  await count(24_000)
  await database.maintain()
  expect(await stateOf()).toEqual(first)

  await count(26_000)
  await database.maintain()
  expect((await stateOf()).listed).toBeGreaterThanOrEqual(26_000)
})

test('leaves lists to another process while it makes progress, and takes over if it stops', async () => {
  const { database, stateOf, ready } = openCounting(20_000)
  await ready
  await database.write(({ sql }) => sql('app_search_state').insert({ version: 1, making: 7, changes_a_round: 1 }))
  const addList = (name: string) =>
    database.write(({ sql }) => sql('app_search_lists').insert({ name, block: 0, ids: Buffer.of(0) }))

  await database.maintain()
  await addList('"a"')
  await database.maintain()
  await addList('"b"')
  await database.maintain()
  expect(await stateOf()).toEqual({ listed: 0, making: '7' })

  await database.maintain()
  expect((await stateOf()).listed).toBeGreaterThanOrEqual(20_000)
})

test('an interrupted run leaves the database usable', async () => {
  const { database, stateOf, ready } = openCounting(20_000)
  await ready
  await database.maintain(AbortSignal.abort())
  expect(await stateOf()).toBeUndefined()
  await database.maintain()
  expect((await stateOf()).listed).toBeGreaterThanOrEqual(20_000)
})

test('a server makes the lists in a separate process', async () => {
  const { address, stateOf, ready } = openCounting(20_000)
  await ready
  await serve(address)
  const listed = async () => (await stateOf())?.listed
  // It has the lowest priority.
  await expect.poll(listed, { timeout: 60_000 }).toBeGreaterThanOrEqual(20_000)
})

test('a server that cannot make them logs that, and still serves', async () => {
  const { address, database, ready } = openCounting(20_000)
  await ready
  await database.write(({ sql }) => sql.schema.dropTable('app_search_lists'))
  const server = await serve(address)
  const told = () => server.log.map((line) => JSON.parse(line)).filter(({ err }) => err !== undefined)
  await expect.poll(told, { timeout: 60_000 }).toEqual([
    expect.objectContaining({
      level: 40,
      msg: 'searches may be slow: what they need could not be made',
      err: expect.objectContaining({ message: expect.stringContaining('app_search_lists') }),
    }),
  ])
  expect((await server.request('GET', '/apps')).status).toBe(200)
})
