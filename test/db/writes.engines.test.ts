import { describe, expect, inject, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorld, openWorld } from '../support/database.ts'

/** Writes of one process, which may share a transaction, and of several processes. */

test('concurrent processes that read and then write all succeed', async () => {
  const address = await copyWorld()
  const databases = Array.from({ length: 4 }, () => openDatabase(address))
  const add = (database: Database) =>
    database.write(async ({ sql }) => {
      const before = await sql('categories').where({ id: 1 }).forUpdate().first('listed_apps')
      await sql('categories')
        .where({ id: 1 })
        .update({ listed_apps: (before?.listed_apps ?? 0) + 1 })
    })
  await Promise.all(
    databases.flatMap((database) => Array.from({ length: 10 }, () => add(database))),
  )
  const row = await databases[0]?.read(({ sql }) =>
    sql('categories').where({ id: 1 }).first('listed_apps'),
  )
  expect(row?.listed_apps).toBe(1 + 40)
  await Promise.all(databases.map((database) => database.close()))
})

test('a row that violates a unique constraint is skipped, and its transaction continues', async () => {
  const database = await openWorld()
  const row = (name: string) => ({ name, created_at: '', changed_at: '' })
  const ids = await database.write(async ({ insertUnlessTaken }) => [
    await insertUnlessTaken('developers', row('Eve'), ['name']),
    await insertUnlessTaken('developers', row('Ada'), ['name']),
    await insertUnlessTaken('developers', row('Mallory'), ['name']),
  ])
  expect(ids).toEqual([3, undefined, 4])
  const names = await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))
  expect(names).toEqual(['Ada', 'Bob', 'Eve', 'Mallory'])
})

test('rows without an id get one that no other row of the insert has', async () => {
  const database = await openWorld()
  const row = (name: string, id?: number) => ({
    ...(id !== undefined && { id }),
    name,
    created_at: '',
    changed_at: '',
  })
  const rows = [row('A'), row('B', 3), row('C'), row('D', 5)]
  const idsByName = async ({ sql }: QueryRunner) =>
    new Map(
      (await sql('developers').where('id', '>', 2).select('id', 'name')).map(({ id, name }) => [
        name,
        id,
      ]),
    )
  const inserted = await database.write(({ insertRows }) => insertRows('developers', rows))
  expect(inserted.map(({ name, id }) => `${name} ${id}`)).toEqual(['A 6', 'B 3', 'C 7', 'D 5'])
  expect(await database.read(idsByName)).toEqual(
    new Map([
      ['A', 6],
      ['B', 3],
      ['C', 7],
      ['D', 5],
    ]),
  )
  const more = [row('E'), row('F', 9), row('G')]
  const ids = (await database.write(({ insertRows }) => insertRows('developers', more))).map(
    ({ id }) => id,
  )
  expect(ids).toEqual([10, 9, 11])
})

test('of writes that wait together, one that fails leaves nothing, and the others stay', async () => {
  const database = await openWorld()
  const add = (name: string) =>
    database.write(async ({ sql }) => {
      await sql('developers').insert({ name, created_at: '', changed_at: '' })
      if (name === 'Mallory') throw new Error('refused')
      return name
    })
  const results = await Promise.allSettled(['Carol', 'Dave', 'Mallory', 'Eve', 'Frank'].map(add))
  expect(
    results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
  ).toEqual(['Carol', 'Dave', 'refused', 'Eve', 'Frank'])
  const names = await database.read(({ sql }) => sql('developers').orderBy('name').pluck('name'))
  expect(names).toEqual(['Ada', 'Bob', 'Carol', 'Dave', 'Eve', 'Frank'])
})

