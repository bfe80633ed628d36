import type { Knex } from 'knex'
import { expect, inject, test } from 'vitest'
import { migrate } from '../../src/db/migrations.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorld, emptyDatabaseUrl, openWorld } from '../support/database.ts'
import { ask } from '../support/postgres.ts'
import { commandLine } from '../support/process.ts'

/** Definitions of indexes and constraints. */
const schemaOf = async (address: string) => [
  await ask(
    address,
    'select indexdef from pg_indexes where schemaname = current_schema() order by 1',
  ),
  await ask(
    address,
    `select conrelid::regclass as table, conname, pg_get_constraintdef(oid) as definition, convalidated from pg_constraint
     where connamespace = current_schema()::regnamespace order by 1, 2`,
  ),
]

test('a copy has all indexes and foreign keys of a migrated database', async () => {
  const target = await emptyDatabaseUrl()
  const database = openDatabase(target)
  await migrate(database).finally(() => database.close())
  const migrated = await schemaOf(target)
  expect(migrated.flat().length).toBeGreaterThan(40)
  await commandLine(await copyWorld()).json('copy', '--to', target)
  expect(await schemaOf(target)).toEqual(migrated)
})

test('the source cannot be written, and may be idle for as long as the target takes', async () => {
  const address = await copyWorld()
  const source = openDatabase(address)
  await source.withExclusiveLock(async (sql) => {
    const { rows } = await sql.raw('show idle_in_transaction_session_timeout')
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '0' }])
    const write = "set lock_timeout = '10ms'; update apps set version = '2'"
    await expect(ask(address, write)).rejects.toThrow('lock timeout')
  })
  await source.close()
})

test('a database can be copied while another one of the server is in use, and not while it is', async () => {
  const [source, other] = [openDatabase(await copyWorld()), openDatabase(await copyWorld())]
  const countApps = (sql: Knex) => sql('apps').count({ count: '*' })
  await other.read(({ sql }) => countApps(sql))
  expect(await source.withExclusiveLock(countApps)).toEqual([{ count: 6 }])
  await source.read(({ sql }) => countApps(sql))
  await expect(source.withExclusiveLock(countApps)).rejects.toThrow(/ is in use; stop the servers/)
  await Promise.all([source.close(), other.close()])
})

test('a long write analyzes once, when it has ended', async () => {
  const database = await openWorld()
  const statements: string[] = []
  database.onStatement((statement) => statements.push(statement))
  for (const isLast of [false, false, true]) await database.optimize({ isLast })
  expect(statements).toEqual(['analyze'])
})

// Citus has statistics of the shards instead.
test.skipIf(inject('workers').length > 0)(
  'after a copy or an import, the planner knows how many apps there are',
  async () => {
    const source = await copyWorld()
    const target = await emptyDatabaseUrl()
    const knownApps = async (address: string) =>
      (
        await ask<{ reltuples: number }>(
          address,
          "select reltuples from pg_class where oid = 'apps'::regclass",
        )
      )[0]?.reltuples
    const database = openDatabase(target)
    await migrate(database).finally(() => database.close())
    await commandLine(source).json('copy', '--to', target)
    expect(await knownApps(target)).toBe(6)
    const line = { name: 'Star Map', description: 'D', category: 'tools', developer_name: 'Ada' }
    await commandLine(source).runWith(JSON.stringify(line), 'import', '-')
    expect(await knownApps(source)).toBe(7)
  },
)
