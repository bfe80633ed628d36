import { existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Connection } from '../../src/db/dialect.ts'
import { type Database, databaseOf, openDatabase, openMigratedDatabase } from '../../src/db/open.ts'
import { sqlite } from '../../src/db/sqlite/dialect.ts'
import { copyWorld, temporaryFolder } from '../support/service.ts'

const migrations = readdirSync(join(import.meta.dirname, '../../src/db/migrations')).toSorted()

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(`sqlite:${copyWorld()}`)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

test.for(['read', 'write'] as const)('every PRAGMA is in force on a connection to %s', async (way) => {
  // Written out: what a connection is for, not what the program happens to say.
  const expected = {
    busy_timeout: 5000,
    journal_mode: 'wal',
    synchronous: 2,
    foreign_keys: 1,
    cache_size: way === 'read' ? -6144 : -24_576,
    temp_store: 2,
    wal_autocheckpoint: 16_000,
    journal_size_limit: 67_108_864,
    query_only: way === 'read' ? 1 : 0,
  }
  await withDatabase(async (database) => {
    const found: Record<string, unknown> = {}
    await database[way](async ({ sql }) => {
      for (const name of Object.keys(expected)) {
        const [row] = await sql.raw(`PRAGMA ${name}`)
        found[name] = Object.values(row)[0]
      }
    })
    expect(found).toEqual(expected)
  })
})

