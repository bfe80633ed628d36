import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { appColumns } from '../../src/catalogue/app-columns.ts'
import { withTemporaryCopy } from '../../src/db/copy-database.ts'
import type { Database } from '../../src/db/database.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'

test('a read connection refuses to write', async () => {
  const database = await openWorld()
  const write = database.read(({ sql }) =>
    sql('developers').insert({ name: 'X', created_at: '', changed_at: '' }),
  )
  await expect(write).rejects.toMatchObject({ code: 'unavailable' })
})

test('the table of apps has exactly the columns of which the uses are declared', async () => {
  const { read } = await openWorld()
  const columns = await read(({ sql }) => sql('apps').columnInfo())
  expect(Object.keys(columns).toSorted()).toEqual(Object.keys(appColumns).toSorted())
})

test('the message of a driver error quotes neither the statement nor bound values', async () => {
  const database = await openWorld()
  const insert = database.write(({ sql }) =>
    sql('developers').insert({ name: 'Ada', created_at: 'private text', changed_at: '' }),
  )
  await expect(insert).rejects.toThrow(/unique/i)
  await expect(insert).rejects.not.toThrow(/private text|insert/)
  await expect(insert).rejects.toMatchObject({ statement: expect.stringMatching(/^insert into/) })
  const read = database.read(({ rows }) => rows('select 1 - missing', []))
  await expect(read).rejects.not.toThrow(/select/)
})

test('an error of a statement, or a connection that it ends, is thrown and not printed', async () => {
  const printed = (['log', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name))
  onTestFinished(() => void vi.restoreAllMocks())
  const { read } = await openWorld()
  const fail =
    inject('engine') === 'sqlite' ? 'fail' : 'select pg_terminate_backend(pg_backend_pid())'
  await expect(read(({ sql }) => sql.raw(fail))).rejects.toThrow()
  expect(await read(({ sql }) => sql('developers').pluck('name'))).toContain('Ada')
  expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([])
})

test('a statement waits for a free connection for 5 s, or as long as connect_timeout says', async () => {
  const address = new URL(await copyWorld())
  if (inject('engine') === 'postgres') address.searchParams.set('connect_timeout', '25')
  // One connection writes.
  const database = openDatabase(address.href, { pool: 4 })
  onTestFinished(() => database.close())
  const release = await holdWrite(database)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let result = 'waits'
  const waiting = database.optimize({ isLast: true }).catch((error) => {
    result = error.code
  })
  await vi.advanceTimersByTimeAsync(inject('engine') === 'sqlite' ? 4500 : 24_500)
  expect(result).toBe('waits')
  await vi.advanceTimersByTimeAsync(1000)
  expect(result).toBe('unavailable')
  await release()
  await waiting
})

test('idle connections are closed after five minutes on PostgreSQL, and kept on SQLite', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const database = await openWorld()
  const countIdle = () => database.usage().pools.map(({ idle }) => idle)
  const bothRead = Promise.withResolvers<void>()
  let reads = 0
  const read = () =>
    database.snapshot(async ({ sql }) => {
      await sql('developers').first('id')
      if (++reads === 2) bothRead.resolve()
      await bothRead.promise
    })
  await Promise.all([read(), read(), database.write(async () => {})])
  vi.advanceTimersByTime(5 * 60_000 - 2000)
  expect(countIdle()).toEqual([2, 1])
  vi.advanceTimersByTime(4000)
  expect(countIdle()).toEqual(inject('engine') === 'sqlite' ? [2, 1] : [0, 0])
  // The next statement works in any case.
  expect(await database.read(({ sql }) => sql('developers').pluck('name'))).toContain('Ada')
})

test.for<[expression: string, value: unknown]>([
  ['count(*)', 2],
  ['max(id)', 2],
  ['sum(cast(9007199254740991 as bigint)) / 2', 9_007_199_254_740_991],
  ['cast(4.25 as numeric(5, 2))', 4.25],
])('%s of the two developers is read as a number', async ([expression, value]) => {
  const database = await openWorld()
  const rows = await database.read(({ rows }) =>
    rows(`select ${expression} as value from developers limit 1`, []),
  )
  expect(rows).toEqual([{ value }])
})

test('statements to read, write and find the data version can be listened to', async () => {
  const database = await openWorld()
  const heard: string[] = []
  database.onStatement((statement) => heard.push(statement))
  await database.read(({ sql }) => sql.raw('select 1'))
  await database.write(({ sql }) => sql.raw('select 2'))
  await database.dataVersion()
  for (const statement of ['select 1', 'select 2', 'select value from catalogue_version'])
    expect(heard).toContain(statement)
})

