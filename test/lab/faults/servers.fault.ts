import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/db/open-database.ts'
import { between } from '../../faults/acknowledged-writes.ts'
import { startDatabase } from '../../faults/postgres.ts'
import type { CheckedResponse, RequestOptions } from '../../support/check.ts'
import { expectConsistentAt } from '../../support/consistency.ts'
import { freePort } from '../../support/free-port.ts'
import {
  addressAt,
  administer,
  ask,
  configuredServer,
  hasPostgres,
  isInstalled,
  startPostgres,
} from '../../support/postgres.ts'
import { commandLine, type Served, serve } from '../../support/process.ts'
import { isShortRun } from '../../support/short-run.ts'
import { createWorld, type World } from '../../support/world.ts'

const seconds = isShortRun ? 10 : 60

/** Counts of events, for the output. */
type Counts = Record<
  'created' | 'updated' | 'approved' | 'takenDown' | 'reads' | 'unavailable' | 'conflicts',
  number
>

/** The acknowledged writes, and those with an unknown outcome. */
type Known = {
  /** Names by id. */
  created: Map<number, string>
  possiblyCreated: number
  /** By id, the last acknowledged and the last sent change. */
  changed: Map<number, { acknowledged: number; sent: number; count: number }>
  /** States by id; undefined after a decision that was not acknowledged. */
  decided: Map<number, 'approved' | 'rejected' | undefined>
}

type Servers = {
  servers: Served[]
  address: string
  world: Omit<World, 'source'>
  countCacheHits: () => Promise<number>
}

/** Three servers, each at another node of a Citus cluster. */
async function startThree(
  addresses: [string, ...string[]],
  world: Omit<World, 'source'>,
): Promise<Servers> {
  const [address] = addresses
  const ports = await Promise.all([1, 2, 3].map(freePort))
  const servers = await Promise.all(
    ports.map((port, index) =>
      serve(addresses[index] ?? address, { WRITE_LIMIT: '0', METRICS_PORT: String(port) }),
    ),
  )
  async function cacheHitsOf(port: number): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    return Number(
      /^apps_response_cache_requests_total\{result="hit"\} (\d+)$/m.exec(text)?.[1] ?? Number.NaN,
    )
  }
  const countCacheHits = async () =>
    (await Promise.all(ports.map(cacheHitsOf))).reduce((sum, count) => sum + count, 0)
  return { servers, address, world, countCacheHits }
}

/**
 * Clients create, change and read through all servers, and operators decide on the command line,
 * until the time is up. After each acknowledged write, none of the servers may return the old
 * state.
 */
