import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase, openMigratedDatabase } from '../../src/db/open-database.ts'
import { DatabaseFile } from '../../src/db/sqlite/database-file.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { copyWorldFile, filePath, temporaryFolder } from '../support/database.ts'
import { canMount, mount, mountSmallDisk } from '../support/disk.ts'
import { run } from '../support/process.ts'
import { startService } from '../support/service.ts'

/**
 * Changes to the file of an open database. Other processes make them, because this one would hold
 * locks.
 */

const json = { name: 'Star Map', description: 'The sky.', category_id: 1 }
const unavailable = { code: 'unavailable' }

function open(file: string): DatabaseWithTools {
  const database = openDatabase(`sqlite:${file}`)
  onTestFinished(() => database.close())
  return database
}

const addDeveloper = (to: DatabaseWithTools, name: string) =>
  to.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))
const namesIn = (of: DatabaseWithTools) =>
  of.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))

const writeOver = (file: string, from: string) =>
  execFileSync('dd', [`if=${from}`, `of=${file}`, 'bs=1M', 'conv=notrunc', 'status=none'])

test('while its file is replaced, a service refuses reads and writes and is not ready; it recovers when the file is back', async () => {
  const service = await startService()
  const { world } = service
  const file = filePath(service.databaseUrl)
  const create = () => service.request('POST', '/apps', { key: world.keys.ada, json })
  expect((await create()).status).toBe(201)
  for (let times = 0; times < 3; times++) expect((await service.get('/apps')).status).toBe(200)

  renameSync(file, `${file}.away`)
  copyFileSync(world.source, file)
  expect((await service.get('/apps')).status).toBe(503)
  expect((await create()).status).toBe(503)
  const unready = await service.get('/readyz')
  expect([unready.status, unready.body.message]).toEqual([
    503,
    expect.stringMatching(/^The database /),
  ])
  expect(unready.text).not.toContain(file)

  renameSync(`${file}.away`, file)
  await expect.poll(async () => (await service.get('/readyz')).status).toBe(200)
  expect((await create()).body.data.slug).toBe('star-map-2')
  expect((await service.get('/apps')).status).toBe(200)
})

test('a replacement file is not used until the service restarts, and an old log is reported', async () => {
  const file = copyWorldFile()
  const database = open(file)
  await addDeveloper(database, 'Eve')
  const other = open(copyWorldFile())
  await addDeveloper(other, 'Mallory')
  await other.copyTo?.(`${file}.new`, { verify: true })

  renameSync(`${file}.new`, file)
  await expect(addDeveloper(database, 'Trent')).rejects.toMatchObject(unavailable)
  expect(await database.checkHealth()).toBe(
    'file was replaced; move its former log (-wal) away and restart the service',
  )
  expect(readFileSync(`${file}-wal`).length).toBeGreaterThan(0)

  rmSync(`${file}-wal`)
  expect(await database.checkHealth()).toBe('file was replaced; restart the service')
  await expect(namesIn(database)).rejects.toMatchObject(unavailable)
  await database.close()
  const restarted = open(file)
  expect(await namesIn(restarted)).toEqual(['Ada', 'Bob', 'Mallory'])
  await addDeveloper(restarted, 'Trent')
})

test('while the file is missing, the service refuses requests and creates no new one; it recovers when the file is back', async () => {
  const file = copyWorldFile()
  const database = open(file)
  // The writer has not opened the file yet.
  await namesIn(database)
  renameSync(file, `${file}.away`)
  expect(await database.checkHealth()).toBe('is gone')
  await expect(addDeveloper(database, 'Eve')).rejects.toMatchObject(unavailable)
  await expect(database.dataVersion()).rejects.toMatchObject(unavailable)
  await expect(database.committedBefore()).rejects.toMatchObject(unavailable)
  expect(existsSync(file)).toBe(false)
  renameSync(`${file}.away`, file)
  expect(await database.checkHealth()).toBeUndefined()
  await addDeveloper(database, 'Eve')
  expect(await namesIn(database)).toEqual(['Ada', 'Bob', 'Eve'])
})