test('a connection to read refuses to write', async () => {
  await withDatabase(async (database) => {
    const write = database.read(({ sql }) => sql('developers').insert({ name: 'X', created_at: '', changed_at: '' }))
    await expect(write).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('the schema refuses what must never be', () => {
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
    ['an unknown status', `${app} values (${values({ status: "'draft'" })})`, /CHECK constraint failed: apps_status/],
    [
      'an approved app without a time of approval',
      `${app} values (${values({ status: "'approved'" })})`,
      /apps_approved_at/,
    ],
    ['a rejected app without a reason', `${app} values (${values({ status: "'rejected'" })})`, /apps_rejection_reason/],
    ['a pending app with a reason', `${app} values (${values({ reason: "'x'" })})`, /apps_rejection_reason/],
    [
      'two apps with one slug',
      `${app} values (${values({ slug: "'tide-clock'" })})`,
      /UNIQUE constraint failed: apps.slug/,
    ],
    [
      'two apps with one package name',
      `${app} values (${values({ package: "'Org.Example.TideClock'", key: "'org.example.tideclock'" })})`,
      /UNIQUE constraint failed: apps.package_key/,
    ],
    ['an app of no category', `${app} values (${values({ category: '99' })})`, /FOREIGN KEY/],
    ['an app of no developer', `${app} values (${values({ developer: '99' })})`, /FOREIGN KEY/],
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
      'a rating of 4.5',
      "insert into reviews (app_id, rating, created_at, reviewer_name, comment) values (1, 4.5, '', '', '')",
      /reviews_rating/,
    ],
    [
      'a review without an app',
      "insert into reviews (app_id, rating, created_at, reviewer_name, comment) values (99, 5, '', '', '')",
      /FOREIGN KEY/,
    ],
    ['an app with reviews leaving', 'delete from apps where id = 1', /FOREIGN KEY/],
    ['a category with apps leaving', 'delete from categories where id = 1', /FOREIGN KEY/],
    ['a total below zero', 'update categories set listed_apps = -1', /categories_listed_apps/],
    ['changing an audit row', "update audit set action = 'x'", /audit is append-only/],
    ['forgetting an audit row', 'delete from audit', /audit is append-only/],
    [
      'an audit row of nobody',
      "insert into audit (app_id, developer_id, at, action, after) values (1, 1, '', 'x', '{}')",
      /audit_actor/,
    ],
  ])('%s', async ([, statement, refusal]) => {
    await withDatabase(async (database) => {
      await expect(database.write(({ sql }) => sql.raw(statement))).rejects.toThrow(refusal)
    })
  })
})

test('a driver error does not quote what was bound to the statement', async () => {
  await withDatabase(async (database) => {
    const insert = database.write(({ sql }) =>
      sql('developers').insert({ name: 'Ada', created_at: 'private text', changed_at: '' }),
    )
    await expect(insert).rejects.toThrow(/UNIQUE/)
    await expect(insert).rejects.not.toThrow(/private text/)
  })
})

test('of processes that read and then write, none loses to the other', async () => {
  const file = copyWorld()
  const databases = Array.from({ length: 4 }, () => openDatabase(`sqlite:${file}`))
  const add = (database: Database) =>
    database.write(async ({ sql }) => {
      const before = await sql('categories').where({ id: 1 }).first('listed_apps')
      await sql('categories')
        .where({ id: 1 })
        .update({ listed_apps: (before?.listed_apps ?? 0) + 1 })
    })
  await Promise.all(databases.flatMap((database) => Array.from({ length: 10 }, () => add(database))))
  const row = await databases[0]?.read(({ sql }) => sql('categories').where({ id: 1 }).first('listed_apps'))
  expect(row?.listed_apps).toBe(1 + 40)
  await Promise.all(databases.map((database) => database.close()))
})

test('migrating twice does nothing the second time', async () => {
  const database = openDatabase(`sqlite:${join(temporaryFolder(), 'deep/er/new.sqlite')}`)
  expect(await database.migrate()).toEqual(migrations)
  expect(await database.migrate()).toEqual([])
  expect(await database.schemaAge()).toBe('current')
  await database.close()
})

test('a database of a newer version is neither served nor migrated', async () => {
  const filename = copyWorld()
  const database = openDatabase(`sqlite:${filename}`)
  await database.write(({ sql }) =>
    sql.raw("insert into knex_migrations (name, batch, migration_time) values ('9999-later.ts', 9, 0)"),
  )
  expect(await database.schemaAge()).toBe('newer')
  await expect(database.migrate()).rejects.toThrow(/was migrated by a newer version/)
  await database.close()
  await expect(openMigratedDatabase(`sqlite:${filename}`)).rejects.toThrow(/was migrated by a newer version/)
})

test.for<[what: string, write: ((file: string) => void) | undefined, message: RegExp]>([
  ['a file that is not there', undefined, /does not exist; npx apps-service migrate creates it/],
  [
    'a file that is no database',
    (file) => writeFileSync(file, 'x'.repeat(5000)),
    /is no file that SQLite can read as a database/,
  ],
  [
    'a database that is not migrated',
    (file) => writeFileSync(file, ''),
    /is not migrated to this version; run npx apps-service migrate/,
  ],
])('%s cannot be served from', async ([, write, message]) => {
  const filename = join(temporaryFolder(), 'some.sqlite')
  write?.(filename)
  await expect(openMigratedDatabase(`sqlite:${filename}`)).rejects.toThrow(message)
})

test.for<[address: string, name: string]>([
  ['sqlite:apps.sqlite', 'apps.sqlite'],
  ['sqlite:./a b.sqlite', './a b.sqlite'],
  ['sqlite:///var/lib/apps.sqlite', '/var/lib/apps.sqlite'],
])('%s is the file %s', async ([address, name]) => {
  expect(sqlite.accepts(address)).toBe(true)
  const engine = sqlite.open(address)
  expect(engine.name).toBe(name)
  await engine.close()
})

test.for(['sqlite:', 'sqlite::memory:', 'postgres://localhost/apps', 'apps.sqlite', ''])(
  '%j is no address',
  (address) => {
    expect(sqlite.accepts(address)).toBe(false)
    expect(() => openDatabase(address)).toThrow()
  },
)

test('a snapshot stays at its moment while others write, and the next one is of another', async () => {
  await withDatabase(async (database) => {
    const namesIn = () => database.snapshot(({ sql }) => sql('developers').orderBy('id').pluck('name'))
    const before = await namesIn()
    const seen = await database.snapshot(async ({ sql }) => {
      const first = await sql('developers').orderBy('id').pluck('name')
      await database.write((writer) => writer.sql('developers').insert({ name: 'Eve', created_at: '', changed_at: '' }))
      return [first, await sql('developers').orderBy('id').pluck('name')]
    })
    expect(seen).toEqual([before, before])
    expect(await namesIn()).toEqual([...before, 'Eve'])
  })
})

test('what was written before the horizon is there: it waits for whoever is writing', async () => {
  await withDatabase(async (database) => {
    const order: string[] = []
    const begun = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const stamps: string[] = []
    const slow = database.write(async ({ sql }) => {
      stamps.push(new Date().toISOString())
      await sql('developers').insert({ name: 'Eve', created_at: '', changed_at: stamps[0] ?? '' })
      begun.resolve()
      await goOn.promise
      order.push('written')
    })
    await begun.promise
    const horizon = database.horizon().then((time) => {
      order.push('horizon')
      return time.toISOString()
    })
    // Reads go on, and see nothing of it yet.
    expect(await database.read(({ sql }) => sql('developers').where({ name: 'Eve' }))).toEqual([])
    goOn.resolve()
    await slow
    expect((await horizon) >= (stamps[0] ?? '')).toBe(true)
    expect(order).toEqual(['written', 'horizon'])
  })
})

test('nobody sees what is rehearsed, and nothing of it remains; the others go on writing', async () => {
  await withDatabase(async (database) => {
    const add = (to: Database, name: string) =>
      to.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))
    const namesIn = (of: Database) => of.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))
    const seen = await database.rehearse(async (rehearsed) => {
      await add(rehearsed, 'Eve')
      await add(database, 'Mallory')
      return [await namesIn(rehearsed), await namesIn(database)]
    })
    expect(seen).toEqual([
      ['Ada', 'Bob', 'Eve'],
      ['Ada', 'Bob', 'Mallory'],
    ])
    expect(await namesIn(database)).toEqual(['Ada', 'Bob', 'Mallory'])
  })
})

