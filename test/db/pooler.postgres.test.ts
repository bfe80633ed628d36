import { setImmediate } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { type Database, openDatabase, openEngine, openMigratedDatabase } from '../../src/db/database.ts'
import { newApp } from '../contract/valid-requests.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'
import { hasPgbouncer, poolMode, startPgbouncer } from '../support/pgbouncer.ts'
import { addressAt, administer, ask, configuredServer, startPostgres, worldName } from '../support/postgres.ts'
import { commandLine, expectRefusal, run } from '../support/process.ts'
import { startService } from '../support/service.ts'

/** A database, with its direct address if there is one. */
function open(address: string, direct?: string): Database {
  const database = openDatabase(address, { direct })
  onTestFinished(() => database.close())
  return database
}

const add = (database: Database, name: string) =>
  database.write(({ sql }) => sql('developers').insert({ name, created_at: '', changed_at: '' }))

/** Whether the data version stays the same without a write. */
async function isKept(database: Database): Promise<boolean> {
  const version = await database.dataVersion()
  return (await database.dataVersion()) === version
}

test('the driver logs no warning when the data version and the health check run concurrently', async () => {
  const address = await copyWorld()
  const database = open(address, address)
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

test('the data version from a direct address stays until a commit', async () => {
  const address = await copyWorld()
  const [database, other] = [open(address, address), open(address)]
  expect(await isKept(database)).toBe(true)
  const before = await database.dataVersion()
  await add(other, 'Eve')
  expect(await database.dataVersion()).not.toBe(before)
  expect(await isKept(database)).toBe(true)
})

describe('refuses a direct address that leads elsewhere, and caches nothing by it', () => {
  async function expectRefused(address: string, direct: string) {
    await expect(openMigratedDatabase(address, { direct })).rejects.toThrow(/is not where DATABASE_DIRECT_URL leads/)
    await expect(open(address, direct).migrate()).rejects.toThrow(/is not where DATABASE_DIRECT_URL leads/)
    expect(await isKept(open(address, direct))).toBe(false)
  }

  test('to another database of the server', async () => {
    await expectRefused(await copyWorld(), await copyWorld())
  })

  test('to another schema of the database', async () => {
    const address = await copyWorld()
    await administer(address, 'create schema other')
    const url = new URL(address)
    url.searchParams.set('options', '-c search_path=other')
    await expectRefused(address, url.href)
  })

  test.skipIf(configuredServer !== undefined)('to a copy of the server', async () => {
    const addresses = await Promise.all(
      [1, 2].map(async () => {
        const server = await startPostgres(inject('world').source)
        onTestFinished(server.remove)
        return addressAt(server.address, worldName)
      }),
    )
    await expectRefused(addresses[0] ?? '', addresses[1] ?? '')
  })
})

test('an error about an unreachable direct address does not have its password', async () => {
  const DATABASE_URL = await copyWorld()
  const DATABASE_DIRECT_URL = 'postgres://apps:hush@127.0.0.1:1/apps'
  const answer = await run(['app', 'list'], { DATABASE_URL, DATABASE_DIRECT_URL })
  expectRefusal(answer, /^apps-service: the database postgres:\S+ cannot be reached by DATABASE_DIRECT_URL: connect/)
  expect(answer.stderr).not.toContain('hush')
})

test('writes have their own timeouts, whatever the role or database sets', async () => {
  const address = await copyWorld()
  const name = new URL(address).pathname.slice(1)
  await administer(
    address,
    ...[
      `statement_timeout = '500ms'`,
      `idle_in_transaction_session_timeout = '500ms'`,
      'default_transaction_read_only = on',
    ].map((setting) => `alter database ${name} set ${setting}`),
  )
  const database = open(address)
  await database.write(async ({ sql }) => {
    await sql.raw('select pg_sleep(0.6)')
    await sql('developers').insert({ name: 'Eve', created_at: '', changed_at: '' })
  })
  expect(await database.read(({ sql }) => sql('developers').where({ name: 'Eve' }).pluck('name'))).toEqual(['Eve'])
})

describe.skipIf(!hasPgbouncer || configuredServer !== undefined)(`through PgBouncer in ${poolMode} mode`, () => {
  async function startPooled() {
    const server = await startPostgres(inject('world').source)
    onTestFinished(server.remove)
    const pooler = await startPgbouncer(server, worldName)
    onTestFinished(pooler.stop)
    return { server, pooler, direct: addressAt(server.address, worldName) }
  }

  test('without a direct address, every data version differs, and dry runs and copies are refused', async () => {
    const { pooler } = await startPooled()
    const database = open(pooler.address)
    expect(await isKept(database)).toBe(false)
    await expect(database.dryRun(async () => {})).rejects.toThrow(/takes a DATABASE_DIRECT_URL/)
    const engine = openEngine(pooler.address)
    onTestFinished(engine.close)
    await expect(engine.withExclusiveLock(async () => {})).rejects.toThrow(/takes a DATABASE_DIRECT_URL/)
  })

  test('with a direct address, the data version stays until a commit, and dry runs work', async () => {
    const { pooler, direct } = await startPooled()
    const [database, other] = [open(pooler.address, direct), open(pooler.address)]
    expect(await isKept(database)).toBe(true)
    const before = await database.dataVersion()
    await add(other, 'Eve')
    expect(await database.dataVersion()).not.toBe(before)
    expect(await isKept(database)).toBe(true)
    await database.dryRun((rehearsed) => add(rehearsed, 'Mallory'))
    expect(await database.read(({ sql }) => sql('developers').pluck('name'))).not.toContain('Mallory')
  })

  test('a direct address that also leads through a pooler is refused', async () => {
    const { pooler } = await startPooled()
    const opened = openMigratedDatabase(pooler.address, { direct: pooler.address })
    await expect(opened).rejects.toThrow(/is not reached directly by DATABASE_DIRECT_URL: a pooler/)
  })

  test('three servers that read and write, and the command line, share few connections', async () => {
    // Queued requests do not time out here.
    freezeMonotonicClock()
    const { pooler, direct } = await startPooled()
    const services = await Promise.all([1, 2, 3].map(() => startService({ databaseUrl: pooler.address })))
    const inTurn = async (get: () => Promise<{ status: number }>) => {
      for (let turn = 0; turn < 20; turn++) expect((await get()).status).toBe(200)
    }
    const reading = services.flatMap(({ get }) => [
      inTurn(() => get('/apps?search=tide')),
      inTurn(() => get('/apps?limit=1')),
    ])
    const creating = services.flatMap(({ request, world }) =>
      Array.from({ length: 20 }, () => request('POST', '/apps', { key: world.keys.ada, json: newApp })),
    )
    const [created] = await Promise.all([Promise.all(creating), ...reading])
    expect(new Set(created.map(({ body }) => body.data.slug)).size).toBe(60)
    const { data } = created[0]?.body ?? {}
    const { code, stderr } = await commandLine(pooler.address).run('moderation', 'approve', String(data.app_id))
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
    const { get, request, world } = await startService({ databaseUrl: pooler.address, cacheSize: 0 })
    const change = () =>
      request('PUT', `/apps/${world.apps.approved}`, { key: world.keys.ada, json: { name: 'Star Map' } })
    expect((await change()).status).toBe(200)
    await pooler.stop()
    expect(
      (await Promise.all([get('/apps'), get('/apps?search=tide'), get('/readyz'), change()])).map(statusOf),
    ).toEqual([503, 503, 503, 503])
    await pooler.start()
    await expect.poll(async () => (await get('/readyz')).status).toBe(200)
    expect((await Promise.all([get('/apps'), get('/apps?search=tide'), change()])).map(statusOf)).toEqual([
      200, 200, 200,
    ])
  })

  // In session mode, sessions keep their database.
  test.skipIf(poolMode !== 'transaction')(
    'after it is pointed at another database, connections work and nothing is cached',
    async () => {
      const { server, pooler, direct } = await startPooled()
      await administer(server.address, `create database elsewhere template ${worldName}`)
      const database = open(pooler.address, direct)
      expect(await isKept(database)).toBe(true)
      pooler.leadTo('elsewhere')
      await expect.poll(() => isKept(database)).toBe(false)
      pooler.leadTo(worldName)
      await expect.poll(() => isKept(database)).toBe(true)
    },
  )
})

const statusOf = ({ status }: { status: number }) => status
