import { deepStrictEqual } from 'node:assert'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { required } from '../../../src/util/helpers.ts'
import { itemPaths, missingItem, nearPages, nearPagesOfAll, splitEvenly } from './addresses.ts'
import { get } from './client.ts'
import { type Load, putUnderLoad, type Throughput } from './load.ts'
import { barChart, figure, type Section, type Target } from './report.ts'
import type { Scale } from './scale.ts'
import {
  hotItem,
  hotList,
  type Server,
  startFastify,
  startFrameworks,
  startService,
  startStaticServers,
} from './servers.ts'
import { median, ratios } from './statistics.ts'

/** Requests per second of the service and its peers, measured in the same rounds. */

const serverNames = {
  bare: 'node:http',
  express: 'Express',
  fastify: 'fastify + node:sqlite',
  frameworks: 'the frameworks alone',
  service: 'this service',
}
type ServerName = keyof typeof serverNames
type Servers = Record<ServerName, Server>

type Case = {
  name: string
  servers: readonly ServerName[]
  /** The paths to request in a round; round 0 is the warm-up. */
  paths: (round: number) => readonly string[]
  /** Whether no path is requested twice, in any round. */
  once?: true
  status?: 404
  /** Whether another process creates and approves an app each second. */
  withWrites?: true
}

export async function measureThroughput(
  databaseFile: string,
  folder: string,
  scale: Scale,
): Promise<Section> {
  const service = await startService(databaseFile, folder)
  const servers: Servers = {
    service,
    ...(await startStaticServers(service, folder)),
    fastify: await startFastify(databaseFile, folder),
    frameworks: await startFrameworks(databaseFile, folder),
  }
  try {
    await assertSameResponses(servers)
    const cases = casesOf(scale)
    const results = await measureAll(cases, servers, databaseFile, folder, scale)
    return sectionOf(cases, results, scale, service.memory())
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
  }
}

function casesOf({ compared, rounds }: Scale): Case[] {
  const lists = splitEvenly(nearPages(compared), rounds + 1)
  const listsOfAll = splitEvenly(nearPagesOfAll(compared), rounds + 1)
  const apps = splitEvenly(itemPaths(compared), rounds + 1)
  const all = ['bare', 'express', 'fastify', 'frameworks', 'service'] as const
  const withDatabase = ['fastify', 'frameworks', 'service'] as const
  return [
    { name: 'hot list', servers: all, paths: () => [hotList] },
    { name: 'hot item', servers: all, paths: () => [hotItem] },
    { name: 'hot list + writes', servers: ['service'], paths: () => [hotList], withWrites: true },
    {
      name: 'cold list',
      servers: withDatabase,
      paths: (round) => required(lists[round], `round ${round}`),
      once: true,
    },
    {
      name: 'cold list of all apps',
      servers: ['frameworks', 'service'],
      paths: (round) => required(listsOfAll[round], `round ${round}`),
      once: true,
    },
    {
      name: 'cold item',
      servers: withDatabase,
      paths: (round) => required(apps[round], `round ${round}`),
      once: true,
    },
    { name: 'not found', servers: withDatabase, paths: () => [missingItem], status: 404 },
  ]
}

/**
 * Fails if a peer's statuses or data differ from the service's: their speeds could not be compared.
 * Messages may differ.
 */
async function assertSameResponses({ service, fastify, frameworks }: Servers) {
  const targets = [
    hotList,
    '/apps?page=2&limit=7',
    '/apps?sort=rating&category=category-3',
    '/apps?category=none',
    '/apps?page=900000&sort=popular',
    hotItem,
    '/apps/2',
    missingItem,
  ]
  for (const target of targets) {
    const ours = await get(service.origin, target)
    for (const [name, peer] of Object.entries({ fastify, frameworks })) {
      deepStrictEqual(
        contentOf(await get(peer.origin, target)),
        contentOf(ours),
        `the response of ${name} to ${target} differs from the service's`,
      )
    }
  }
}

const contentOf = ({ status, body }: { status: number; body: Buffer }) => {
  const { success, data } = JSON.parse(String(body))
  return { status, success, data }
}

type Results = Map<Case, Map<ServerName, Throughput[]>>

