import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { copyWorldFile } from '../support/database.ts'
import { serve } from '../support/process.ts'

/** Whether search's lists are due is told by counters, which are turned here: to make them of so many apps is the benchmark's. */
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

test('lists are made where there are apps enough, and anew where there are many more', async () => {
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

test('what somebody else makes is left to them while it goes on, and made anew where it does not', async () => {
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

test('what is cut short leaves the database as usable as it was', async () => {
  const { database, stateOf, ready } = openCounting(20_000)
  await ready
  await database.maintain(AbortSignal.abort())
  expect(await stateOf()).toBeUndefined()
  await database.maintain()
  expect((await stateOf()).listed).toBeGreaterThanOrEqual(20_000)
})

test('a server makes the lists that search keeps of many apps, by a process of its own', async () => {
  const { address, stateOf, ready } = openCounting(20_000)
  await ready
  await serve(address)
  const listed = async () => (await stateOf())?.listed
  // It is made behind all other work.
  await expect.poll(listed, { timeout: 60_000 }).toBeGreaterThanOrEqual(20_000)
})

test('a server that cannot make them says so, and serves', async () => {
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
