import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import type { DatabaseOptions, QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import {
  addressAt,
  addressThrough,
  administer,
  ask,
  asPostgresAccount,
  configuredServer,
  connectTo,
  emptyCatalogue,
  program,
  startPostgres,
  worldName,
} from '../support/postgres.ts'
import { expectRefusal, run } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { startService } from '../support/service.ts'

/** A service on the test's own server with the world, which the test can stop. */
async function startWorld() {
  const server = await startPostgres(inject('world').source)
  onTestFinished(server.remove)
  return { ...server, databaseUrl: addressAt(server.address, worldName) }
}

function open(address: string, options?: DatabaseOptions): DatabaseWithTools {
  const database = openDatabase(address, options)
  onTestFinished(() => database.close())
  return database
}

const add = (database: DatabaseWithTools, name: string) =>
  database.write(async ({ sql, markPublicChange }) => {
    markPublicChange()
    await sql('developers').insert({ name, created_at: '', changed_at: '' })
  })

const namesIn = (database: DatabaseWithTools): Promise<string[]> =>
  database.read(({ sql }) => sql('developers').orderBy('id').pluck('name'))

const totalIn = async (database: DatabaseWithTools, search: string) =>
  (await findAppPage(database, { page: 1, limit: 1, search })).total

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  )

/** Lets timers that are stopped run until the work ends. */
async function whileTimePasses<T>(work: Promise<T>): Promise<T> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  work.then(end, end)
  while (!isOver) {
    await vi.advanceTimersByTimeAsync(100)
    await setImmediate()
  }
  return work
}

/** The same over a network that can hang. */
async function startDistantWorld() {
  const { databaseUrl } = await startWorld()
  const { address, ...network } = await startProxy(databaseUrl)
  return { ...network, databaseUrl: address }
}