async function measureAll(
  cases: Case[],
  servers: Servers,
  databaseFile: string,
  folder: string,
  { rounds, loadTime, warmUpTime }: Scale,
): Promise<Results> {
  const results: Results = new Map(
    cases.map((one) => [one, new Map(one.servers.map((name) => [name, []]))]),
  )
  const first = warmUpTime > 0 ? 0 : 1
  for (let round = first; round <= rounds; round++) {
    for (const one of cases) {
      const load: Load = {
        paths: one.paths(round),
        once: one.once ?? false,
        seconds: round === 0 ? warmUpTime : loadTime,
        status: one.status ?? 200,
      }
      for (const name of one.servers) {
        const measure = () => putUnderLoad(load, servers[name].origin, folder)
        const throughput = await (one.withWrites ? whileWriting(databaseFile, measure) : measure())
        if (round > 0) results.get(one)?.get(name)?.push(throughput)
      }
    }
  }
  return results
}

async function whileWriting<T>(databaseFile: string, work: () => Promise<T>): Promise<T> {
  const writer = fork(`${import.meta.dirname}/writer.ts`, [databaseFile])
  const exited = once(writer, 'exit')
  try {
    await Promise.race([
      once(writer, 'message'),
      exited.then(() => Promise.reject(new Error('the writer exited'))),
    ])
    const result = await work()
    if (writer.exitCode !== null) throw new Error(`the writer exited with ${writer.exitCode}`)
    return result
  } finally {
    writer.kill()
    await exited
  }
}

function sectionOf(
  cases: Case[],
  results: Results,
  { compared }: Scale,
  memory: number | undefined,
): Section {
  /** One value per round; none if the case does not use that server. */
  const measured = (one: Case, name: ServerName) => results.get(one)?.get(name) ?? []
  const perSecond = (one: Case, name: ServerName) =>
    measured(one, name).map((throughput) => throughput.perSecond)
  const rows = cases.map((one) => [
    one.name,
    ...(Object.keys(serverNames) as ServerName[]).map((name) =>
      figure(perSecond(one, name), 'perSecond'),
    ),
    figure(
      measured(one, 'service').map(({ p99 }) => p99),
      'milliseconds',
    ),
  ])
  const caseNamed = (name: string) =>
    required(
      cases.find((one) => one.name === name),
      `case ${name}`,
    )
  const target = (
    what: string,
    name: string,
    other: string,
    server: ServerName,
    atLeast: number,
  ): Target => ({
    what,
    values: ratios(perSecond(caseNamed(name), 'service'), perSecond(caseNamed(other), server)),
    bound: { atLeast },
    unit: 'ratio',
  })
  const musts = [
    target('hot list / Express', 'hot list', 'hot list', 'express', 0.65),
    target('hot item / Express', 'hot item', 'hot item', 'express', 0.65),
    target('hot list + writes / hot list', 'hot list + writes', 'hot list', 'service', 0.8),
    target('cold list / fastify', 'cold list', 'cold list', 'fastify', 0.35),
    target('cold item / fastify', 'cold item', 'cold item', 'fastify', 0.3),
    target('hot list / frameworks', 'hot list', 'hot list', 'frameworks', 6),
    target(
      'cold list of all apps / frameworks',
      'cold list of all apps',
      'cold list of all apps',
      'frameworks',
      5,
    ),
    target('cold item / frameworks', 'cold item', 'cold item', 'frameworks', 2.2),
  ]
  if (memory !== undefined) {
    const values = [memory / 2 ** 20]
    musts.push({
      what: 'server memory after the loads',
      values,
      bound: { atMost: 350 },
      unit: 'mebibytes',
    })
  }
  const cores = cases.flatMap((one) =>
    one.servers.map((name) => median(measured(one, name).map(({ cores }) => cores))),
  )
  const bars = ['hot list', 'cold list'].map(caseNamed).flatMap((one) =>
    one.servers.map((name) => ({
      label: `${one.name}: ${serverNames[name]}`,
      value: median(perSecond(one, name)),
    })),
  )
  return {
    title: `Throughput in requests per second, ${compared.toLocaleString('en')} apps`,
    text: `The load generator used at most ${Math.max(...cores).toFixed(2)} of a core.`,
    tables: [{ head: ['', ...Object.values(serverNames), 'p99 of this service'], rows }],
    musts,
    details: barChart(
      bars.map(({ label }) => label),
      'requests per second',
      bars.map(({ value }) => value),
    ),
  }
}