test('reading and writing never create a missing file', async () => {
  const file = join(temporaryFolder(), 'none.sqlite')
  const database = open(file)
  await expect(namesIn(database)).rejects.toMatchObject(unavailable)
  await expect(addDeveloper(database, 'Eve')).rejects.toMatchObject(unavailable)
  expect(readdirSync(dirname(file))).toEqual([])
})

test('a first connection whose file is replaced while it opens is closed, and the next one has the new file', async () => {
  const file = copyWorldFile()
  const opened = new DatabaseFile(file)
  const closed: string[] = []
  const open = (name: string, meanwhile = () => {}) =>
    opened.openConnection(
      async () => {
        meanwhile()
        return name
      },
      async (runner) => closed.push(runner),
    )
  const replace = () => {
    renameSync(file, `${file}.away`)
    copyFileSync(inject('world').source, file)
  }
  await expect(open('first', replace)).rejects.toThrow('file was replaced')
  expect(closed).toEqual(['first'])
  expect(await open('second')).toBe('second')
  await expect(open('third', replace)).rejects.toThrow('file was replaced')
  await expect(open('fourth')).rejects.toThrow('file was replaced')
  expect(closed).toEqual(['first', 'third'])
})

test('writes during the replacement of the file are not acknowledged', async () => {
  const file = copyWorldFile()
  const database = open(file)
  const late = database.write(async ({ sql }) => {
    await sql('developers').insert({ name: 'Eve', created_at: '', changed_at: '' })
    renameSync(file, `${file}.away`)
    copyFileSync(inject('world').source, file)
  })
  await expect(late).rejects.toMatchObject(unavailable)
})

test('removing the log loses no acknowledged write', async () => {
  const file = copyWorldFile()
  const database = open(file)
  await addDeveloper(database, 'Eve')
  rmSync(`${file}-wal`)
  await expect(addDeveloper(database, 'Mallory')).rejects.toMatchObject(unavailable)
  expect(await database.checkHealth()).toBe('log (-wal) was removed; restart the service')
  await database.close()
  expect(await namesIn(open(file))).toEqual(['Ada', 'Bob', 'Eve'])
})

test('an overwritten file causes 503 instead of 500, and is read again when its bytes are back', async () => {
  const service = await startService()
  const { world } = service
  const file = filePath(service.databaseUrl)
  const page = '/apps?sort=popular'
  await service.request('POST', '/apps', { key: world.keys.ada, json })
  for (let times = 0; times < 3; times++) await service.get(page)
  copyFileSync(file, `${file}.right`)
  const garbage = join(temporaryFolder(), 'garbage')
  writeFileSync(garbage, Buffer.alloc(readFileSync(`${file}.right`).length, 'no database '))

  writeOver(file, garbage)
  const unready = await service.get('/readyz')
  expect([unready.status, unready.body.message]).toEqual([503, 'The database is damaged.'])
  expect((await service.get(page)).status).toBe(503)
  expect((await service.get('/apps/1')).status).toBe(503)

  writeOver(file, `${file}.right`)
  await expect.poll(async () => (await service.get('/readyz')).status).toBe(200)
  expect((await service.get(page)).status).toBe(200)
  expect((await service.get('/apps/1')).status).toBe(200)
  expect((await service.request('POST', '/apps', { key: world.keys.ada, json })).status).toBe(201)
})

test.for<[finder: string, find: (database: DatabaseWithTools) => Promise<unknown>]>([
  ['the first connection of the monitor', (database) => database.checkHealth()],
  ['BEGIN of a write', (database) => addDeveloper(database, 'Mallory').catch(() => {})],
])('pages stay cached until damage is found by %s, and again after it', async ([, find]) => {
  const file = copyWorldFile()
  const [database, other] = [open(file), open(file)]
  await addDeveloper(database, 'Eve')
  // The writer has to read the file again, and not the log.
  await addDeveloper(other, 'Fay')
  await other.optimize({ isLast: true })
  const names = ['Ada', 'Bob', 'Eve', 'Fay']
  expect(await namesIn(database)).toEqual(names)
  copyFileSync(file, `${file}.right`)
  const garbage = join(temporaryFolder(), 'garbage')
  writeFileSync(garbage, Buffer.alloc(readFileSync(file).length, 'no database '))

  writeOver(file, garbage)
  expect(await namesIn(database)).toEqual(names)
  await find(database)
  await expect(namesIn(database)).rejects.toMatchObject(unavailable)
  writeOver(file, `${file}.right`)
  expect(await namesIn(database)).toEqual(names)
  writeOver(file, garbage)
  expect(await namesIn(database)).toEqual(names)
})

