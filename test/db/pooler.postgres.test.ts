import { setImmediate } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { withTemporaryCopy } from '../../src/db/copy-database.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { newApp } from '../contract/valid-requests.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'
import {
  addressAt,
  administer,
  ask,
  configuredServer,
  startPostgres,
  worldName,
} from '../support/postgres.ts'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { hasPgbouncer, poolMode, startPgbouncer } from './pgbouncer.ts'

function open(address: string): DatabaseWithTools {
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  return database
}

const add = (database: DatabaseWithTools, name: string) =>
  database.write(async ({ sql, markPublicChange }) => {
    markPublicChange()
    await sql('developers').insert({ name, created_at: '', changed_at: '' })
  })

test('the driver logs no warning when the data version and the health check run concurrently', async () => {
  const address = await copyWorld()
  const database = open(address)
  const warned = vi.fn()
  process.on('warning', warned)
  onTestFinished(() => {
    process.off('warning', warned)
  })
  await Promise.all([1, 2, 3].flatMap(() => [database.dataVersion(), database.checkHealth()]))
  // Warnings are emitted asynchronously.
  await setImmediate()
  expect(warned.mock.calls).toEqual([])
})

test('reads and writes have their own timeouts, whatever the role or database sets', async () => {
  const address = await copyWorld()
  const name = new URL(address).pathname.slice(1)
  await administer(
    address,
    ...[
      `statement_timeout = '500ms'`,
      `idle_in_transaction_session_timeout = '500ms'`,
      `default_transaction_isolation = 'serializable'`,
      'default_transaction_read_only = on',
    ].map((setting) => `alter database ${name} set ${setting}`),
  )
  const database = open(address)
  await database.write(async ({ sql }) => {
    await sql.raw('select pg_sleep(0.6)')
    const { rows } = await sql.raw('show transaction_isolation')
    expect(rows).toEqual([{ transaction_isolation: 'read committed' }])
    await sql('developers').insert({ name: 'Eve', created_at: '', changed_at: '' })
  })
  await database.read(({ sql }) => sql.raw('select pg_sleep(0.6)'))
  expect(
    await database.read(({ sql }) => sql('developers').where({ name: 'Eve' }).pluck('name')),
  ).toEqual(['Eve'])
})

describe.skipIf(!hasPgbouncer || configuredServer !== undefined)(
  `through PgBouncer in ${poolMode} mode`,
  () => {
    async function startPooled() {
      const server = await startPostgres(inject('world').source)
      onTestFinished(server.remove)
      const pooler = await startPgbouncer(server, worldName)
      onTestFinished(pooler.stop)
      return { server, pooler, direct: addressAt(server.address, worldName) }
    }

    test('the data version stays until a commit', async () => {
      const { pooler } = await startPooled()
      const [database, other] = [open(pooler.address), open(pooler.address)]
      const before = await database.dataVersion()
      expect(await database.dataVersion()).toBe(before)
      await add(other, 'Eve')
      expect(await database.dataVersion()).not.toBe(before)
    })

    test('a dry run writes nothing, and others can write meanwhile', async () => {
      const { pooler } = await startPooled()
      const database = open(pooler.address)
      await withTemporaryCopy(database, async (copy) => {
        await add(copy, 'Mallory')
        await add(database, 'Eve')
      })
      expect(
        await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name')),
      ).toEqual(['Ada', 'Bob', 'Eve'])
    })

    test('a copy is refused, since a pooler hides whether a server is running', async () => {
      const { pooler } = await startPooled()
      const database = open(pooler.address)
      await expect(database.withExclusiveLock(async () => {})).rejects.toThrow(
        /set DATABASE_URL to the address of PostgreSQL itself/,
      )
    })

    test('three servers that read and write, and the command line, share few connections', async () => {
      // Queued requests do not time out here.
      stopTimers()
      const { pooler, direct } = await startPooled()
      const services = await Promise.all(
        [1, 2, 3].map(() => startService({ databaseUrl: pooler.address })),
      )
      const inTurn = async (get: () => Promise<{ status: number }>) => {
        for (let turn = 0; turn < 20; turn++) expect((await get()).status).toBe(200)
      }
      const reading = services.flatMap(({ get }) => [
        inTurn(() => get('/apps?search=tide')),
        inTurn(() => get('/apps?limit=1')),
      ])
      const creating = services.flatMap(({ request, world }) =>
        Array.from({ length: 20 }, () =>
          request('POST', '/apps', { key: world.keys.ada, json: newApp }),
        ),
      )
      const [created] = await Promise.all([Promise.all(creating), ...reading])
      expect(new Set(created.map(({ body }) => body.data.slug)).size).toBe(60)
      const { data } = created[0]?.body ?? {}
      const { code, stderr } = await commandLine(pooler.address).run(
        'moderation',
        'approve',
        String(data.app_id),
      )
      expect([code, stderr]).toEqual([0, ''])
      for (const { get } of services) expect((await get(`/apps/${data.app_id}`)).status).toBe(200)
      await expectConsistent(open(direct))
      if (poolMode !== 'transaction') return
      const [sessions] = await ask<{ count: string }>(
        direct,
        'select count(*) from pg_stat_activity where usename = $$apps$$',
      )
      expect(Number(sessions?.count)).toBeLessThan(10)
    })

    test('answers 503 while the pooler is stopped, and recovers', async () => {
      const { pooler } = await startPooled()
      const { get, request, world } = await startService({
        databaseUrl: pooler.address,
        cacheSize: 0,
      })
      const change = () =>
        request('PUT', `/apps/${world.apps.approved}`, {
          key: world.keys.ada,
          json: { name: 'Star Map' },
        })
      expect((await change()).status).toBe(200)
      await pooler.stop()
      expectStatuses(
        await Promise.all([get('/apps'), get('/apps?search=tide'), get('/readyz'), change()]),
        [503, 503, 503, 503],
      )
      await pooler.start()
      await expect.poll(async () => (await get('/readyz')).status).toBe(200)
      expectStatuses(
        await Promise.all([get('/apps'), get('/apps?search=tide'), change()]),
        [200, 200, 200],
      )
    })
  },
)
