import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import type { Knex } from 'knex'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { databaseFor } from '../../src/db/database.ts'
import { isDatabaseUrl } from '../../src/db/database-url.ts'
import { migrate } from '../../src/db/migrations.ts'
import { openDatabase, openMigratedDatabase } from '../../src/db/open-database.ts'
import {
  openCopy,
  openExclusive,
  openForInspection,
  openReader,
  openWriter,
} from '../../src/db/sqlite/client.ts'
import { DatabaseFile } from '../../src/db/sqlite/database-file.ts'
import { openSqlite } from '../../src/db/sqlite/engine.ts'
import { newApp } from '../contract/valid-requests.ts'
import { copyWorld, copyWorldFile, openWorld, temporaryFolder } from '../support/database.ts'
import { holdWrite } from '../support/held-write.ts'
import { runProcess } from '../support/process.ts'
import { startService } from '../support/service.ts'

/**
 * Tests of src/db/database.ts that run on SQLite only: PRAGMAs, files that cannot be opened,
 * addresses, retries and closing. `copyWorld` copies the small catalogue of support/world.ts.
 * database.engines.test.ts runs on both engines.
 */

// Written out, not taken from the code under test.
const serving = {
  busy_timeout: 5000,
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  temp_store: 2,
  wal_autocheckpoint: 16_000,
  journal_size_limit: 67_108_864,
}

test.for<[use: string, open: (file: string) => Knex, pragmas: Record<string, number | string>]>([
  [
    'read',
    (file) => openReader(file, new DatabaseFile(file), 1),
    { ...serving, cache_size: -6144, query_only: 1 },
  ],
  [
    'write',
    (file) => openWriter(file, new DatabaseFile(file)),
    { ...serving, cache_size: -24_576, query_only: 0 },
  ],
  ['check a copy', openCopy, { cache_size: -24_576, temp_store: 2 }],
  ['lock a file', openExclusive, { busy_timeout: 1000, locking_mode: 'exclusive' }],
  ['inspect a file', (file) => openForInspection(file, false), { busy_timeout: 5000 }],
])('a connection to %s has every PRAGMA', async ([, open, pragmas]) => {
  const sql = open(copyWorldFile())
  onTestFinished(() => sql.destroy())
  const found: Record<string, unknown> = {}
  for (const name of Object.keys(pragmas)) {
    const [row] = await sql.raw(`PRAGMA ${name}`)
    found[name] = Object.values(row)[0]
  }
  expect(found).toEqual(pragmas)
})

test.for<[what: string, write: ((file: string) => void) | undefined, message: RegExp]>([
  [
    'a missing file',
    undefined,
    /does not exist; \.\/apps-service migrate creates a new, empty one/,
  ],
  [
    'a file that is not a database',
    (file) => writeFileSync(file, 'x'.repeat(5000)),
    /is not a SQLite database or is damaged/,
  ],
  [
    "a database with another database's log",
    (file) => {
      writeFileSync(file, readFileSync(copyWorldFile()).subarray(0, 4096))
      writeFileSync(`${file}-wal`, 'of another')
    },
    /some\.sqlite is not a SQLite database or is damaged, and \S+some\.sqlite-wal is beside it; if another file was put/,
  ],
  [
    'a database without migrations',
    (file) => writeFileSync(file, ''),
    /is not migrated to this version; run \.\/apps-service migrate/,
  ],
])('refuses to serve %s', async ([, write, message]) => {
  const filename = join(temporaryFolder(), 'some.sqlite')
  write?.(filename)
  await expect(openMigratedDatabase(`sqlite:${filename}`)).rejects.toThrow(message)
})

test('a driver that cannot be loaded is reported with the reason', async () => {
  const file = join(temporaryFolder(), 'old-system.cjs')
  writeFileSync(file, "process.dlopen = () => { throw new Error('GLIBC_2.38 not found') }")
  const { code, stderr } = await runProcess(['migrate'], {
    DATABASE_URL: await copyWorld(),
    NODE_OPTIONS: `--require=${file}`,
  })
  expect([code, stderr]).toEqual([
    1,
    'apps-service: Cannot load the SQLite driver: GLIBC_2.38 not found\n',
  ])
})

test.for<[mode: string, open: () => Promise<string>]>([
  ['WAL', copyWorld],
  // SQLite shares such a file with other readers, even in its exclusive locking mode.
  ['rollback', copyWithoutLog],
])('reports an exclusively locked database in %s mode as in use', async ([, open]) => {
  const address = await open()
  const other = openDatabase(address)
  await other.withExclusiveLock(async () => {
    await expect(openMigratedDatabase(address)).rejects.toThrow(
      /apps\.sqlite is locked by another process/,
    )
  })
  await other.close()
})

