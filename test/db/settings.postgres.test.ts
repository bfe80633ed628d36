import { expect, inject, onTestFinished, test } from 'vitest'
import { parseServerUrl } from '../../src/db/database-url.ts'
import type { DatabaseOptions, QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { openReader, rowsOf } from '../../src/db/postgres/client.ts'
import { required } from '../../src/util/helpers.ts'
import { copyWorld } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { ask } from '../support/postgres.ts'
import { startListening } from '../support/process.ts'

const { apps, keys } = inject('world')

// Written out, not taken from the code under test. Milliseconds and KiB.
const reading = {
  default_transaction_read_only: 'on',
  idle_in_transaction_session_timeout: '0',
  jit: 'off',
  lock_timeout: '5000',
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
    options: DatabaseOptions,
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

test.for<[command: string, write: (address: string) => Promise<Response>]>([
  [
    'serve',
    (address) =>
      fetch(`${address}/apps/${apps.pending}`, {
        method: 'DELETE',
        headers: { Authorization: `Bearer ${keys.ada}` },
      }),
  ],
  [
    'moderation serve',
    (address) =>
      fetch(`${address}/sign-out`, {
        method: 'POST',
        headers: {
          'Sec-Fetch-Site': 'same-origin',
          Cookie: `moderation_session=${'A'.repeat(43)}`,
        },
        redirect: 'manual',
      }),
  ],
])('each write of %s has the timeouts of a server', async ([command, write]) => {
  const port = String(await freePort())
  const { log } = await startListening(command, {
    DATABASE_URL: await copyWorld(),
    LOG_LEVEL: 'debug',
    PORT: port,
    MODERATION_PORT: port,
    MODERATION_URL: 'http://moderation.test',
  })
  const { status } = await write(`http://127.0.0.1:${port}`)
  expect([200, 303]).toContain(status)
  const begun = () => log.filter((line) => line.includes('"begin isolation level'))
  await expect.poll(begun).not.toEqual([])
  for (const line of begun()) {
    expect(line).toContain('set local statement_timeout = 20000;')
    expect(line).toContain('set local idle_in_transaction_session_timeout = 25000;')
  }
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
    const hold = async ({ sql }: QueryRunner) => {
      await sql.raw('select 1')
      await released.promise
    }
    // As many of each kind as would fill the whole pool. Those that wait too long are refused.
    const held = Promise.allSettled(
      Array.from({ length: pool }, () => [
        database.snapshot(hold),
        database.snapshot(hold, { isExpensive: true }),
        database.write(hold),
      ]).flat(),
    )
    await expect.poll(countConnections).toBe(pool)
    released.resolve()
    await held
    expect(await countConnections()).toBe(pool)
  },
)

test.for<[what: string, kept: string[], statements: string[]]>([
  ['a statement that comes 100 times', ['select 1'], Array(100).fill('select 1')],
  ['a statement of 8000 characters', ['select 1'.padEnd(8000)], ['select 1'.padEnd(8000)]],
  ['a longer statement', [], ['select 1'.padEnd(8001)]],
  ['200 statements', numbered(0, 200), numbered(0, 200)],
  ['more', numbered(300, 500), [...numbered(0, 500), 'select 300']],
  [
    'more, one of which comes often',
    ['select 0', ...numbered(301, 500)],
    numbered(0, 500).flatMap((statement) => [statement, 'select 0']),
  ],
  ['two that fail', numbered(0, 200), ['select x', 'select x', ...numbered(0, 200)]],
])('of %s, a connection keeps the 200 prepared that came last', async ([, kept, statements]) => {
  const sql = openReader(required(parseServerUrl(await copyWorld()), 'a DATABASE_URL'), 1, {
    lockTimeout: 5000,
  })
  onTestFinished(() => sql.destroy())
  const find = async (statement: string) => (await rowsOf(sql, statement, []))[0]
  for (const statement of statements) await find(statement).catch(() => {})
  const { rows } = await sql.raw('select statement from pg_prepared_statements')
  const found: string[] = rows.map(({ statement }: { statement: string }) => statement)
  expect(found.toSorted()).toEqual(kept.toSorted())
  // Also those that are prepared again.
  for (const number of [0, 499, 1])
    expect(await find(`select ${number} as number`)).toEqual({ number })
  for (const statement of statements.slice(0, 3)) await find(statement).catch(() => {})
  const again = await sql.raw('select name from pg_prepared_statements')
  expect(again.rows.length).toBeLessThanOrEqual(200)
})

function numbered(first: number, end: number): string[] {
  return Array.from({ length: end - first }, (_, index) => `select ${first + index}`)
}
