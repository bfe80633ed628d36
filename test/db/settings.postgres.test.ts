import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import type { Connection, ServerOptions } from '../../src/db/engine.ts'
import { copyWorld } from '../support/database.ts'
import { ask } from '../support/postgres.ts'

// Written out, not taken from the code under test. Milliseconds and KiB.
const reading = {
  default_transaction_read_only: 'on',
  idle_in_transaction_session_timeout: '0',
  jit: 'off',
  statement_timeout: '20000',
}
const writing = {
  gin_pending_list_limit: '64',
  jit: 'off',
  lock_timeout: '5000',
  transaction_isolation: 'read committed',
  transaction_read_only: 'off',
}

test.for<
  [
    use: string,
    method: 'read' | 'snapshot' | 'write',
    options: ServerOptions,
    settings: Record<string, string>,
  ]
>([
  ['a read', 'read', {}, reading],
  [
    'a snapshot',
    'snapshot',
    {},
    { ...reading, transaction_isolation: 'repeatable read', transaction_read_only: 'on' },
  ],
  [
    "a command's write",
    'write',
    {},
    { ...writing, idle_in_transaction_session_timeout: '60000', statement_timeout: '2880000' },
  ],
  [
    "a server's write, whose timeout is longer than PostgreSQL's",
    'write',
    { writeTimeout: 25_000 },
    { ...writing, idle_in_transaction_session_timeout: '25000', statement_timeout: '20000' },
  ],
])('%s has every setting', async ([, method, options, settings]) => {
  const database = openDatabase(await copyWorld(), options)
  onTestFinished(() => database.close())
  const found = await database[method](async ({ sql }) => {
    const names = Object.keys(settings)
    const { rows } = await sql.raw(
      `select name, setting from pg_settings where name in (${names.map(() => '?')})`,
      names,
    )
    const pairs = rows.map(({ name, setting }: { name: string; setting: string }) => [
      name,
      setting,
    ])
    return Object.fromEntries(pairs)
  })
  expect(found).toEqual(settings)
})

test.for([4, 5, 12])(
  'a pool of %i connections is divided among reads, searches, writes and the data version',
  async (pool) => {
    const address = await copyWorld()
    const database = openDatabase(address, { pool })
    onTestFinished(() => database.close())
    const countConnections = async () =>
      (
        await ask(
          address,
          `select from pg_stat_activity
           where datname = current_database() and application_name = 'apps-service'`,
        )
      ).length
    await database.dataVersion()
    const released = Promise.withResolvers<void>()
    onTestFinished(() => released.resolve())
    const hold = async ({ sql }: Connection) => {
      await sql.raw('select 1')
      await released.promise
    }
    // As many of each kind as would fill the whole pool. Those that wait too long are refused.
    const held = Promise.allSettled(
      Array.from({ length: pool }, () => [
        database.snapshot(hold),
        database.snapshot(hold, { isExpensive: true }),
        database.write(hold, { changesPublicData: () => false }),
      ]).flat(),
    )
    await expect.poll(countConnections).toBe(pool)
    released.resolve()
    await held
    expect(await countConnections()).toBe(pool)
  },
)