async function work({ servers, address, world }: Servers, mayFail: boolean) {
  const known: Known = {
    created: new Map(),
    possiblyCreated: 0,
    changed: new Map(),
    decided: new Map(),
  }
  const counts: Counts = {
    created: 0,
    updated: 0,
    approved: 0,
    takenDown: 0,
    reads: 0,
    unavailable: 0,
    conflicts: 0,
  }
  const cli = commandLine(address)
  const key = world.keys.ada
  const until = performance.now() + seconds * 1000
  const randomServer = () =>
    servers[between(0, servers.length - 1)] ?? expect.fail('there is no server')
  const repeat = async (round: (number: number) => Promise<unknown>) => {
    for (let number = 1; performance.now() < until; number++) await round(number)
  }

  /**
   * Undefined if the service was unavailable, which is allowed only if something is killed, or if
   * it closed an idle connection just when it was used again, so that the outcome of the request is
   * unknown.
   */
  async function request(server: Served, method: string, path: string, options?: RequestOptions) {
    const response = await server.request(method, path, options).catch((error: Error) => {
      expect([error.message, server.process.exitCode]).toEqual(['fetch failed', null])
      return undefined
    })
    if (!response || response.status < 500) return response
    expect(mayFail, `${response.status} ${response.text}`).toBe(true)
    expect([response.status, Number(response.headers['retry-after']) > 0]).toEqual([503, true])
    counts.unavailable++
    await delay(20)
    return undefined
  }

  /** Reads from each server twice, because the second response may be cached. */
  async function readFromAll(
    path: string,
    options: RequestOptions,
    isRight: (response: CheckedResponse) => boolean,
  ) {
    for (const server of servers) {
      for (const time of ['first', 'second']) {
        const response = await request(server, 'GET', path, options)
        if (!response) continue
        counts.reads++
        expect(
          isRight(response),
          `${time} time, of server ${servers.indexOf(server)}: ${path}: ${response.text}`,
        ).toBe(true)
      }
    }
  }

  async function create(client: number, number: number) {
    // Equal names, so that the slugs compete.
    const name = `Crowd ${number % 20}`
    const json = { name, description: `${name} of ${client}.`, category_id: between(1, 2) }
    const response = await request(randomServer(), 'POST', '/apps', { key, json })
    if (!response) return known.possiblyCreated++
    expect(response.status).toBe(201)
    const id: number = response.body.data.app_id
    known.created.set(id, name)
    counts.created++
    await readFromAll(
      `/apps/${id}`,
      { key },
      ({ status, body }) => status === 200 && body.data.app.name === name,
    )
  }

  async function change(id: number) {
    const state = known.changed.get(id) ?? { acknowledged: 0, sent: 0, count: 0 }
    known.changed.set(id, state)
    const description = `Change ${++state.sent}`
    const before = await request(randomServer(), 'GET', `/apps/${id}`, { key })
    if (!before) return
    const headers = { 'If-Match': String(before.headers.etag) }
    const response = await request(randomServer(), 'PUT', `/apps/${id}`, {
      key,
      headers,
      json: { description },
    })
    if (!response) return
    if (response.status === 412) return counts.conflicts++
    expect(response.status).toBe(200)
    state.acknowledged = state.sent
    state.count++
    counts.updated++
    const numberIn = (text: string) => Number(/^Change (\d+)$/.exec(text)?.[1])
    const isNew = (text: string) => numberIn(text) >= state.acknowledged
    await readFromAll(
      `/apps/${id}`,
      {},
      ({ status, body }) => status === 200 && isNew(body.data.app.description),
    )
    await readFromAll('/apps?sort=popular&limit=100', {}, ({ body }) =>
      isNew(body.data.apps.find((app: { id: number }) => app.id === id)?.description ?? ''),
    )
  }

  async function decide(decision: 'approve' | 'reject', ids: number[]) {
    if (ids.length === 0) return delay(50)
    for (const id of ids) known.decided.set(id, undefined)
    const reason = decision === 'reject' ? ['--reason', 'Because.'] : []
    const { code, stderr } = await cli.run('moderation', decision, ...ids.map(String), ...reason)
    if (code !== 0) return expect(mayFail, stderr).toBe(true)
    for (const id of ids) {
      known.decided.set(id, decision === 'approve' ? 'approved' : 'rejected')
      counts[decision === 'approve' ? 'approved' : 'takenDown']++
      const expectedStatus = decision === 'approve' ? 200 : 404
      await readFromAll(`/apps/${id}`, {}, ({ status }) => status === expectedStatus)
    }
  }

  const pending = (of: number) =>
    [...known.created.keys()].filter((id) => id % 2 === of && !known.decided.has(id)).slice(0, 5)
  const approved = (of: number) =>
    [...known.decided].filter(([id, state]) => id % 2 === of && state === 'approved').slice(0, 2)
  const pages = [
    '/apps',
    '/apps?search=crowd',
    '/apps?category=tools&sort=rating',
    '/apps?search=tide',
    '/apps/1',
  ]

  await Promise.all([
    ...[1, 2, 3, 4].map((client) => repeat((number) => create(client, number))),
    repeat(() => change(world.apps.approved)),
    // Two concurrent updates with one ETag change the same app, so one may fail.
    ...[0, 1].map((of) =>
      repeat(async (round) => {
        await decide('approve', pending(of))
        if (round % 3 === 0)
          await decide(
            'reject',
            approved(of).map(([id]) => id),
          )
      }),
    ),
    ...[1, 2, 3].map(() =>
      repeat(async (number) => {
        const response = await request(
          randomServer(),
          'GET',
          pages[number % pages.length] ?? '/apps',
        )
        if (response) counts.reads++
      }),
    ),
  ])
  return { known, counts }
}

