import { execFileSync } from 'node:child_process'
import { expect, inject, onTestFinished, test } from 'vitest'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import { findPendingMigrations, migrate } from '../../src/db/migrations.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { knownMigrations } from '../../src/db/schema-age.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { expectConsistent, expectSound } from '../support/consistency.ts'
import { emptyCatalogueUrl } from '../support/database.ts'
import { configuredServer, program } from '../support/postgres.ts'
import { expectRefusal, run } from '../support/process.ts'
import { databaseOfVersion31 } from './version-3.1.ts'

/** Upgrades from version 3.1, the oldest that `migrate` accepts. */

const migrations = knownMigrations
const later = migrations.slice(1)

const tables = [
  'developers',
  'api_keys',
  'categories',
  'apps',
  'slug_numbers',
  'reviews',
  'idempotency_keys',
  'operators',
  'operator_sessions',
  'audit',
]

function open(address: string): DatabaseWithTools {
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  return database
}

const readNames = (database: DatabaseWithTools): Promise<string[]> =>
  database.read(({ sql }) => sql('knex_migrations').orderBy('name').pluck('name'))

const readRows = (database: DatabaseWithTools, table: string): Promise<object[]> =>
  database.read(({ sql }) => sql(table).orderBy(1))

test('a database of 3.1 gets later migrations, forgets the names of earlier ones, and keeps its rows', async () => {
  const database = open(await databaseOfVersion31())
  const rows = await Promise.all(tables.map((table) => readRows(database, table)))
  expect(rows.filter(({ length }) => length === 0)).toEqual([])
  const version = await database.dataVersion()
  expect(await readNames(database)).toHaveLength(25)

  expect(await database.schemaAge()).toBe(later.length > 0 ? 'older' : 'current')
  expect(await findPendingMigrations(database)).toEqual(later)
  expect(await migrate(database)).toEqual(later)
  const migrated = await database.dataVersion()
  expect(migrated !== version).toBe(later.length > 0)
  expect(await migrate(database)).toEqual([])
  expect(await database.dataVersion()).toBe(migrated)
  expect(await readNames(database)).toEqual(migrations)
  expect(await database.schemaAge()).toBe('current')

  for (const [index, table] of tables.entries())
    expect(await readRows(database, table), table).toMatchObject(rows[index] ?? [])
  await expectConsistent(database)
  await expectSound(database)
  const found = await findAppPage(database, { page: 1, limit: 10, search: 'sea glance' })
  expect(found.apps.map(({ slug }) => slug)).toEqual(['tide-clock'])
})

/** pg_dump refuses servers that are newer. */
test.skipIf(inject('engine') === 'postgres' && configuredServer !== undefined)(
  'the schema of a migrated database of 3.1 is that of a new one, text for text',
  async () => {
    const address = await databaseOfVersion31()
    const database = open(address)
    await migrate(database)
    const created = await emptyCatalogueUrl()
    const schema = await readSchema(created, open(created))
    expect(schema).toMatch(/create table/i)
    expect(await readSchema(address, database)).toBe(schema)
  },
)

/** The SQL of a schema, without the time of its creation, which is the default of `changed_at`. */
async function readSchema(address: string, database: DatabaseWithTools): Promise<string> {
  const text =
    inject('engine') === 'sqlite'
      ? await readSqliteSchema(database)
      : execFileSync(
          program('pg_dump'),
          ['--schema-only', '--no-owner', '--exclude-table=knex_*', `--dbname=${address}`],
          { encoding: 'utf8' },
        )
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/^\\(un)?restrict .*$/gm, '')
}

async function readSqliteSchema(database: DatabaseWithTools): Promise<string> {
  const rows: { sql: string | null }[] = await database.read(({ sql }) =>
    sql.raw(`select sql from sqlite_schema where tbl_name not like 'knex_%' order by type, name`),
  )
  return rows.map(({ sql }) => sql).join('\n')
}

test.for(['migrate', 'migrate --check', 'status', 'serve', 'moderation serve', 'category list'])(
  'of a database of an older line, %s says what to do and changes nothing',
  async (command) => {
    const address = await databaseOfVersion31()
    const database = open(address)
    await database.write(({ sql }) =>
      sql('knex_migrations').where({ name: '0025-developer-contacts.ts' }).delete(),
    )
    const names = await readNames(database)
    for (let time = 0; time < 2; time++)
      expectRefusal(
        await run(command.split(' '), { DATABASE_URL: address, PORT: '0', MODERATION_PORT: '0' }),
        /^apps-service: the database \S+ .*was migrated by a version before 3\.1; upgrade to 3\.1\.1 first( \(.*\))?$/m,
      )
    expect(await readNames(database)).toEqual(names)
    expect(names).toHaveLength(24)
  },
)
