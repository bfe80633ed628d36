import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ask, hasPostgres } from '../support/postgres.ts'
import { serve } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { isShortRun } from '../support/short-run.ts'
import { createWorld } from '../support/world.ts'
import { startDatabase } from './postgres.ts'

/** Run in parallel, each with its own database. */
const servers = isShortRun ? 2 : 5
const hangsOfEach = isShortRun ? 1 : 4

const hangSeconds = 12
const maxSecondsUntilWritten = 40
const giveUpSeconds = 90

/** The requests sent during a hang; `writes` includes probes. */
const trafficKinds = ['writes', 'none', 'probes'] as const
type Traffic = (typeof trafficKinds)[number]

type Hang = {
  traffic: Traffic
  /** Seconds from healing to the first 201, and to the first 200 of /readyz. */
  written: number
  ready: number
  /** Whether the next create after that was a 201. */
  canWrite: boolean
  /**
   * The number of /readyz responses during the hang, by status. Later ones are of a network that
   * has healed.
   */
  probes: Record<string, number>
}

const secondsSince = (begin: number) => Number(((performance.now() - begin) / 1000).toFixed(1))

/** Hangs a server's network repeatedly, while clients write or wait until it has healed. */
async function hangRepeatedly(number: number): Promise<Hang[]> {
  const [[address], { keys }] = await startDatabase(createWorld)
  const proxy = await startProxy(address)
  const server = await serve(proxy.address, { WRITE_LIMIT: '0' })
  const statuses = new Map<string, number>()

  async function create(): Promise<boolean> {
    const app = `App ${statuses.size}`
    statuses.set(app, 0)
    const json = { name: app, description: 'Written once.', category_id: 1 }
    const { status } = await server.request('POST', '/apps', { key: keys.ada, json })
    statuses.set(app, status)
    expect([201, 503]).toContain(status)
    return status === 201
  }
  const readiness = async () => (await server.request('GET', '/readyz')).status
  const createAtOnce = (count: number) => Promise.all(Array.from({ length: count }, create))

  async function round(traffic: Traffic): Promise<Hang> {
    // The maximum number of connections, so that all of them hang.
    expect(await createAtOnce(20)).not.toContain(false)
    expect(await readiness()).toBe(200)
    const probes: Record<string, number> = {}
    const requests: Promise<unknown>[] = []
    let isHanging = true
    const probe = async () => {
      const status = await readiness()
      if (isHanging) probes[status] = (probes[status] ?? 0) + 1
    }
    proxy.hang()
    for (let second = 0; second < hangSeconds; second++) {
      if (traffic === 'writes') requests.push(createAtOnce(2))
      if (traffic !== 'none') requests.push(probe())
      await delay(1000)
    }
    isHanging = false
    proxy.heal()
    const begin = performance.now()
    const isOver = () => secondsSince(begin) > giveUpSeconds
    const until = async (isDone: () => Promise<boolean>) => {
      while (!(await isDone())) {
        if (isOver()) return Number.POSITIVE_INFINITY
        await delay(200)
      }
      return secondsSince(begin)
    }
    const never = delay(giveUpSeconds * 1000, Number.POSITIVE_INFINITY)
    const writers = [1, 2, 3].map(() => until(create))
    const first = Promise.race([never, ...writers])
    const ready = Promise.race([never, until(async () => (await readiness()) === 200)])
    const isReady = Number.isFinite(await ready)
    const canWrite = isReady && (await Promise.race([create(), never])) === true
    // Wait for all creates before reading the rows, or one that ends meanwhile would look lost.
    await Promise.race([never, Promise.all([...requests, ...writers])])
    return { traffic, written: await first, ready: await ready, canWrite, probes }
  }

  const hangs: Hang[] = []
  for (let count = 0; count < hangsOfEach; count++) {
    hangs.push(await round(trafficKinds[(number + count) % trafficKinds.length] ?? 'none'))
  }

  const rows = await ask<{ name: string }>(address, `select name from apps where name like 'App %'`)
  const names = rows.map((row) => row.name)
  expect(names).toHaveLength(new Set(names).size)
  for (const [app, status] of statuses) if (status === 201) expect(names).toContain(app)
  return hangs
}

test.skipIf(!hasPostgres)(
  `when the network to PostgreSQL hangs for ${hangSeconds} s, /readyz reports it, writes work again within ${maxSecondsUntilWritten} s, and none is lost or duplicated`,
  async () => {
    const numbers = Array.from({ length: servers }, (_, index) => index)
    const hangs = (await Promise.all(numbers.map(hangRepeatedly))).flat()
    for (const each of hangs) console.log('hang:', each)
    console.log(
      `${hangs.length} hangs, seconds until the first 201:`,
      hangs.map(({ written }) => written).join(' '),
    )
    for (const { traffic, written, ready, canWrite, probes } of hangs) {
      expect(Object.keys(probes)).toEqual(traffic === 'none' ? [] : ['503'])
      expect(canWrite).toBe(true)
      expect(Math.max(written, ready)).toBeLessThanOrEqual(maxSecondsUntilWritten)
    }
  },
)