/** A backup is not in WAL mode. */
async function copyWithoutLog(): Promise<string> {
  const database = openDatabase(await copyWorld())
  const file = join(temporaryFolder(), 'apps.sqlite')
  await database.copyTo?.(file, { verify: false })
  await database.close()
  return `sqlite:${file}`
}

test.for<[address: string, name: string]>([
  ['sqlite:apps.sqlite', resolve('apps.sqlite')],
  ['sqlite:./a b.sqlite', resolve('a b.sqlite')],
  ['sqlite:/var/lib/apps.sqlite', '/var/lib/apps.sqlite'],
  ['sqlite:///var/lib/apps.sqlite', '/var/lib/apps.sqlite'],
  ['sqlite:////var/lib/apps.sqlite', '/var/lib/apps.sqlite'],
])('%s names the file %s', async ([address, name]) => {
  const database = openDatabase(address)
  expect(database.name).toBe(name)
  await database.close()
})

test.for([
  'sqlite:',
  'sqlite::memory:',
  'sqlite://data/apps.sqlite',
  'sqlite:apps.sqlite?mode=ro',
  'apps.sqlite',
  '',
])('refuses the address %j', (address) => {
  expect(isDatabaseUrl(address)).toBe(false)
  expect(() => openDatabase(address)).toThrow()
})

test('creates a database with its directory', async () => {
  const folder = join(temporaryFolder(), 'new')
  // No part of the name has a meaning as in a URL.
  const database = openDatabase(`sqlite:${folder}/100%41 #1.sqlite`)
  expect(await migrate(database)).not.toEqual([])
  expect(await database.schemaAge()).toBe('current')
  await database.close()
  expect(readdirSync(folder)).toEqual(['100%41 #1.sqlite'])
})

test('the schema refuses a rating of 4.5, as the type of the column does on PostgreSQL', async () => {
  const database = await openWorld()
  const insert = database.write(({ sql }) =>
    sql.raw(
      "insert into reviews (app_id, rating, created_at, reviewer_name, comment) values (1, 4.5, '', '', '')",
    ),
  )
  await expect(insert).rejects.toThrow(/reviews_rating/)
})

test('the data version stays the same if nothing was written', async () => {
  const database = await openWorld()
  const add = () =>
    database.write(({ sql }) =>
      sql('developers').insert({ name: 'Ada', created_at: '', changed_at: '' }),
    )
  const before = await database.dataVersion()
  await expect(add()).rejects.toThrow(/unique/i)
  expect(await database.dataVersion()).toBe(before)
})

describe('a transaction that conflicts with another', () => {
  const conflict = new Error('lost')
  /**
   * Writes in a transaction that fails this many times with an error that the engine classifies as
   * a conflict.
   */
  const writeAfterConflicts = async (times: number) => {
    const engine = openSqlite(copyWorldFile())
    const database = databaseFor({
      ...engine,
      explain: (error) => ({ ...engine.explain(error), isConflict: error === conflict }),
    })
    let attempts = 0
    const work = database.write(async ({ sql }) => {
      attempts++
      await sql('developers').insert({ name: `Eve ${attempts}`, created_at: '', changed_at: '' })
      if (attempts <= times) throw conflict
    })
    const outcome = await work.then(
      () => 'done',
      (error: Error) => error.message,
    )
    const names = await database.read(({ sql }) =>
      sql('developers').whereLike('name', 'Eve%').pluck('name'),
    )
    await database.close()
    return { outcome, attempts, names }
  }

  test.for<[conflicts: number, outcome: string, attempts: number, names: string[]]>([
    [2, 'done', 3, ['Eve 3']],
    [9, 'done', 10, ['Eve 10']],
    [10, 'lost', 10, []],
    [1000, 'lost', 10, []],
  ])(
    '%i times: %s after %i attempts, and leaves nothing of those that failed',
    async ([conflicts, outcome, attempts, names]) => {
      expect(await writeAfterConflicts(conflicts)).toEqual({ outcome, attempts, names })
    },
  )
})

test('writes that share a transaction are only acknowledged after its commit', async () => {
  const filename = copyWorldFile()
  const database = openDatabase(`sqlite:${filename}`)
  const add = (name: string, more = () => {}) =>
    database.write(async ({ sql }) => {
      await sql('developers').insert({ name, created_at: '', changed_at: '' })
      more()
    })
  // The first runs alone, the others together. The last moves the file, so that the commit is not
  // in the file at the path.
  const results = await Promise.allSettled([
    add('Carol'),
    add('Dave'),
    add('Dave'),
    add('Frank', () => renameSync(filename, `${filename}-moved`)),
  ])
  const codes = results.map((result) =>
    result.status === 'fulfilled' ? 'done' : result.reason.code,
  )
  // The second Dave is not told either that there is one.
  expect(codes).toEqual(['done', 'unavailable', 'unavailable', 'unavailable'])
  renameSync(`${filename}-moved`, filename)
  await database.close()
})