test.runIf(canMount)('a full disk is reported, and reads still work', async () => {
  const folder = temporaryFolder()
  mountSmallDisk(folder, 8)
  const file = join(folder, 'apps.sqlite')
  copyFileSync(inject('world').source, file)
  const database = open(file)
  expect(await namesIn(database)).toEqual(['Ada', 'Bob'])
  expect(await database.checkHealth()).toBeUndefined()
  expect(() => writeFileSync(join(folder, 'filler'), Buffer.alloc(8 * 2 ** 20))).toThrow('ENOSPC')
  expect(await database.checkHealth()).toBe('has no space left on its disk')
  await expect(addDeveloper(database, 'x'.repeat(2 ** 22))).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: 'The disk is full: free some space where the database is.' },
  })
  expect(await namesIn(database)).toEqual(['Ada', 'Bob'])
  rmSync(join(folder, 'filler'))
  // An error is remembered for a while.
  await expect.poll(() => database.checkHealth()).toBeUndefined()
})

/** The database of another program, alone in its directory, but for the log if it has crashed. */
function foreign(journalMode: string, end = ''): string {
  const file = join(temporaryFolder(), 'foreign.sqlite')
  const script = `import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute('pragma journal_mode = ${journalMode}')
c.execute('create table knex_migrations (name)')
c.execute('create table notes (text)')
c.execute("insert into notes values ('Mine')")
c.commit()
${end}`
  execFileSync('python3', ['-c', script, file])
  return file
}

function made(bytes: Buffer): string {
  const file = join(temporaryFolder(), 'some.sqlite')
  writeFileSync(file, bytes)
  return file
}

test.for<[what: string, make: () => string, refusal: RegExp, migratesIt: RegExp | undefined]>([
  ['an empty file', () => made(Buffer.alloc(0)), /migrate/, undefined],
  [
    'a file that is not a database',
    () => made(Buffer.alloc(5000, 'x')),
    /is not a SQLite database or is damaged/,
    /not a database/,
  ],
  [
    'another program’s',
    () => foreign('delete'),
    /belongs to another program/,
    /belongs to another program/,
  ],
  [
    'another program’s in WAL mode',
    () => foreign('wal'),
    /belongs to another program/,
    /belongs to another program/,
  ],
  [
    'another program’s, with the log of a crash',
    () => foreign('wal', 'import os; os._exit(0)'),
    /belongs to another program/,
    /belongs to another program/,
  ],
])('a refused file stays unchanged: %s', async ([, make, refusal, migratesIt]) => {
  const file = make()
  const before = readFileSync(file)
  const names = readdirSync(dirname(file))
  const untouched = () => {
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(dirname(file))).toEqual(names)
  }
  const env = { DATABASE_URL: `sqlite:${file}`, PORT: '0' }
  const served = await run(['serve'], env)
  expect([served.code, served.stderr]).toEqual([1, expect.stringMatching(refusal)])
  untouched()
  if (!migratesIt) return
  const migrated = await run(['migrate'], env)
  expect([migrated.code, migrated.stderr]).toEqual([1, expect.stringMatching(migratesIt)])
  untouched()
})

const isRoot = process.getuid?.() === 0

test.skipIf(isRoot && !canMount)(
  'reports a directory in which SQLite cannot create its log',
  async () => {
    const folder = join(temporaryFolder(), 'shut')
    mkdirSync(folder)
    const file = join(folder, 'apps.sqlite')
    copyFileSync(inject('world').source, file)
    if (isRoot) {
      // Root can write everywhere except on a read-only disk.
      mount(folder, '--bind', folder)
      const other = join(temporaryFolder(), 'apps.sqlite')
      copyFileSync(inject('world').source, other)
      mount(file, '--bind', other)
      execFileSync('mount', ['-o', 'remount,bind,ro', folder])
    } else chmodSync(folder, 0o555)
    await expect(openMigratedDatabase(`sqlite:${file}`)).rejects.toThrow(
      `${folder} is not writable`,
    )
  },
)