test('a text with NUL equals no other', async () => {
  const database = await openWorld()
  const find = (name: string) =>
    database.read(({ rows }) => rows('select id from developers where name = ?', [name]))
  expect([await find('Ada'), await find('Ada\0'), await find('\0')]).toEqual([[{ id: 1 }], [], []])
})

test('a snapshot does not change while others write, and the next one sees their writes', async () => {
  const database = await openWorld()
  const namesIn = () =>
    database.snapshot(({ sql }) => sql('developers').orderBy('id').pluck('name'))
  const before = await namesIn()
  const seen = await database.snapshot(async ({ sql }) => {
    const first = await sql('developers').orderBy('id').pluck('name')
    await database.write((writer) =>
      writer.sql('developers').insert({ name: 'Eve', created_at: '', changed_at: '' }),
    )
    return [first, await sql('developers').orderBy('id').pluck('name')]
  })
  expect(seen).toEqual([before, before])
  expect(await namesIn()).toEqual([...before, 'Eve'])
})

test.for(['apps', 'developers', 'categories'] as const)(
  'waits for running writes of %s before it returns the time before which everything is committed',
  async (table) => {
    const database = await openWorld()
    const order: string[] = []
    const begun = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const stamps: string[] = []
    const slow = database.write(async ({ sql }) => {
      stamps.push(new Date().toISOString())
      await sql<{ id: number; changed_at: string }>(table)
        .where({ id: 1 })
        .update({ changed_at: stamps[0] ?? '' })
      begun.resolve()
      await goOn.promise
      order.push('written')
    })
    await begun.promise
    const committed = database.committedBefore().then((time) => {
      order.push('committedBefore')
      return time.toISOString()
    })
    // Reads work, and do not see the write yet. Twenty take longer than `committedBefore` would
    // if it did not wait.
    for (let time = 0; time < 20; time++)
      expect(
        await database.read(({ sql }) => sql(table).where({ changed_at: stamps[0] ?? '' })),
      ).toEqual([])
    goOn.resolve()
    await slow
    expect((await committed) >= (stamps[0] ?? '')).toBe(true)
    expect(order).toEqual(['written', 'committedBefore'])
  },
)

test('a dry run is invisible and leaves nothing, and others can write meanwhile', async () => {
  const database = await openWorld()
  const add = (to: Database, name: string) =>
    to.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))
  const namesIn = (of: Database) =>
    of.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))
  const seen = await withTemporaryCopy(database, async (copy) => {
    await add(copy, 'Eve')
    await add(database, 'Mallory')
    return [await namesIn(copy), await namesIn(database)]
  })
  expect(seen).toEqual([
    ['Ada', 'Bob', 'Eve'],
    ['Ada', 'Bob', 'Mallory'],
  ])
  expect(await namesIn(database)).toEqual(['Ada', 'Bob', 'Mallory'])
})

test('the data version changes with every commit of any process that may change public data, and not by reading', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  const other = openDatabase(address)
  const add = (to: Database, name: string) =>
    to.write(async ({ sql, markPublicChange }) => {
      await sql('developers').insert({ name, created_at: '', changed_at: '' })
      markPublicChange()
    })
  const versions = [await database.dataVersion()]
  const note = async () => versions.push(await database.dataVersion())
  await add(database, 'Eve')
  await note()
  await add(other, 'Mallory')
  await note()
  expect(new Set(versions).size).toBe(3)

  await database.read(({ sql }) => sql('developers').first('id'))
  await note()
  await database.write(({ sql }) =>
    sql('developers').insert({ name: 'Fay', created_at: '', changed_at: '' }),
  )
  await note()
  await expect(database.read(async (runner) => runner.markPublicChange())).rejects.toThrow(
    'only a write',
  )
  expect(versions.slice(3)).toEqual([versions[2], versions[2]])
  await Promise.all([database.close(), other.close()])
})

test('two copies of a database have different data versions after equal writes', async () => {
  const versionAfterWrite = async () => {
    const database = await openWorld()
    await database.write(async ({ markPublicChange }) => markPublicChange())
    return database.dataVersion()
  }
  expect(await versionAfterWrite()).not.toBe(await versionAfterWrite())
})

test('sorts text by code point', async () => {
  const names = ['A', 'B', 'Z', 'a', 'é', '\u{FFFD}', '\u{1F600}']
  const database = await openWorld()
  await database.write(({ insertRows }) =>
    insertRows(
      'developers',
      names.toReversed().map((name) => ({ name, created_at: '', changed_at: '' })),
    ),
  )
  expect(
    await database.read(({ sql }) =>
      sql('developers').whereIn('name', names).orderBy('name').pluck('name'),
    ),
  ).toEqual(names)
})
