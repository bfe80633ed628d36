import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { exampleLine, toLines } from '../support/catalogue-file.ts'
import { expectStatuses } from '../support/check.ts'
import { stopTimers } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { administer, ask } from '../support/postgres.ts'
import { commandLine } from '../support/process.ts'
import { type Service, startService } from '../support/service.ts'

/** What becomes of PostgreSQL's errors. server.postgres.test.ts has the failures of a server. */

type Failure = { code: string; message?: string | undefined; table?: string; times?: number }

/** Makes changes of a table fail, this many times. */
async function failChanges(
  address: string,
  { code, message = 'made by the test', table = 'apps', times = 1000 }: Failure,
) {
  // A rollback does not undo `nextval`.
  await administer(
    address,
    `create sequence if not exists changes;
     alter sequence changes restart;
     create or replace function fail() returns trigger language plpgsql as $$ begin
       if nextval('changes') <= ${times} then
         raise exception using errcode = '${code}', message = '${message}';
       end if;
       return null;
     end $$;
     create or replace trigger fails before insert or update on ${table} execute function fail()`,
  )
  return {
    /** How often changes have been tried. */
    attempts: async () => {
      const [row] = await ask<{ last: string }>(address, 'select last_value as last from changes')
      return Number(row?.last)
    },
    repair: () => administer(address, `drop trigger fails on ${table}`),
  }
}

/** Another change each time, since nothing is written without one. */
const update = ({ request, world }: Service) =>
  request('PUT', `/apps/${world.apps.approved}`, {
    key: world.keys.ada,
    json: { short_description: randomUUID() },
  })

// On Citus, the changes are made on shards, which do not have the trigger.
describe.skipIf(inject('workers').length > 0)('an update that fails', () => {
  type Result = [code: string, status: number, attempts: number, message?: string]

  /** https://www.postgresql.org/docs/current/errcodes-appendix.html */
  const results: Record<string, Result> = {
    'a lost connection': ['08006', 503, 1],
    'a violation of the protocol': ['08P01', 503, 1],
    'an account that may not connect': ['28000', 503, 1],
    'a wrong password': ['28P01', 503, 1],
    'a missing database': ['3D000', 503, 1],
    'a full disk': ['53100', 503, 1],
    'too little memory': ['53200', 503, 1],
    'too many connections': ['53300', 503, 1],
    'a configured limit': ['53400', 503, 1],
    'a statement timeout': ['57014', 503, 1],
    'a shutdown': ['57P01', 503, 1],
    'a crash': ['57P02', 503, 1],
    'a server that is starting': ['57P03', 503, 1],
    'a database that is dropped': ['57P04', 503, 1],
    'an idle timeout': ['57P05', 503, 1],
    'a system error': ['58000', 503, 1],
    'an I/O error': ['58030', 503, 1],
    'a missing file': ['58P01', 503, 1],
    'a read-only transaction': ['25006', 503, 1],
    'a timeout of an idle transaction': ['25P03', 503, 1],
    'a lock timeout': ['55P03', 503, 1],
    'a damaged table': ['XX001', 503, 1],
    'a damaged index': ['XX002', 503, 1],
    'a node of Citus lost': ['XX000', 503, 1, 'connection marked as essential'],
    'a node of Citus that cannot prepare': ['XX000', 503, 1, 'failed to prepare transaction'],
    'a node of Citus that shuts down': ['XX000', 503, 1, 'postmaster was shut down'],
    'a node of Citus that crashes': ['XX000', 503, 1, 'unexpected postmaster exit'],
    'a node of Citus that disconnects': ['XX000', 503, 1, 'server closed the connection'],
    'a node of Citus out of reach': ['XX000', 503, 1, 'no connection to the server'],
    'a node of Citus that takes nothing': ['XX000', 503, 1, 'could not send data to server'],
    'a node of Citus that gives nothing': ['XX000', 503, 1, 'could not receive data'],
    'a serialization failure': ['40001', 503, 10],
    'a deadlock': ['40P01', 503, 10],
    'a prepared statement that is gone': ['26000', 503, 10],
    'a prepared statement that exists': ['42P05', 503, 10],
    'a duplicate': ['23505', 500, 10],
    'a missing value': ['23502', 500, 1],
    'a failed check': ['23514', 500, 1],
    'a division by zero': ['22012', 500, 1],
    'a syntax error': ['42601', 500, 1],
    'a missing table': ['42P01', 500, 1],
    'a missing permission': ['42501', 500, 1],
    'a failed transaction': ['25P02', 500, 1],
    'a wrong state of an object': ['55000', 500, 1],
    'a feature that is missing': ['0A000', 500, 1],
    'an internal error': ['XX000', 500, 1],
    'an exception of a function': ['P0001', 500, 1],
    'an exception with a message as of Citus': ['P0001', 500, 1, 'could not send data'],
  }

  test('is a 503 if the database cannot be used, else a 500; conflicts are retried', async () => {
    const service = await startService()
    const found: typeof results = {}
    for (const [error, [code, , , message]] of Object.entries(results)) {
      const failure = await failChanges(service.databaseUrl, { code, message })
      const { status } = await update(service)
      const attempts = await failure.attempts()
      found[error] = message ? [code, status, attempts, message] : [code, status, attempts]
      await failure.repair()
      expect((await update(service)).status, `after ${error}`).toBe(200)
    }
    expect(found).toEqual(results)
  })

  test.for<[times: number, status: number]>([
    [1, 200],
    [9, 200],
    [10, 503],
  ])('with a deadlock, %i times: %i', async ([times, status]) => {
    const service = await startService()
    await failChanges(service.databaseUrl, { code: '40P01', times })
    expect((await update(service)).status).toBe(status)
  })

  test.for<[error: string, code: string, message: string]>([
    ['a full disk', '53100', 'The disk is full: free some space on the database server.'],
    [
      'a read-only transaction',
      '25006',
      'This database is a read-only standby; run this on the primary.',
    ],
    ['an I/O error', '58030', 'The service is temporarily unavailable; try again shortly.'],
  ])('with %s: a command says what to do', async ([, code, message]) => {
    const address = await copyWorld()
    await failChanges(address, { code, table: 'categories' })
    const { code: exitCode, stderr } = await commandLine(address).run(
      ...['category', 'add', '--slug', 'more', '--name', 'More'],
    )
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)])
  })
})