/** Compares the database with the acknowledged writes. */
async function expectAcknowledged(address: string, known: Known, mayFail: boolean) {
  await expectConsistentAt(address)
  const database = openDatabase(address)
  onTestFinished(() => database.close())
  await database.snapshot(async ({ sql }) => {
    const apps = await sql('apps').select('id', 'name', 'slug', 'status', 'description')
    const byId = new Map(apps.map((app) => [app.id, app]))
    expect(new Set(apps.map(({ slug }) => slug)).size).toBe(apps.length)
    for (const [id, name] of known.created) expect(byId.get(id)?.name).toBe(name)
    for (const [id, state] of known.decided)
      if (state) expect([id, byId.get(id)?.status]).toEqual([id, state])
    const created = await sql('audit')
      .where({ action: 'app create' })
      .whereNotNull('key_id')
      .pluck('app_id')
    const crowd = apps.filter(({ name }) => name.startsWith('Crowd'))
    expect(created.toSorted()).toEqual(crowd.map(({ id }) => id).toSorted())
    expect(crowd.length - known.created.size).toBeGreaterThanOrEqual(0)
    expect(crowd.length - known.created.size).toBeLessThanOrEqual(known.possiblyCreated)
    for (const [id, { acknowledged, sent, count }] of known.changed) {
      const number = Number(/^Change (\d+)$/.exec(byId.get(id)?.description ?? '')?.[1])
      expect(number).toBeGreaterThanOrEqual(acknowledged)
      expect(number).toBeLessThanOrEqual(sent)
      const changes = await sql('audit').where({ action: 'app update', app_id: id }).pluck('id')
      expect(changes.length).toBeGreaterThanOrEqual(count)
      if (!mayFail) expect(changes.length).toBe(count)
    }
    const approved = await sql('audit').where({ action: 'app approve' }).pluck('app_id')
    for (const [id, state] of known.decided)
      if (state) expect(approved.filter((one) => one === id)).toEqual([id])
  })
}

test.skipIf(!hasPostgres)(
  `three servers on one PostgreSQL never return an error or stale data in ${seconds} s, and counters and search stay right`,
  async () => {
    const three = await startThree(...(await startDatabase(createWorld)))
    const { known, counts } = await work(three, false)
    const cacheHits = await three.countCacheHits()
    console.log(`three servers, ${seconds} s:`, counts, `cache hits: ${cacheHits}`)
    await expectAcknowledged(three.address, known, false)
    expect(cacheHits).toBeGreaterThan(0)
    expect(
      Math.min(counts.created, counts.updated, counts.approved, counts.takenDown),
    ).toBeGreaterThan(0)
  },
)

// A server in TEST_POSTGRES_URL cannot be restarted here.
test.skipIf(!isInstalled || configuredServer !== undefined)(
  `three servers return at most a 503 while sessions are terminated, backends are killed and PostgreSQL is restarted`,
  async () => {
    const postgres = await startPostgres()
    onTestFinished(postgres.remove)
    await administer(postgres.address, 'create database apps')
    const address = addressAt(postgres.address, 'apps')
    const three = await startThree([address], await createWorld(address))
    const faults = { ended: 0, killed: 0, restarted: 0 }
    const causeFaults = (async () => {
      for (let second = 1; second < seconds; second++) {
        await delay(1000)
        if (second === Math.floor(seconds / 2)) {
          await postgres.stop('SIGINT')
          await delay(1000)
          await postgres.start()
          faults.restarted++
          continue
        }
        const [session] = await sessionsOf(three.address)
        if (session === undefined) continue
        if (second % 10 === 5) {
          // Killing a backend restarts all others, and transaction ids continue from the end of the
          // log.
          if (killed(session)) faults.killed++
        } else {
          await ask(three.address, `select pg_terminate_backend(${session})`).catch(() => [])
          faults.ended++
        }
      }
    })()
    const [{ known, counts }] = await Promise.all([work(three, true), causeFaults])
    console.log(
      `three servers, ${seconds} s, with faults`,
      faults,
      counts,
      `cache hits: ${await three.countCacheHits()}`,
    )
    for (const server of three.servers) {
      await expect.poll(async () => (await server.request('GET', '/readyz')).status).toBe(200)
      expect((await server.request('GET', '/apps')).status).toBe(200)
    }
    await expectAcknowledged(three.address, known, true)
    expect(
      Math.min(counts.created, counts.updated, counts.approved, counts.unavailable),
    ).toBeGreaterThan(0)
  },
)

/** Whether the process still existed. */
function killed(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

/** The servers' sessions, in random order. */
async function sessionsOf(address: string): Promise<number[]> {
  const rows = await ask<{ pid: number }>(
    address,
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'apps-service' order by random()`,
  ).catch(() => [])
  return rows.map(({ pid }) => pid)
}