describe('batched writes', () => {
  /** Adds developers. Those named Mallory are refused after they were inserted. */
  function batchedAdd(database: Database) {
    const batches: string[][] = []
    const add = database.batchedWrite(async ({ sql }, names: readonly string[]) => {
      batches.push([...names])
      await sql('developers').insert(
        names.map((name) => ({ name, created_at: '', changed_at: '' })),
      )
      if (names.includes('Mallory')) throw new Error('refused')
      return names.map((name) => `added ${name}`)
    })
    return { add, batches }
  }
  const names = (database: Database) =>
    database.read(({ sql }) => sql('developers').orderBy('name').pluck('name'))

  test.for<[what: string, inputs: string[], onSqlite: number[]]>([
    ['one is written alone', ['Carol'], [1]],
    ['those that wait are written together', ['Carol', 'Dave', 'Eve', 'Frank'], [1, 3]],
    [
      'those that wait are written up to 32 at a time',
      Array.from({ length: 40 }, (_, index) => `Developer ${index}`),
      [1, 32, 7],
    ],
    [
      'one that fails fails alone, and the others are written',
      ['Carol', 'Dave', 'Mallory', 'Eve'],
      [1, 3, 1, 1, 1],
    ],
    ['one that fails first leaves the others', ['Mallory', 'Dave', 'Eve'], [1, 2]],
  ])('%s', async ([, inputs, onSqlite]) => {
    const database = await openWorld()
    const before = await names(database)
    const { add, batches } = batchedAdd(database)
    const { writes } = database.usage()
    const results = await Promise.allSettled(inputs.map((input) => add(input)))
    expect(
      results.map((result) =>
        result.status === 'fulfilled' ? result.value : result.reason.message,
      ),
    ).toEqual(inputs.map((name) => (name === 'Mallory' ? 'refused' : `added ${name}`)))
    expect(batches.map(({ length }) => length)).toEqual(
      inject('engine') === 'sqlite' ? onSqlite : inputs.map(() => 1),
    )
    const added = inputs.filter((name) => name !== 'Mallory')
    expect(await names(database)).toEqual([...before, ...added].toSorted())
    expect(database.usage().writes - writes).toBe(added.length)
  })

  test('those that wait are not repeated one by one while the disk is full', async () => {
    const database = await openWorld()
    const isSqlite = inject('engine') === 'sqlite'
    const full = { code: isSqlite ? 'SQLITE_FULL' : '53100' }
    const batches: number[] = []
    const add = database.batchedWrite(async (_, inputs: readonly string[]): Promise<string[]> => {
      batches.push(inputs.length)
      throw Object.assign(new Error('full'), full)
    })
    const results = await Promise.allSettled(['Carol', 'Dave', 'Eve'].map((name) => add(name)))
    for (const result of results)
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
    expect(batches).toEqual(isSqlite ? [1, 2] : [1, 1, 1])
  })
})

test.for<[what: string, writes: ('public' | 'private' | 'public, fails')[], isNewVersion: boolean]>(
  [
    ['private ones', ['private', 'private'], false],
    ['a private one before a public one', ['private', 'public'], true],
    ['a public one before a private one', ['public', 'private'], true],
    ['two public ones', ['public', 'public'], true],
    ['a public one that fails, and a private one', ['public, fails', 'private'], false],
    ['a public one that fails before another', ['public, fails', 'public'], true],
    ['a public one before one that fails', ['public', 'public, fails'], true],
  ],
)(
  'writes that wait together change the data version if one changes public data: %s',
  async ([, writes, isNewVersion]) => {
    const database = await openWorld()
    const before = await database.dataVersion()
    const release = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const first = database.write(async () => {
      begun.resolve()
      await release.promise
    })
    await begun.promise
    const waiting = writes.map((kind, index) =>
      database.write(async ({ sql, markPublicChange }) => {
        await sql('developers').insert({ name: `${index}`, created_at: '', changed_at: '' })
        if (kind !== 'private') markPublicChange()
        if (kind === 'public, fails') throw new Error('refused')
      }),
    )
    // On PostgreSQL, one can fail before the first has ended.
    const settled = Promise.allSettled(waiting)
    release.resolve()
    await first
    const results = await settled
    expect(results.map(({ status }) => status)).toEqual(
      writes.map((kind) => (kind === 'public, fails' ? 'rejected' : 'fulfilled')),
    )
    expect((await database.dataVersion()) !== before).toBe(isNewVersion)
  },
)

test.for(['read', 'snapshot', 'write', 'batchedWrite'] as const)(
  'a %s whose caller has disconnected is not begun, and the next one is',
  async (method) => {
    const database = await openWorld()
    const begun: string[] = []
    const batched = database.batchedWrite(async (_, callers: readonly string[]) =>
      callers.map((caller) => begun.push(caller)),
    )
    const begin = (caller: string, signal?: AbortSignal) =>
      method === 'batchedWrite'
        ? batched(caller, { signal })
        : database[method](async () => begun.push(caller), { signal })
    await expect(begin('disconnected', AbortSignal.abort())).rejects.toMatchObject({
      code: 'unavailable',
    })
    await begin('next')
    expect(begun).toEqual(['next'])
  },
)
