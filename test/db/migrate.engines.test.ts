import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../src/db/migrations.ts'
import { openDatabase, openMigratedDatabase } from '../../src/db/open-database.ts'
import { copyWorld, emptyDatabaseUrl } from '../support/database.ts'
import { commandLine, executable, runProcess, startListening } from '../support/process.ts'
import { databaseOfVersion31 } from './version-3.1.ts'

const migrations = readdirSync(join(import.meta.dirname, '../../src/db/migrations')).toSorted()

async function ageOf(address: string) {
  const database = openDatabase(address)
  return database.schemaAge().finally(() => database.close())
}

test('four concurrent migrations and two servers of an empty database: one migrates, and all others succeed or say why', async () => {
  const address = await emptyDatabaseUrl()
  const env = { DATABASE_URL: address }
  const migrating = Array.from({ length: 4 }, () => runProcess(['migrate'], env))
  const serving = await Promise.allSettled([1, 2].map(() => startListening('serve', env)))
  const ended = await Promise.all(migrating)
  // On a busy machine, the others may wait for so long that they say so.
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(
    ended.map(() => [0, expect.stringMatching(/^(apps-service: waiting for the database .*\n)?$/)]),
  )
  const { name, close } = openDatabase(address)
  await close()
  expect(ended.map(({ stdout }) => stdout).toSorted()).toEqual([
    `Created the database ${name}.\n`,
    ...Array.from({ length: 3 }, () => `The database ${name} is up to date.\n`),
  ])
  for (const served of serving) {
    if (served.status === 'fulfilled')
      expect((await served.value.request('GET', '/apps')).status).toBe(200)
    else expect(served.reason).toEqual(new Error('serve exited with 1 before it listened'))
  }
  const { request } = await startListening('serve', env)
  expect((await request('GET', '/readyz')).status).toBe(200)
})

test('a migration that waits for another process says so, and then ends as usual', async () => {
  const address = await copyWorld()
  const other = openDatabase(address)
  const locked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  onTestFinished(() => released.resolve())
  const holding = other.withMigrationLock(() => {
    locked.resolve()
    return released.promise
  })
  await locked.promise
  const child = spawn(executable, ['migrate'], {
    env: { PATH: process.env.PATH, DATABASE_URL: address },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)]
  const ended = once(child, 'exit')
  await Promise.race([once(child.stderr, 'data'), ended])
  released.resolve()
  await holding
  expect(await ended).toEqual([0, null])
  expect(await stdout).toBe(`The database ${other.name} is up to date.\n`)
  expect(await stderr).toBe(
    `apps-service: waiting for the database ${other.name}: another process is writing to it or migrating it\n`,
  )
  await other.close()
})

/** Migrates, and is killed before the given statement; prints how many statements ran. */
const migrateUntil = `
  import { migrate } from ${JSON.stringify(new URL('../../src/db/migrations.ts', import.meta.url))}
  import { openDatabase } from ${JSON.stringify(new URL('../../src/db/open-database.ts', import.meta.url))}
  const database = openDatabase(process.env.DATABASE_URL)
  let count = 0
  database.onStatement(() => {
    if (++count === Number(process.env.KILLED_BEFORE)) process.kill(process.pid, 'SIGKILL')
  })
  await migrate(database)
  await database.close()
  console.log(count)`

async function startMigration(address: string, killedBefore: number) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', migrateUntil], {
    env: { DATABASE_URL: address, KILLED_BEFORE: `${killedBefore}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed = text(child.stdout)
  const [, signal] = await once(child, 'exit')
  return { signal, statements: Number(await printed) }
}

/** The names that a database has of migrations; none if it was never migrated. */
async function readNames(address: string): Promise<string[]> {
  const database = openDatabase(address)
  return database
    .read(({ sql }) => sql('knex_migrations').pluck('name'))
    .catch(() => [])
    .finally(() => database.close())
}

test.for<[what: string, create: () => Promise<string>]>([
  ['an empty database', emptyDatabaseUrl],
  ['a database of version 3.1', databaseOfVersion31],
])(
  'kill -9 during a migration of %s, at any time, changes nothing, and the next one completes it',
  async ([, create]) => {
    const { statements } = await startMigration(await create(), Infinity)
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const address = await create()
      const names = await readNames(address)
      const killedBefore = Math.max(1, Math.floor(share * statements))
      expect((await startMigration(address, killedBefore)).signal).toBe('SIGKILL')
      expect(await readNames(address)).toEqual(names)
      const { stdout, stderr } = await commandLine(address).run('migrate')
      expect(stdout).toMatch(/^Created the |^Migrated the |^The database .* is up to date\.\n$/)
      expect(stderr).toBe('')
      expect(await readNames(address)).toEqual(migrations)
      expect(await ageOf(address)).toBe('current')
    }
  },
)

test('a second migration changes nothing', async () => {
  const database = openDatabase(await emptyDatabaseUrl())
  expect(await migrate(database)).toEqual(migrations)
  expect(await migrate(database)).toEqual([])
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
  await expect(migrate(database)).rejects.toThrow(/was migrated by a newer version/)
  await database.close()
  await expect(openMigratedDatabase(address)).rejects.toThrow(/was migrated by a newer version/)
})
