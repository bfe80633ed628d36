import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { startDatabase } from '../../faults/postgres.ts'
import type { Body } from '../../support/check.ts'
import { expectConsistent } from '../../support/consistency.ts'
import { copyWorldFile } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { addressThrough, connectTo, hasPostgres } from '../../support/postgres.ts'
import { serve } from '../../support/process.ts'
import { isShortRun } from '../../support/short-run.ts'
import { createWorld } from '../../support/world.ts'
import { cutAfterStatements, cutResponses } from './cutting-proxy.ts'

/**
 * A create that is repeated with its Idempotency-Key makes one app, whatever breaks between the client
 * and the database.
 */

const creates = isShortRun ? 40 : 1000
/** Clients at once. */
const concurrency = 8

type Scene = { databaseUrl: string; key: string }

/** A new database of each engine. */
const engines: Record<string, () => Promise<Scene>> = {
  SQLite: async () => ({
    databaseUrl: `sqlite:${copyWorldFile()}`,
    key: inject('world').keys.ada,
  }),
  ...(hasPostgres && {
    PostgreSQL: async () => {
      const [[databaseUrl], { keys }] = await startDatabase(createWorld)
      return { databaseUrl, key: keys.ada }
    },
  }),
}

type Create = (name: string) => Promise<number>

const newApp = (name: string) => ({ name, description: 'Created once.', category_id: 1 })

/** Sends each create until its response arrives, with the same Idempotency-Key unless told not to. */
function repeatingCreate(port: number, key: string, hasIdempotencyKey = true): Create {
  return async (name) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      ...(hasIdempotencyKey && { 'Idempotency-Key': randomUUID() }),
    }
    for (;;) {
      const signal = AbortSignal.timeout(10_000)
      const request = { method: 'POST', headers, body: JSON.stringify(newApp(name)), signal }
      const response = await fetch(`http://127.0.0.1:${port}/apps`, request).catch(() => undefined)
      if (response) expect([201, 503]).toContain(response.status)
      const body: Body | undefined = await response?.json().catch(() => undefined)
      if (body?.success) return body.data.app_id
      await delay(100)
    }
  }
}

/**
 * Creates all apps and returns how many there are of each name. Each `create` must return the id of
 * its own app.
 */
async function createAll(databaseUrl: string, create: Create) {
  const ids = new Map<string, number>()
  const names = Array.from({ length: creates }, (_, number) => `Once ${number}`).values()
  const work = async () => {
    for (const name of names) ids.set(name, await create(name))
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  const database = openDatabase(databaseUrl)
  try {
    return await countApps(database, ids)
  } finally {
    await database.close()
  }
}

async function countApps(database: Database, ids: Map<string, number>) {
  const rows = await database.read(({ sql }) =>
    sql('apps').whereLike('name', 'Once %').select('id', 'name'),
  )
  const byName = Map.groupBy(rows, ({ name }) => name)
  await expectConsistent(database)
  for (const [name, id] of ids) expect(byName.get(name)?.map((row) => row.id)).toContain(id)
  return { apps: rows.length, names: byName.size }
}

const report = (what: string, counts: object, result: { apps: number; names: number }) =>
  console.log(`${creates} creates, ${what}:`, {
    ...counts,
    ...result,
    duplicates: result.apps - result.names,
  })

const once = { apps: creates, names: creates }

describe.for(Object.entries(engines))('on %s, each create makes one app', ([engine, start]) => {
  test('while connections to the server are cut before, in and after responses', async () => {
    const { databaseUrl, key } = await start()
    const server = await serve(databaseUrl, { WRITE_LIMIT: '0' })
    const { port, counts } = await cutResponses(() => connect(server.port, '127.0.0.1'))
    const result = await createAll(databaseUrl, repeatingCreate(port, key))
    report(`${engine}, responses cut`, counts, result)
    expect(result).toEqual(once)
    expect(counts.cuts).toBeGreaterThan(creates)
  })

  test('while the server is killed each second', async () => {
    const { databaseUrl, key } = await start()
    const port = await freePort()
    const counts = { kills: 0 }
    let isOver = false
    const killing = (async () => {
      while (!isOver) {
        const server = await serve(databaseUrl, { WRITE_LIMIT: '0', PORT: String(port) })
        await delay(1000)
        server.process.kill('SIGKILL')
        await server.exited
        counts.kills++
      }
    })()
    const result = await createAll(databaseUrl, repeatingCreate(port, key)).finally(() => {
      isOver = true
    })
    await killing
    report(`${engine}, server killed`, counts, result)
    expect(result).toEqual(once)
    expect(counts.kills).toBeGreaterThan(0)
  })
})

test.runIf(hasPostgres)(
  'on PostgreSQL, each create makes one app while connections are cut after each statement',
  async () => {
    const { databaseUrl, key } = (await engines.PostgreSQL?.()) ?? expect.unreachable()
    const { port, counts, begin } = await cutAfterStatements(() => connectTo(databaseUrl))
    const server = await serve(addressThrough(port, databaseUrl), { WRITE_LIMIT: '0' })
    begin()
    const result = await createAll(databaseUrl, repeatingCreate(server.port, key))
    report('PostgreSQL, cut after each statement', counts, result)
    expect(result).toEqual(once)
    expect(counts.cuts).toBeGreaterThan(creates / 2)
  },
)

test('control: repeated without an Idempotency-Key, some creates make two apps', async () => {
  const { databaseUrl, key } = await (engines.SQLite ?? expect.unreachable)()
  const server = await serve(databaseUrl, { WRITE_LIMIT: '0' })
  const { port } = await cutResponses(() => connect(server.port, '127.0.0.1'))
  const create = repeatingCreate(port, key, false)
  const { apps, names } = await createAll(databaseUrl, create)
  expect(names).toBe(creates)
  expect(apps).toBeGreaterThan(creates)
})