describe.skipIf(configuredServer !== undefined)('failures of a server', () => {
  test('terminated backends cause at most 503, and the service recovers', async () => {
    const { databaseUrl } = await startWorld()
    const { get } = await startService({ databaseUrl, cacheSize: 0 })
    for (let round = 0; round < 5; round++) {
      expect((await get('/apps')).status).toBe(200)
      await administer(
        databaseUrl,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'apps-service'",
      )
      const answers = await Promise.all(Array.from({ length: 5 }, () => get('/apps')))
      for (const { status, headers } of answers) {
        expect([200, 503]).toContain(status)
        if (status === 503) expect(headers).toHaveProperty('retry-after')
      }
      await expect.poll(async () => (await get('/apps')).status).toBe(200)
    }
  })

  test('answers 503 while the server is stopped, and recovers', async () => {
    const { databaseUrl, stop, start } = await startWorld()
    const { get, request, world } = await startService({ databaseUrl, cacheSize: 0 })
    expect((await get('/readyz')).status).toBe(200)
    await stop('SIGINT')
    const json = { name: 'Star Map' }
    const asked = [
      await get('/apps'),
      await get('/apps?search=tide'),
      await get('/readyz'),
      await request('PUT', `/apps/${world.apps.approved}`, { key: world.keys.ada, json }),
    ]
    expectStatuses(asked, [503, 503, 503, 503])
    await start()
    await expect.poll(async () => (await get('/readyz')).status).toBe(200)
    expect((await get('/apps?search=tide')).status).toBe(200)
  })

  test.for<[state: string, cause: string, repair: string]>([
    [
      'its database was dropped',
      `drop database ${worldName} with (force)`,
      `create database ${worldName} template ${emptyCatalogue(worldName)}`,
    ],
    [
      'it has too many connections',
      `alter database ${worldName} connection limit 0`,
      `alter database ${worldName} connection limit -1`,
    ],
  ])('answers 503 while %s, and recovers', async ([, cause, repair]) => {
    const { databaseUrl, address } = await startWorld()
    const { get, request, world } = await startService({ databaseUrl, cacheSize: 0 })
    const json = { name: 'Star Map' }
    const ask = async () => [
      await get('/apps'),
      await get('/apps?search=tide'),
      await get('/readyz'),
      await request('PUT', `/apps/${world.apps.approved}`, { key: world.keys.ada, json }),
    ]
    expectStatuses(await ask(), [200, 200, 200, 200])
    await administer(
      address,
      cause,
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${worldName}'`,
    )
    expectStatuses(await ask(), [503, 503, 503, 503])
    await administer(address, repair)
    await expect.poll(async () => (await get('/readyz')).status).toBe(200)
    expect((await get('/apps?search=tide')).status).toBe(200)
  })

  test('/readyz is 503 while the network hangs; after it heals, /readyz is 200 and writes work', async () => {
    const { databaseUrl, hang, heal } = await startDistantWorld()
    const { get, request, world } = await startService({ databaseUrl, cacheSize: 0 })
    const update = () =>
      request('PUT', `/apps/${world.apps.approved}`, {
        key: world.keys.ada,
        json: { name: 'Star Map' },
      })
    expectStatuses([await update(), await get('/readyz')], [200, 200])
    hang()
    expect((await get('/readyz')).status).toBe(503)
    heal()
    await expect.poll(async () => (await get('/readyz')).status).toBe(200)
    expect((await update()).status).toBe(200)
  })

  const moments = ['BEGIN', 'a statement', 'COMMIT', 'the answer to COMMIT', 'ROLLBACK'] as const
  test.for(moments)(
    'a write whose network hangs at %s fails once, and the next one gets a new connection',
    async (moment) => {
      const { databaseUrl, hang, heal } = await startDistantWorld()
      // One of these connections writes. knex waits 5 s for ROLLBACK, less than a server's limit.
      const writeTimeout = moment === 'ROLLBACK' ? 25_000 : 1000
      const database = open(databaseUrl, { pool: 3, writeTimeout })
      await add(database, 'Eve')
      const reach = (...reached: string[]) => {
        if (reached.includes(moment))
          hang(moment === 'the answer to COMMIT' ? 'answers' : 'everything')
      }
      let runs = 0
      const areStopped = Promise.withResolvers<void>()
      reach('BEGIN')
      const write = database.write(async ({ sql }) => {
        runs++
        reach('a statement')
        await sql('developers').insert({ name: 'Mallory', created_at: '', changed_at: '' })
        reach('COMMIT', 'the answer to COMMIT', 'ROLLBACK')
        if (moment !== 'ROLLBACK') return
        stopTimers()
        areStopped.resolve()
        throw new Error('not this time')
      })
      if (moment === 'ROLLBACK') await areStopped.promise
      const ended = moment === 'ROLLBACK' ? whileTimePasses(write) : write
      await expect(ended).rejects.toThrow(/temporarily unavailable/)
      vi.useRealTimers()
      expect(runs).toBe(moment === 'BEGIN' ? 0 : 1)
      heal()
      await add(database, 'Fay')
      const written = moment === 'the answer to COMMIT' ? ['Eve', 'Mallory', 'Fay'] : ['Eve', 'Fay']
      expect((await namesIn(database)).slice(-written.length - 1)).toEqual(['Bob', ...written])
    },
  )

  test('a write whose statement hangs does not wait for ROLLBACK after its timeout', async () => {
    const { databaseUrl, hang } = await startDistantWorld()
    const database = open(databaseUrl, { pool: 3, writeTimeout: 1000 })
    await add(database, 'Eve')
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let result = 'hangs'
    const sent = new Promise<void>((resolve) => {
      database.onStatement((statement) => statement.includes('pg_sleep') && resolve())
    })
    const write = database.write(({ sql }) => {
      hang()
      return sql.raw('select pg_sleep(0)')
    })
    write.catch(({ code }) => {
      result = code
    })
    await sent
    await vi.advanceTimersByTimeAsync(1000)
    // Not `poll`, which would advance the clock.
    for (let turn = 0; turn < 100 && result === 'hangs'; turn++) await setImmediate()
    expect(result).toBe('unavailable')
  })

  test('after a timeout, connections that have answered since the statement was sent are kept, and others replaced', async () => {
    const { databaseUrl } = await startWorld()
    const database = open(databaseUrl, { pool: 3, writeTimeout: 1000 })
    const impatient = open(databaseUrl, { pool: 3, writeTimeout: 500 })
    const readerPid = async () => {
      const { rows } = await database.read(({ sql }) => sql.raw('select pg_backend_pid() as pid'))
      return rows[0].pid
    }
    /** Runs a statement for longer than a write may take. */
    const timeOut = async (writer: DatabaseWithTools, meanwhile: () => Promise<unknown>) => {
      const write = writer.write(async ({ sql }) => {
        await sql.raw('set local statement_timeout = 0')
        const sleeping = sql.raw('select pg_sleep(5)').then(() => {})
        await Promise.all([sleeping, meanwhile()])
      })
      await expect(write).rejects.toMatchObject({ code: 'unavailable' })
    }
    const first = await readerPid()
    await timeOut(database, readerPid)
    expect(await readerPid()).toBe(first)
    await timeOut(database, async () => {})
    const second = await readerPid()
    expect(second).not.toBe(first)
    // The statement that is sent first times out last.
    await timeOut(database, async () => {
      expect(await readerPid()).toBe(second)
      await timeOut(impatient, async () => {})
    })
    expect(await readerPid()).not.toBe(second)
  })

  test.for<[state: string, cause: string]>([
    ['is gone', 'deallocate all'],
    ['has other columns', 'alter table developers add column more text'],
  ])('a prepared statement that %s is prepared again', async ([, cause]) => {
    const { databaseUrl } = await startWorld()
    const database = open(databaseUrl)
    const find = ({ rows }: QueryRunner) =>
      rows<{ name: string }>('select * from developers where id = ?', [1])
    for (const method of ['read', 'write'] as const)
      expect(await database[method](find)).toMatchObject([{ name: 'Ada' }])
    if (cause.startsWith('alter')) await administer(databaseUrl, cause)
    else
      for (const method of ['read', 'write'] as const)
        await database[method](({ sql }) => sql.raw(cause))
    for (const method of ['read', 'write'] as const)
      expect(await database[method](find), method).toMatchObject([{ name: 'Ada' }])
  })

  test('a connection whose settings are refused is closed', async () => {
    const { databaseUrl } = await startWorld()
    const relay = createServer((client) => {
      const server = connectTo(databaseUrl)
      for (const socket of [client, server]) socket.on('error', () => {})
      // PostgreSQL has no setting of this name.
      client.on('data', (data) =>
        server.write(data.toString('latin1').replace('set jit =', 'set jib ='), 'latin1'),
      )
      client.on('close', () => server.destroy())
      server.pipe(client)
    }).listen(0, '127.0.0.1')
    await once(relay, 'listening')
    onTestFinished(() => void relay.close())
    const database = open(addressThrough((relay.address() as AddressInfo).port, databaseUrl))
    await expect(namesIn(database)).rejects.toThrow(/"jib"/)
    const sessions = () =>
      ask(databaseUrl, "select pid from pg_stat_activity where application_name = 'apps-service'")
    await expect.poll(sessions).toEqual([])
  })

  test.runIf(process.platform === 'linux')('a silent connection is probed after 10 s', async () => {
    const { databaseUrl } = await startDistantWorld()
    const database = open(databaseUrl)
    await namesIn(database)
    const port = Number(new URL(databaseUrl).port).toString(16).toUpperCase()
    const sockets = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , remote, state]) => remote === `0100007F:${port}` && state === '01')
    // The timer of keep-alive probes is 02 (https://docs.kernel.org/networking/proc_net_tcp.html).
    const timers = sockets.map(([, , , , , timer = '']) => timer.split(':'))
    expect(timers.map(([kind]) => kind)).toEqual(['02'])
    const hundredths = Number.parseInt(timers[0]?.[1] ?? '', 16)
    expect(hundredths).toBeLessThanOrEqual(1000)
  })

  test('a write that catches an error of a statement is not acknowledged, since nothing is committed', async () => {
    const { databaseUrl } = await startWorld()
    const database = open(databaseUrl)
    const write = database.write(async ({ sql }) => {
      await sql.raw('select 1 / 0').catch(() => {})
    })
    await expect(write).rejects.toThrow('nothing was committed')
  })

  test('a server that is starting is waited for', async () => {
    const { databaseUrl } = await startWorld()
    let refusals = 3
    const starting = createServer((client) => {
      client.on('error', () => {})
      if (refusals-- > 0) return void client.once('data', () => client.end(startingUp))
      client.pipe(connectTo(databaseUrl).on('error', () => {})).pipe(client)
    }).listen(0, '127.0.0.1')
    await once(starting, 'listening')
    onTestFinished(() => void starting.close())
    const address = addressThrough((starting.address() as AddressInfo).port, databaseUrl)
    const { code, stderr } = await run(['category', 'list'], { DATABASE_URL: address })
    expect([code, stderr.includes('starting up'), refusals < 0]).toEqual([0, false, true])
  })

  test('a command gives up, with the reason, if the server does not become ready in time', async () => {
    const recovering = createServer((client) => {
      client.on('error', () => {})
      client.once('data', () => client.end(startingUp))
    }).listen(0, '127.0.0.1')
    await once(recovering, 'listening')
    onTestFinished(() => void recovering.close())
    const url = new URL('postgres://apps@127.0.0.1/apps?connect_timeout=1&sslmode=disable')
    url.port = String((recovering.address() as AddressInfo).port)
    for (const args of [['category', 'list'], ['migrate'], ['migrate', '--check'], ['export']])
      expectRefusal(
        await run(args, { DATABASE_URL: url.href }),
        /(cannot be reached|it cannot be reached): the database system is starting up/,
      )
  })

  test('a standby has the data version of the writes that it has replicated', async () => {
    const { databaseUrl, folder } = await startWorld()
    const primary = open(databaseUrl)
    const data = `${folder}/standby`
    const backup = [
      '-h',
      folder,
      '-U',
      'postgres',
      '--checkpoint=fast',
      '--write-recovery-conf',
      '-D',
      data,
    ]
    execFileSync('setpriv', [...asPostgresAccount, program('pg_basebackup'), ...backup])
    const settings = ['-p', '5433', '-c', 'listen_addresses=', '-c', 'max_connections=300']
    const server = ['--pdeathsig=QUIT', program('postgres'), '-D', data, '-k', folder, ...settings]
    const child = spawn('setpriv', [...asPostgresAccount, ...server], {
      cwd: folder,
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGQUIT')
      await exited
    })

    const url = new URL(databaseUrl)
    url.searchParams.set('port', '5433')
    const standby = open(url.href)
    await expect.poll(() => succeeds(namesIn(standby))).toBe(true)
    const before = await standby.dataVersion()
    expect(before).toBe(await primary.dataVersion())
    expect(await totalIn(standby, 'tide')).toBe(1)
    await primary.write(async ({ search, markPublicChange }) => {
      markPublicChange()
      await search.remove([inject('world').apps.approved])
    })
    await expect.poll(() => standby.dataVersion()).not.toBe(before)
    expect(await totalIn(standby, 'tide')).toBe(0)
    await expect(add(standby, 'Eve')).rejects.toMatchObject({
      message: 'The service is temporarily unavailable; try again shortly.',
      cause: { message: 'This database is a read-only standby; run this on the primary.' },
    })
    const { code, stderr } = await run(['category', 'add', '--slug', 'tools', '--name', 'Tools'], {
      DATABASE_URL: url.href,
    })
    expect([code, stderr]).toEqual([
      1,
      'apps-service: This database is a read-only standby; run this on the primary.\n',
    ])
    // Otherwise an export would miss what is written meanwhile.
    await expect(standby.committedBefore()).rejects.toThrow(/this must run on the primary/)
  })
})

/**
 * PostgreSQL's ErrorResponse
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html).
 */
const fields = 'SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'
const startingUp = Buffer.concat([
  Buffer.from('E'),
  Buffer.from([0, 0, 0, fields.length + 4]),
  Buffer.from(fields),
])