test('the version of the data changes with every commit, by this process or another, and with nothing else', async () => {
  const file = copyWorld()
  const database = openDatabase(`sqlite:${file}`)
  const other = openDatabase(`sqlite:${file}`)
  const add = (to: Database, name: string) =>
    to.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))
  const versions = [await database.version()]
  const note = async () => versions.push(await database.version())
  await add(database, 'Eve')
  await note()
  await add(other, 'Mallory')
  await note()
  expect(new Set(versions).size).toBe(3)

  await database.read(({ sql }) => sql('developers').first('id'))
  await expect(add(database, 'Eve')).rejects.toThrow(/UNIQUE/)
  await note()
  expect(versions[3]).toBe(versions[2])
  await Promise.all([database.close(), other.close()])
})

test('a statement that a unique constraint refuses leaves its transaction as it was', async () => {
  await withDatabase(async (database) => {
    const insert = (name: string) => ({ name, created_at: '', changed_at: '' })
    await database.write(async ({ sql, attempt }) => {
      await sql('developers').insert(insert('Eve'))
      const again = attempt(() => sql('developers').insert([insert('New'), insert('Eve')]), {
        'developers.name': () => new Error('Eve is there'),
      })
      await expect(again).rejects.toThrow('Eve is there')
      await sql('developers').insert(insert('Mallory'))
    })
    const names = await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))
    expect(names).toEqual(['Ada', 'Bob', 'Eve', 'Mallory'])
  })
})

test('rows without an id are given one that no row with an id has, before or behind it', async () => {
  await withDatabase(async (database) => {
    const row = (name: string, id?: number) => ({
      ...(id !== undefined && { id }),
      name,
      created_at: '',
      changed_at: '',
    })
    const rows = [row('A'), row('B', 3), row('C'), row('D', 5)]
    const idsByName = async ({ sql }: Connection) =>
      new Map((await sql('developers').where('id', '>', 2).select('id', 'name')).map(({ id, name }) => [name, id]))
    await database.write(({ insertion }) => insertion('developers', rows)())
    expect(await database.read(idsByName)).toEqual(
      new Map([
        ['A', 6],
        ['B', 3],
        ['C', 7],
        ['D', 5],
      ]),
    )
    expect(await database.write(({ newIds }) => newIds('developers', [undefined, 9, undefined]))).toEqual([10, 9, 11])
  })
})

test('text is ordered by code point', async () => {
  const names = ['A', 'B', 'Z', 'a', 'é', '\u{FFFD}', '\u{1F600}']
  await withDatabase(async (database) => {
    await database.write(({ insertion }) =>
      insertion(
        'developers',
        names.toReversed().map((name) => ({ name, created_at: '', changed_at: '' })),
      )(),
    )
    expect(
      await database.read(({ sql }) => sql('developers').whereIn('name', names).orderBy('name').pluck('name')),
    ).toEqual(names)
  })
})

describe('work that loses against another transaction', () => {
  const conflict = new Error('lost')
  const losing = async (times: number) => {
    const engine = sqlite.open(`sqlite:${copyWorld()}`)
    const database = databaseOf({ ...engine, isConflict: (error) => error === conflict })
    let begun = 0
    const work = database.write(async ({ sql }) => {
      begun++
      await sql('developers').insert({ name: `Eve ${begun}`, created_at: '', changed_at: '' })
      if (begun <= times) throw conflict
    })
    const outcome = await work.then(
      () => 'done',
      (error: Error) => error.message,
    )
    const names = await database.read(({ sql }) => sql('developers').whereLike('name', 'Eve%').pluck('name'))
    await database.close()
    return { outcome, begun, names }
  }

  test('is run again, and leaves nothing of the attempts that lost', async () => {
    expect(await losing(2)).toEqual({ outcome: 'done', begun: 3, names: ['Eve 3'] })
  })

  test('is given up after ten attempts', async () => {
    expect(await losing(1000)).toEqual({ outcome: 'lost', begun: 10, names: [] })
  })
})

test.runIf(process.platform === 'linux')('a database that is closed has let go of its file', async () => {
  const open = '/proc/self/fd'
  const held = () =>
    readdirSync(open)
      // But for the one that this reading itself had open.
      .filter((descriptor) => existsSync(join(open, descriptor)))
      .map((descriptor) => readlinkSync(join(open, descriptor)))
      .filter((file) => file.startsWith(filename))
  const filename = copyWorld()
  const database = openDatabase(`sqlite:${filename}`)
  await database.read(({ sql }) => sql('apps').first('id'))
  await database.write(({ sql }) => sql('apps').first('id'))
  await database.version()
  expect(held().length).toBeGreaterThanOrEqual(3)
  await database.close()
  expect(held()).toEqual([])
})
