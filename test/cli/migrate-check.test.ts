import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import { knownMigrations } from '../../src/db/schema-age.ts'
import { copyWorld, emptyDatabaseUrl, filePath, temporaryFolder } from '../support/database.ts'
import { expectRefusal, run } from '../support/process.ts'

/**
 * migrate --check, which tells scripts whether an upgrade has something to do. How migrations run on
 * each engine is tested in db/.
 */

const migrations = knownMigrations
const last = migrations.at(-1) ?? ''

const check = (address: string) => run(['migrate', '--check'], { DATABASE_URL: address })

type Change = Parameters<ReturnType<typeof openDatabase>['write']>[0]

async function worldWith(change: Change) {
  const address = await copyWorld()
  const database = openDatabase(address)
  await database.write(change).finally(() => database.close())
  return address
}

const withoutLastMigration = () =>
  worldWith(({ sql }) => sql('knex_migrations').where({ name: last }).delete())

test.for<[what: string, address: () => Promise<string>, pending: string[]]>([
  ['that is up to date', copyWorld, []],
  ['without the last migration', withoutLastMigration, [last]],
  ['that is not migrated', emptyDatabaseUrl, migrations],
])('of a database %s: says so each time, and changes nothing', async ([, address, pending]) => {
  const url = await address()
  const { name, close } = openDatabase(url)
  await close()
  const expected =
    pending.length === 0
      ? { code: 0, stdout: `The database ${name} is up to date.\n`, stderr: '' }
      : {
          code: 1,
          stdout: `Pending migrations of the database ${name}: ${pending.join(', ')}.\n`,
          stderr: '',
        }
  for (let time = 0; time < 2; time++) expect(await check(url)).toEqual(expected)
})

test('is followed by migrate, after which nothing is pending', async () => {
  const url = await emptyDatabaseUrl()
  expect((await check(url)).code).toBe(1)
  expect((await run(['migrate'], { DATABASE_URL: url })).code).toBe(0)
  expect((await check(url)).code).toBe(0)
})

test('of a database of a newer version fails as migrate does', async () => {
  const url = await worldWith(({ sql }) => sql('knex_migrations').insert({ name: '9999-later.ts' }))
  const newer = /^apps-service: the database \S+ .*\bnewer\b/
  expectRefusal(await check(url), newer)
  expectRefusal(await run(['migrate'], { DATABASE_URL: url }), newer)
})

test('creates no file and no directory', async () => {
  const url = `sqlite:${temporaryFolder()}/data/apps.sqlite`
  expect((await check(url)).code).toBe(1)
  expect(existsSync(dirname(filePath(url)))).toBe(false)
})

test('of an empty file names all, and of a foreign one fails', async () => {
  const file = `${temporaryFolder()}/apps.sqlite`
  writeFileSync(file, '')
  expect(await check(`sqlite:${file}`)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(migrations.join(', ')),
  })
  expect(readFileSync(file, 'utf8')).toBe('')
  expectRefusal(await check('sqlite:~/none/apps.sqlite'), / \S+\/~\/none\/apps\.sqlite /)
  writeFileSync(file, 'not a database '.repeat(500))
  expectRefusal(await check(`sqlite:${file}`), / \S+\/apps\.sqlite /)
})
