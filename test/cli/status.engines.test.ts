import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { generateKey } from '../../src/accounts/keys.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { newestMigration } from '../../src/db/schema-age.ts'
import { exampleLine, toLines } from '../support/catalogue-file.ts'
import { copyWorld, emptyDatabaseUrl, filePath, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { commandLine, expectRefusal, run, serve } from '../support/process.ts'

const past = '2020-01-01T00:00:00.000Z'
const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString()
const { apps } = inject('world')

test('status shows what waits, the keys that expire, the last import and the database', async () => {
  const address = await copyWorld()
  const cli = commandLine(address)
  const database = {
    engine: expect.stringMatching(inject('engine') === 'sqlite' ? /^SQLite 3\./ : /^PostgreSQL \d/),
    version: document.info.version,
    server: expect.stringMatching(/^(ready|not ready|no answer)$/),
    bytes: expect.any(Number),
    free_bytes: inject('engine') === 'sqlite' ? expect.any(Number) : null,
    pending_migrations: [],
    last_backup: null,
  }
  const catalogue = {
    apps: { pending: 2, changed: 0, approved: 2, rejected: 1, deleted: 1 },
    oldest_pending: { id: apps.pending, name: 'Cloud Atlas', waiting_since: past },
    oldest_changed: null,
    developers: 2,
    expiring_keys: [],
    last_import: null,
  }
  expect(await cli.json('status')).toEqual({ ...database, catalogue })

  // Several, because their ids are random and could be in this order by chance.
  const times = [7, 11, 16, 20, 25, 29].map(inDays)
  const [soon = ''] = times
  // Later than the app was created.
  const changedAt = inDays(-3)
  await useDatabase(address, ({ sql }) =>
    sql('apps').where({ id: apps.bobs }).update({ unreviewed_since: changedAt }),
  )
  for (const expires_at of [...times.toReversed(), inDays(31)]) await addKey(address, expires_at)
  await addKey(address, soon, past)
  const importApp = async (name: string) => {
    const line = toLines([{ ...exampleLine, developer_name: 'Cy', name }])
    expect((await cli.runWith(line, 'import', '-')).code).toBe(0)
  }
  await importApp('Star Map')
  const first = (await cli.json('status')).catalogue.last_import
  await importApp('Moon Map')

  const status = await cli.json('status')
  expect(status.catalogue).toMatchObject({
    apps: { ...catalogue.apps, pending: 4, changed: 1 },
    oldest_changed: { id: apps.bobs, name: 'Bird Song', waiting_since: changedAt },
    developers: 3,
    last_import: { at: expect.stringMatching(/Z$/), operator: expect.any(String) },
  })
  expect(status.catalogue.last_import.at > first.at).toBe(true)
  const expiring = status.catalogue.expiring_keys
  expect(expiring.map(({ expires_at }: { expires_at: string }) => expires_at)).toEqual(times)
  const { stdout } = await cli.run('status')
  expect(stdout).toMatch(
    /^Pending +4, longest for \d+d: 2 Cloud Atlas\nChanged +1, longest for 3d: \d+ Bird Song\n/,
  )
  expect(stdout).toContain(
    `Expiring keys   6 within 30 days, first apps_${expiring[0].id} of Ada on ${soon.slice(0, 16).replace('T', ' ')}\n`,
  )
  expect(stdout).toMatch(
    /\nLast import +20\d\d-\d\d-\d\d \d\d:\d\d by \S+\nDatabase +(SQLite|PostgreSQL) [\d.]+.*, [\d.]+ MB(, [\d,.]+ MB free)?\nServer +[a-z ]+\nVersion +\d[\d.]+\n$/,
  )
})

test('status of a database that lacks migrations names them', async () => {
  const address = await emptyDatabaseUrl()
  if (inject('engine') === 'sqlite')
    expectRefusal(await commandLine(address).run('status'), /does not exist/)
  const migrated = await copyWorld()
  const newest = newestMigration
  await useDatabase(migrated, ({ sql }) => sql('knex_migrations').where({ name: newest }).delete())
  const cli = commandLine(migrated)
  expect(await cli.json('status')).toMatchObject({ pending_migrations: [newest], catalogue: null })
  expect((await cli.run('status')).stdout).toMatch(
    new RegExp(
      `^Database .*\\nMigrations +missing: ${newest}; run ./apps-service migrate\\nServer .*\\nVersion .*\\n$`,
    ),
  )
  await useDatabase(migrated, ({ sql }) => sql('knex_migrations').insert({ name: '9999-later.ts' }))
  expectRefusal(await cli.run('status'), / newer /)
})

test('status says whether the server is ready', async () => {
  const [address, served] = [await copyWorld(), await copyWorld()]
  const port = String(await freePort())
  const state = async () =>
    JSON.parse((await run(['status', '--json'], { DATABASE_URL: address, PORT: port })).stdout)
      .server
  expect(await state()).toBe('no answer')
  const server = await serve(served, { PORT: port })
  expect(await state()).toBe('ready')
  if (inject('engine') === 'sqlite') {
    renameSync(filePath(served), `${filePath(served)}.gone`)
    expect(await state()).toBe('not ready')
  }
  server.process.kill('SIGTERM')
  await server.exited
  expect(await state()).toBe('no answer')
})

test('status shows the newest backup, if it knows their directory', async () => {
  const directory = join(temporaryFolder(), 'backups')
  const env = { DATABASE_URL: await copyWorld(), APPS_SERVICE_BACKUPS: directory }
  const lastBackup = async () =>
    JSON.parse((await run(['status', '--json'], env)).stdout).last_backup
  const shown = async () => /^Last backup +(.+)$/m.exec((await run(['status'], env)).stdout)?.[1]
  const add = (name: string) => writeFileSync(join(directory, name), '')

  // No backups were set up.
  expect([await lastBackup(), await shown()]).toEqual([null, undefined])
  mkdirSync(directory)
  expect(await lastBackup()).toEqual({ directory, file: null, at: null })
  expect(await shown()).toBe(`none in ${directory}`)

  const hourAgo = new Date(Date.now() - 60 * 60 * 1000)
  const at = `${hourAgo.toISOString().slice(0, 19)}.000Z`
  const file = `apps-${at.slice(0, 19).replaceAll(':', '-')}Z.sqlite`
  add('apps-2026-11-20T03-12-45Z.sqlite')
  add(file)
  // Of a clock that was ahead, of no day, and files that backup.sh does not count either.
  add('apps-2126-01-01T03-12-45Z.sqlite')
  add('apps-2026-13-01T03-12-45Z.sqlite')
  add(`${file}.new`)
  add('other.sqlite')
  mkdirSync(join(directory, `apps-${new Date().toISOString().slice(0, 10)}T00-00-00Z.sqlite`))
  expect(await lastBackup()).toEqual({ directory, file, at })
  expect(await shown()).toBe(`1h ago: ${join(directory, file)}`)
})

test('status reports a directory of backups that cannot be read', async () => {
  const directory = join(temporaryFolder(), 'backups')
  writeFileSync(directory, '')
  const env = { DATABASE_URL: await copyWorld(), APPS_SERVICE_BACKUPS: directory }
  expectRefusal(await run(['status'], env), /cannot read \S+\/backups: not a directory/)
})

async function useDatabase(
  address: string,
  work: Parameters<ReturnType<typeof openDatabase>['write']>[0],
) {
  const database = openDatabase(address)
  await database.write(work).finally(() => database.close())
}

const addKey = (address: string, expires_at: string, revoked_at: string | null = null) =>
  useDatabase(address, async ({ sql }) => {
    const { id, sha256 } = generateKey()
    await sql('api_keys').insert({
      id,
      sha256,
      developer_id: 1,
      created_at: past,
      expires_at,
      revoked_at,
    })
  })