test.skipIf(inject('workers').length > 0)(
  'an import that conflicts with other writes again and again says so, and finishes later',
  async () => {
    const address = await copyWorld()
    const { runWith } = commandLine(address)
    const lines = toLines(
      Array.from({ length: 1500 }, (_, index) => ({ ...exampleLine, name: `Star ${index}` })),
    )
    const failure = await failChanges(address, { code: '40P01', message: 'deadlock detected' })
    expect(await runWith(lines, 'import', '-')).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^0 lines in .*: 0 created, 0 updated, 0 unchanged\.\n$/),
      stderr:
        'apps-service: cannot write line 1 and those after it: it conflicted with other writes again and again: deadlock detected; nothing was imported; run this again to finish\n',
    })
    expect(await failure.attempts()).toBe(10)
    await failure.repair()
    expect((await runWith(lines, 'import', '-')).stdout).toMatch(/: 1500 created/)
  },
)

/** A session of another program, which runs a statement in a transaction and then waits. */
async function holdLocks(address: string, statement: string) {
  const session = new Client(address)
  await session.connect()
  onTestFinished(() => session.end())
  await session.query(`begin; ${statement}`)
  return () => session.query('rollback')
}

// On Citus the other node waits, for as long as the address says (docs/scaling.md).
describe.skipIf(inject('workers').length > 0)('while another session holds a lock', () => {
  const lockTide = `select from apps where slug = 'tide-clock' for update`

  test('updates of the app are 503', async () => {
    const service = await startService({ lockTimeout: 100 })
    const release = await holdLocks(service.databaseUrl, lockTide)
    const answers = await Promise.all(Array.from({ length: 6 }, () => update(service)))
    expectStatuses(answers, [503, 503, 503, 503, 503, 503])
    for (const { headers } of answers) expect(headers).toHaveProperty('retry-after')
    expect(service.log.join()).toContain('canceling statement due to lock timeout')
    await release()
    expect((await update(service)).status).toBe(200)
  })

  test('updates of the app wait for it, and meanwhile other apps are written', async () => {
    const service = await startService()
    stopTimers()
    const { request, world } = service
    const release = await holdLocks(service.databaseUrl, lockTide)
    let answered = 0
    const waiting = Array.from({ length: 6 }, () =>
      update(service).finally(() => {
        answered++
      }),
    )
    const locks = () => ask(service.databaseUrl, 'select from pg_locks where not granted')
    await expect.poll(locks).not.toEqual([])
    const others = [
      await request('PUT', `/apps/${world.apps.bobs}`, {
        key: world.keys.bob,
        json: { version: '2' },
      }),
      await request('POST', '/apps', { key: world.keys.bob, json: newApp }),
      await request('DELETE', `/apps/${world.apps.pending}`, { key: world.keys.ada }),
    ]
    expectStatuses(others, [200, 201, 200])
    expect(await locks()).toHaveLength(1)
    expect(answered).toBe(0)
    await release()
    const answers = await Promise.all(waiting)
    expectStatuses(
      answers,
      answers.map(() => 200),
    )
  })

  test('reads of the table are 503, also those that share one', async () => {
    const service = await startService({ lockTimeout: 100 })
    const lock = 'lock table apps in access exclusive mode'
    const release = await holdLocks(service.databaseUrl, lock)
    const paths = ['/apps', '/apps', '/apps', '/apps?search=tide', '/apps/1', '/apps/1']
    const answers = await Promise.all(paths.map((path) => service.get(path)))
    expectStatuses(
      answers,
      answers.map(() => 503),
    )
    for (const { headers } of answers) expect(headers).toHaveProperty('retry-after')
    expect(service.log.join()).toContain('canceling statement due to lock timeout')
    expect(service.log.join()).not.toContain('statement timeout')
    await release()
    for (const path of paths) expect((await service.get(path)).status).toBe(200)
  })
})
