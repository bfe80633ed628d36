import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../../src/db/migrations.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { isShortRun } from '../../support/short-run.ts'
import { fill } from '../bench/catalogue.ts'
import { manyConnections } from './connections.ts'
import { measureStalls, type Stalls } from './event-loop.ts'
import {
  catalogueSize,
  loadOfOtherClients,
  percentile,
  summarize,
  type Timings,
  withServer,
} from './load.ts'
import { abandonedBursts, unreadBursts } from './pipelining.ts'
import { flood } from './search-flood.ts'

/**
 * Response times of clients while others overload the server. Times depend on the machine, which
 * runs clients and server, so a bound is four times the target, scaled by the times of an idle
 * server in the same run. Statuses and memory have exact bounds. The output has the figures and
 * targets.
 */

/**
 * The 99th percentile of a read by id on an idle server, in milliseconds, on the machine where the
 * bounds were set.
 */
const quietMachineP99 = 8.7
const allowedFactor = 4
/** Milliseconds that refused and valid requests may block the event loop. */
const maxMilliseconds = { refused: 20, valid: 50 }

type Row = Record<'name' | 'measured' | 'expected', string>

const folder = mkdtempSync(join(tmpdir(), 'apps-load-'))
const large = join(folder, 'large.sqlite')
const rows: Row[] = []
let slowness = 1

beforeAll(async () => {
  if (isShortRun) return
  const database = openDatabase(`sqlite:${large}`)
  await migrate(database)
  await fill(database, catalogueSize)
  await database.close()
  const { byId } = await withServer(large, ({ port }) => loadOfOtherClients(port, 3000))
  const p99 = percentile(byId, 99)
  slowness = Math.max(1, p99 / quietMachineP99)
  recordRow('idle: by id', summarize(byId), `p99 ${quietMachineP99} ms where the bounds were set`)
})

afterAll(() => {
  rmSync(folder, { recursive: true })
  if (rows.length === 0) return
  const width = (column: keyof Row) => Math.max(...rows.map((row) => row[column].length))
  for (const { name, measured, expected } of [
    { name: '', measured: 'measured', expected: 'expected' },
    ...rows,
  ]) {
    console.log(`${name.padEnd(width('name'))}  ${measured.padEnd(width('measured'))}  ${expected}`)
  }
})

const recordRow = (name: string, measured: string, expected = '') =>
  rows.push({ name, measured, expected })

/**
 * Records the timings and checks their statuses; if there is a target in milliseconds, also their
 * p99.
 */
function expectWithin(name: string, timings: Timings, statuses: number[], p99?: number) {
  recordRow(
    name,
    summarize(timings),
    `${p99 === undefined ? '' : `p99 < ${p99} ms, `}only ${statuses.join(', ')}`,
  )
  const others = Object.entries(timings).filter(
    ([status, { length }]) => length > 0 && !statuses.includes(Number(status)),
  )
  expect(Object.fromEntries(others.map(([status, { length }]) => [status, length])), name).toEqual(
    {},
  )
  expect(timings[200]?.length, name).toBeGreaterThan(0)
  if (p99 !== undefined)
    expect(percentile(timings, 99), name).toBeLessThan(allowedFactor * slowness * p99)
}

const ok = [200]

test.skipIf(isShortRun)(
  'nine unread bursts do not exhaust memory, and other requests get responses',
  async () => {
    const { before, now, max, byId, cached, ready } = await withServer(large, unreadBursts)
    recordRow('nine unread bursts', `${before} MB before, ${now} after, at most ${max}`, '< 400 MB')
    expectWithin('  by id', byId, ok)
    expectWithin('  cached', cached, ok)
    expectWithin('  /readyz', ready, ok)
    expect(max).toBeLessThan(400)
  },
)

test.skipIf(isShortRun)(
  'bursts of searches on closed connections do not delay other requests',
  async () => {
    const { byId, cached, ready, lists } = await withServer(large, abandonedBursts)
    expectWithin('abandoned bursts: by id', byId, ok, 250)
    expectWithin('  cached', cached, ok)
    expectWithin('  /readyz', ready, ok)
    expectWithin('  lists', lists, ok)
  },
)

test.skipIf(isShortRun).for([64, 400])(
  '%i clients that search constantly do not delay other requests',
  async (clients) => {
    const timings = await withServer(large, (server) => flood(server, clients))
    expectWithin(`${clients} search clients: searches`, timings.searches, [200, 503], 1000)
    expectWithin('  by id', timings.byId, ok, 100)
    expectWithin('  cached', timings.cached, ok)
    expectWithin('  /readyz', timings.ready, ok, 100)
    expectWithin('  by id, afterwards', timings.afterwards, ok)
  },
)

test.skipIf(isShortRun)(
  '2,000 connections that read the list get responses, and so do other requests',
  async () => {
    const { list, byId, cached, ready, memory } = await withServer(large, manyConnections)
    expectWithin('2,000 connections: hot list', list, ok)
    expectWithin('  by id', byId, ok, 250)
    expectWithin('  cached', cached, ok, 250)
    expectWithin('  /readyz', ready, ok)
    recordRow('  memory', `at most ${memory} MB`)
  },
)

test.skipIf(isShortRun)('no small request blocks the event loop', async () => {
  const { refused, valid } = await withServer(large, measureStalls)
  const worst = (stalls: Stalls) => Math.max(...Object.values(stalls).map(({ stall }) => stall))
  recordRow(
    'refused: longest stall',
    `${worst(refused).toFixed(1)} ms`,
    `< ${maxMilliseconds.refused} ms`,
  )
  recordRow(
    'valid: longest stall',
    `${worst(valid).toFixed(1)} ms`,
    `< ${maxMilliseconds.valid} ms`,
  )
  expect(new Set(Object.values(refused).map(({ status }) => status))).toEqual(new Set([400]))
  expect(new Set(Object.values(valid).map(({ status }) => status))).toEqual(new Set([200]))
  expect(worst(refused)).toBeLessThan(allowedFactor * slowness * maxMilliseconds.refused)
  expect(worst(valid)).toBeLessThan(allowedFactor * slowness * maxMilliseconds.valid)
})