test('a full file refuses the writes of the transaction that it ends, but not the next one', async () => {
  const database = await openWorld()
  const limitTo = (pages: number | string) =>
    database.write(({ sql }) => sql.raw(`pragma max_page_count = ${pages}`))
  const add = (name: string) =>
    database.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))
  // The least that SQLite accepts is the size of the file.
  await limitTo(1)
  const large = 'x'.repeat(2 ** 20)
  // The first runs alone, the others together.
  const results = await Promise.allSettled([large, 'Dave', large, 'Eve'].map(add))
  const messages = results.map((result) =>
    result.status === 'fulfilled' ? 'done' : result.reason.cause?.message,
  )
  const full = 'The disk is full: free some space where the database is.'
  expect(messages).toEqual([full, full, full, full])
  await limitTo(2 ** 30)
  await add('Frank')
  const names = await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))
  expect(names).toEqual(['Ada', 'Bob', 'Frank'])
})

test('a write while another process holds the lock is refused, and the next one works', async () => {
  const address = await copyWorld()
  const [database, other] = [openDatabase(address, { lockTimeout: 50 }), openDatabase(address)]
  const release = await holdWrite(other)
  await expect(database.write(async () => {})).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: expect.stringContaining(`write lock of ${database.name}`) },
  })
  await release()
  expect(await database.write(async () => 'done')).toBe('done')
  await Promise.all([database.close(), other.close()])
})

test.for<{ holder: 'another process' | 'this process'; namesLock: boolean }>([
  { holder: 'another process', namesLock: true },
  { holder: 'this process', namesLock: false },
])(
  'the log of a create that waits too long in the queue behind $holder names the lock: $namesLock',
  async ({ holder, namesLock }) => {
    const service = await startService()
    const { database, log, world } = service
    const other = openDatabase(service.databaseUrl)
    // Opens the connection, which has a time limit, too.
    await database.write(async () => {})
    const release = await holdWrite(holder === 'another process' ? other : database)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const first = database.write(async () => {}).catch(() => {})
    const create = () => service.request('POST', '/apps', { key: world.keys.ada, json: newApp })
    const refused = create()
    const queued = () => database.usage().pools.find(({ name }) => name === 'writer')?.queued
    await expect.poll(queued).toBeGreaterThanOrEqual(holder === 'another process' ? 1 : 2)
    vi.advanceTimersByTime(10_000)
    expect((await refused).status).toBe(503)
    expect(JSON.parse(log.at(-1) ?? '')).toMatchObject({ msg: 'POST 503' })
    expect(log.at(-1)?.includes('write lock')).toBe(namesLock)

    await release()
    await first
    expect((await create()).status).toBe(201)
    await other.close()
  },
)

/** The files whose names begin like this that this process has open. */
function openFiles(filename: string): string[] {
  const descriptors = '/proc/self/fd'
  return (
    readdirSync(descriptors)
      // The descriptor that read this directory is closed by now.
      .filter((descriptor) => existsSync(join(descriptors, descriptor)))
      .map((descriptor) => readlinkSync(join(descriptors, descriptor)))
      .filter((file) => file.startsWith(filename))
  )
}

const onLinux = test.runIf(process.platform === 'linux')

onLinux.for<[after: string, statements: number]>([
  ['a few statements', 1],
  ['more statements than a connection caches', 300],
])('closing a database after %s closes its file', async ([, statements]) => {
  const filename = copyWorldFile()
  const database = openDatabase(`sqlite:${filename}`)
  for (const method of ['read', 'write'] as const)
    await database[method](async ({ sql }) => {
      for (let number = 1; number <= statements; number++) await sql.raw(`select ${number}`)
    })
  await database.dataVersion()
  expect(openFiles(filename).length).toBeGreaterThanOrEqual(3)
  await database.close()
  expect(openFiles(filename)).toEqual([])
})

onLinux('a database that is refused is closed', async () => {
  const filename = copyWorldFile()
  const database = openDatabase(`sqlite:${filename}`)
  await database.write(({ sql }) =>
    sql('knex_migrations').insert({ name: '9999-later.ts', batch: 9 }),
  )
  await database.close()
  await expect(openMigratedDatabase(`sqlite:${filename}`)).rejects.toThrow(/by a newer version/)
  expect(openFiles(filename)).toEqual([])
})

onLinux('a file that is not a database is closed after each use', async () => {
  const filename = join(temporaryFolder(), 'some.sqlite')
  writeFileSync(filename, 'x'.repeat(5000))
  const database = openDatabase(`sqlite:${filename}`)
  await expect(database.read(({ sql }) => sql.raw('select 1'))).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect(openFiles(filename)).toEqual([])
  await database.close()
})

