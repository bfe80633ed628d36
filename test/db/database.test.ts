import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { appColumns } from '../../src/catalogue/app-columns.ts'
import { withTemporaryCopy } from '../../src/db/copy-database.ts'
import { type Database, openDatabase, openMigratedDatabase } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { copyWorld, emptyDatabaseUrl } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'

const migrations = readdirSync(join(import.meta.dirname, '../../src/db/migrations')).toSorted()

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(await copyWorld())
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

test('a read connection refuses to write', async () => {
  await withDatabase(async (database) => {
    const write = database.read(({ sql }) =>
      sql('developers').insert({ name: 'X', created_at: '', changed_at: '' }),
    )
    await expect(write).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('the schema refuses', () => {
  const app =
    'insert into apps (developer_id, category_id, status, approved_at, rejection_reason, created_at, updated_at, slug, version, name, description, package_name, package_key)'
  const values = (change: Record<string, string>) =>
    Object.values({
      developer: '1',
      category: '1',
      status: "'pending'",
      approved: 'null',
      reason: 'null',
      created: "''",
      updated: "''",
      slug: "'new'",
      version: "'1'",
      name: "'N'",
      description: "'D'",
      package: 'null',
      key: 'null',
      ...change,
    }).join(', ')
  test.for<[what: string, sql: string, refusal: RegExp]>([
    ['an unknown status', `${app} values (${values({ status: "'draft'" })})`, /apps_status/],
    [
      'an approved app without a time of approval',
      `${app} values (${values({ status: "'approved'" })})`,
      /apps_approved_at/,
    ],
    [
      'a rejected app without a reason',
      `${app} values (${values({ status: "'rejected'" })})`,
      /apps_rejection_reason/,
    ],
    [
      'a pending app with a reason',
      `${app} values (${values({ reason: "'x'" })})`,
      /apps_rejection_reason/,
    ],
    [
      'two apps with one slug',
      `${app} values (${values({ slug: "'tide-clock'" })})`,
      /unique .*apps.slug/i,
    ],
    [
      'two apps with one package name',
      `${app} values (${values({ package: "'Org.Example.TideClock'", key: "'org.example.tideclock'" })})`,
      /unique .*apps.package_key/i,
    ],
    [
      'an app with an unknown category',
      `${app} values (${values({ category: '99' })})`,
      /foreign key/i,
    ],
    [
      'an app with an unknown developer',
      `${app} values (${values({ developer: '99' })})`,
      /foreign key/i,
    ],
    [
      'a rating of 0',
      "insert into reviews (app_id, rating, created_at, reviewer_name, comment) values (1, 0, '', '', '')",
      /reviews_rating/,
    ],
    [
      'a rating of 6',
      "insert into reviews (app_id, rating, created_at, reviewer_name, comment) values (1, 6, '', '', '')",
      /reviews_rating/,
    ],
    [
      'a review without an app',
      "insert into reviews (app_id, rating, created_at, reviewer_name, comment) values (99, 5, '', '', '')",
      /foreign key/i,
    ],
    ['deleting an app with reviews', 'delete from apps where id = 1', /foreign key/i],
    ['deleting a category with apps', 'delete from categories where id = 1', /foreign key/i],
    ['a negative total', 'update categories set listed_apps = -1', /categories_listed_apps/],
    ['changing an audit row', "update audit set action = 'x'", /audit is append-only/],
    ['deleting an audit row', 'delete from audit', /audit is append-only/],
    [
      'an audit row without an actor',
      "insert into audit (app_id, developer_id, at, action, after) values (1, 1, '', 'x', '{}')",
      /audit_actor/,
    ],
  ])('%s', async ([, statement, refusal]) => {
    await withDatabase(async (database) => {
      await expect(database.write(({ sql }) => sql.raw(statement))).rejects.toThrow(refusal)
    })
  })
})

test('the table of apps has exactly the columns of which the uses are declared', async () => {
  await withDatabase(async ({ read }) => {
    const columns = await read(({ sql }) => sql('apps').columnInfo())
    expect(Object.keys(columns).toSorted()).toEqual(Object.keys(appColumns).toSorted())
  })
})

test('the message of a driver error quotes neither the statement nor bound values', async () => {
  await withDatabase(async (database) => {
    const insert = database.write(({ sql }) =>
      sql('developers').insert({ name: 'Ada', created_at: 'private text', changed_at: '' }),
    )
    await expect(insert).rejects.toThrow(/unique/i)
    await expect(insert).rejects.not.toThrow(/private text|insert/)
    await expect(insert).rejects.toMatchObject({ statement: expect.stringMatching(/^insert into/) })
    const read = database.read(({ rows }) => rows('select 1 - missing', []))
    await expect(read).rejects.not.toThrow(/select/)
  })
})

test('an error of a statement, or a connection that it ends, is thrown and not printed', async () => {
  const printed = (['log', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name))
  onTestFinished(() => void vi.restoreAllMocks())
  await withDatabase(async ({ read }) => {
    const fail =
      inject('engine') === 'sqlite' ? 'fail' : 'select pg_terminate_backend(pg_backend_pid())'
    await expect(read(({ sql }) => sql.raw(fail))).rejects.toThrow()
    expect(await read(({ sql }) => sql('developers').pluck('name'))).toContain('Ada')
  })
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
  await withDatabase(async (database) => {
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
})

test.for<[expression: string, value: unknown]>([
  ['count(*)', 2],
  ['max(id)', 2],
  ['sum(cast(9007199254740991 as bigint)) / 2', 9_007_199_254_740_991],
  ['cast(4.25 as numeric(5, 2))', 4.25],
])('%s of the two developers is read as a number', async ([expression, value]) => {
  await withDatabase(async (database) => {
    const rows = await database.read(({ rows }) =>
      rows(`select ${expression} as value from developers limit 1`, []),
    )
    expect(rows).toEqual([{ value }])
  })
})

test('statements to read, write and find the data version can be listened to', async () => {
  await withDatabase(async (database) => {
    const heard: string[] = []
    database.onStatement((statement) => heard.push(statement))
    await database.read(({ sql }) => sql.raw('select 1'))
    await database.write(({ sql }) => sql.raw('select 2'))
    await database.dataVersion()
    for (const statement of ['select 1', 'select 2', 'select value from catalogue_version'])
      expect(heard).toContain(statement)
  })
})

test('a text with NUL equals no other', async () => {
  await withDatabase(async (database) => {
    const find = (name: string) =>
      database.read(({ rows }) => rows('select id from developers where name = ?', [name]))
    expect([await find('Ada'), await find('Ada\0'), await find('\0')]).toEqual([
      [{ id: 1 }],
      [],
      [],
    ])
  })
})

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

test('a second migration changes nothing', async () => {
  const database = openDatabase(await emptyDatabaseUrl())
  expect(await database.migrate()).toEqual(migrations)
  expect(await database.migrate()).toEqual([])
  expect(await database.schemaAge()).toBe('current')
  await database.close()
})

test('refuses to serve or migrate a database of a newer version', async () => {
  const address = await copyWorld()
  const database = openDatabase(address)
  await database.write(({ sql }) =>
    sql.raw("insert into knex_migrations (name, batch) values ('9999-later.ts', 9)"),
  )
  expect(await database.schemaAge()).toBe('newer')
  await expect(database.migrate()).rejects.toThrow(/was migrated by a newer version/)
  await database.close()
  await expect(openMigratedDatabase(address)).rejects.toThrow(/was migrated by a newer version/)
})

test('a snapshot does not change while others write, and the next one sees their writes', async () => {
  await withDatabase(async (database) => {
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
})

test.for(['apps', 'developers', 'categories'] as const)(
  'waits for running writes of %s before it returns the time before which everything is committed',
  async (table) => {
    await withDatabase(async (database) => {
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
    })
  },
)

test('a dry run is invisible and leaves nothing, and others can write meanwhile', async () => {
  await withDatabase(async (database) => {
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
  const versionAfterWrite = () =>
    withDatabase(async (database) => {
      await database.write(async ({ markPublicChange }) => markPublicChange())
      return database.dataVersion()
    })
  expect(await versionAfterWrite()).not.toBe(await versionAfterWrite())
})

test('a row that violates a unique constraint is skipped, and its transaction continues', async () => {
  await withDatabase(async (database) => {
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
})

test('rows without an id get one that no other row of the insert has', async () => {
  await withDatabase(async (database) => {
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
})

test('of writes that wait together, one that fails leaves nothing, and the others stay', async () => {
  await withDatabase(async (database) => {
    const add = (name: string) =>
      database.write(async ({ sql }) => {
        await sql('developers').insert({ name, created_at: '', changed_at: '' })
        if (name === 'Mallory') throw new Error('refused')
        return name
      })
    const results = await Promise.allSettled(['Carol', 'Dave', 'Mallory', 'Eve', 'Frank'].map(add))
    expect(
      results.map((result) =>
        result.status === 'fulfilled' ? result.value : result.reason.message,
      ),
    ).toEqual(['Carol', 'Dave', 'refused', 'Eve', 'Frank'])
    const names = await database.read(({ sql }) => sql('developers').orderBy('name').pluck('name'))
    expect(names).toEqual(['Ada', 'Bob', 'Carol', 'Dave', 'Eve', 'Frank'])
  })
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
    await withDatabase(async (database) => {
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
  })

  test('those that wait are not repeated one by one while the disk is full', async () => {
    await withDatabase(async (database) => {
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
    await withDatabase(async (database) => {
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
      release.resolve()
      await first
      const results = await Promise.allSettled(waiting)
      expect(results.map(({ status }) => status)).toEqual(
        writes.map((kind) => (kind === 'public, fails' ? 'rejected' : 'fulfilled')),
      )
      expect((await database.dataVersion()) !== before).toBe(isNewVersion)
    })
  },
)

test.for(['read', 'snapshot', 'write', 'batchedWrite'] as const)(
  'a %s whose caller has disconnected is not begun, and the next one is',
  async (method) => {
    await withDatabase(async (database) => {
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
    })
  },
)

test('sorts text by code point', async () => {
  const names = ['A', 'B', 'Z', 'a', 'é', '\u{FFFD}', '\u{1F600}']
  await withDatabase(async (database) => {
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
})