test('a query that locks rows, or skips locked ones, reads them: there is one writer', async () => {
  const database = await openWorld()
  const ids = await database.write(({ sql }) =>
    sql('developers').forUpdate().skipLocked().pluck('id'),
  )
  expect(ids).toEqual([1, 2])
})

describe('a connection', () => {
  const names = 'select name from developers order by id limit ?'
  const ofLength = (length: number) => names.padEnd(length)

  /** SQLite's limit for the text of a statement (https://sqlite.org/c3ref/c_limit_attached.html). */
  const sqlLength = 1

  test.for<[what: string, statement: string, otherStatements: number, result: number | string]>([
    ['does not parse a statement again, whatever its LIMIT', names, 0, 2],
    ['does not parse a statement again after 199 others', names, 199, 2],
    ['parses a statement again after 200 others', names, 200, 'SQLITE_TOOBIG'],
    ['does not parse a statement of 10,000 characters again', ofLength(10_000), 0, 2],
    ['parses a statement of 10,001 characters again', ofLength(10_001), 0, 'SQLITE_TOOBIG'],
  ])('%s', async ([, statement, otherStatements, result]) => {
    const database = await openWorld()
    const found = await database.snapshot(async ({ sql }) => {
      await sql.raw(statement, [1])
      for (let number = 1; number <= otherStatements; number++) await sql.raw(`select ${number}`)
      const runner = await sql.client.acquireConnection()
      // SQLite refuses to parse any statement.
      runner.configure('limit', sqlLength, 1)
      const again = await sql.raw(statement, [2]).then(
        (rows) => rows.length,
        ({ code }) => code,
      )
      runner.configure('limit', sqlLength, 1e6)
      return again
    })
    expect(found).toBe(result)
  })

  test('parses a statement again that SQLite has refused', async () => {
    const database = await openWorld()
    const count = () => database.write(({ sql }) => sql.raw('select count(*) as count from later'))
    await expect(count()).rejects.toThrow(/no such table/)
    await database.write(({ sql }) => sql.raw('create table later (id integer)'))
    expect(await count()).toEqual([{ count: 0 }])
  })
})

test.for([
  ['the last entry', 'select * from audit order by id desc limit 1'],
  ['all entries', 'select * from audit'],
])('the audit log refuses to replace %s', async ([, entries]) => {
  const database = openDatabase(`sqlite:${copyWorldFile()}`)
  const read = () => database.read(({ sql }) => sql('audit').orderBy('id'))
  const before = await read()
  const replaced = database.write(({ sql }) => sql.raw(`insert or replace into audit ${entries}`))
  await expect(replaced).rejects.toThrow(/audit is append-only/)
  await expect(
    database.write(({ sql }) => sql.raw(`replace into audit ${entries}`)),
  ).rejects.toThrow(/append-only/)
  expect(await read()).toEqual(before)
  await database.close()
})

test('optimizing waits for no open read, and keeps no other process from writing meanwhile', async () => {
  const address = await copyWorld()
  const [database, reader, other] = [1, 2, 3].map(() => openDatabase(address))
  if (!database || !reader || !other) throw new Error('three are opened')
  const add = (name: string) =>
    other.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))
  const order: string[] = []
  const note = (what: string) => () => void order.push(what)
  await reader.snapshot(async ({ sql }) => {
    await sql('developers').first('id')
    // Its pages cannot be overwritten while the snapshot is open.
    await add('Eve')
    const optimized = database.optimize({ isLast: true }).then(note('optimized'))
    const written = add('Mallory').then(note('written'))
    // Take longer than both, but less than the five seconds for which a writer waits.
    for (let time = 0; time < 500 && order.length < 2; time++) await sql('developers').first('id')
    order.push('read')
    await Promise.all([optimized, written])
  })
  expect(order.at(-1)).toBe('read')
  await Promise.all([database, reader, other].map((one) => one.close()))
})

test('no index depends on how SQLite 3.52.0 makes numbers of text: docs/running.md, "The SQLite file"', async () => {
  const database = openDatabase(await copyWorld())
  onTestFinished(database.close)
  const expressions = await database.read(({ rows }) =>
    rows<{ name: string }>(
      `select distinct index_list.name from sqlite_schema, pragma_index_list(sqlite_schema.name) as index_list,
         pragma_index_xinfo(index_list.name) as part
       where sqlite_schema.type = 'table' and part.cid = -2 order by 1`,
      [],
    ),
  )
  // Their expressions are `coalesce` of two times, which are texts.
  expect(expressions.map(({ name }) => name)).toEqual(['apps_changed', 'apps_queue'])
  const computed = await database.read(({ rows }) =>
    rows(
      `select 1 from sqlite_schema, pragma_table_xinfo(sqlite_schema.name) as part
       where sqlite_schema.type = 'table' and sql not like 'create virtual%' and part.hidden <> 0`,
      [],
    ),
  )
  expect(computed).toEqual([])
})
