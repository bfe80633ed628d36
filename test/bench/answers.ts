import { deepStrictEqual } from 'node:assert'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { items, missingItem, nearPages, splitEvenly } from './addresses.ts'
import { get } from './client.ts'
import { type Load, put, type Throughput } from './load.ts'
import { throughputPlot } from './plots.ts'
import { figure, type Section, type Target } from './report.ts'
import type { Scale } from './scale.ts'
import { hotItem, hotList, type Server, startFastify, startService, startStaticServers } from './servers.ts'
import { median, ratios } from './statistics.ts'

/** How many requests a second are answered, beside peers that are measured in the same rounds. */

const names = { bare: 'node:http', express: 'Express', fastify: 'fastify + node:sqlite', service: 'this service' }
type Name = keyof typeof names
type Servers = Record<Name, Server>

type Case = {
  name: string
  by: readonly Name[]
  /** Of a round; 0 is the warm-up. */
  addresses: (round: number) => readonly string[]
  /** No address is asked for again, in any round. */
  once?: true
  status?: 404
  /** An app is created and approved each second meanwhile. */
  written?: true
}

export async function measureAnswers(databaseFile: string, folder: string, scale: Scale): Promise<Section> {
  const service = await startService(databaseFile, folder)
  const servers: Servers = {
    service,
    ...(await startStaticServers(service, folder)),
    fastify: await startFastify(databaseFile, folder),
  }
  try {
    await assertSameResponses(servers)
    const cases = casesOf(scale)
    const results = await measureAll(cases, servers, databaseFile, folder, scale)
    return await sectionOf(cases, results, scale, service.memory())
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
  }
}

function casesOf({ compared, rounds }: Scale): Case[] {
  const lists = splitEvenly(nearPages(compared), rounds + 1)
  const apps = splitEvenly(items(compared), rounds + 1)
  const all = ['bare', 'express', 'fastify', 'service'] as const
  const reading = ['fastify', 'service'] as const
  return [
    { name: 'hot list', by: all, addresses: () => [hotList] },
    { name: 'hot item', by: all, addresses: () => [hotItem] },
    { name: 'hot list + writes', by: ['service'], addresses: () => [hotList], written: true },
    { name: 'cold list', by: reading, addresses: (round) => lists[round] ?? [], once: true },
    { name: 'cold item', by: reading, addresses: (round) => apps[round] ?? [], once: true },
    { name: 'not found', by: reading, addresses: () => [missingItem], status: 404 },
  ]
}

/** A peer that answered otherwise would be none. */
async function assertSameResponses({ service, fastify }: Servers) {
  const lists = [
    '',
    '?page=2&limit=7',
    '?sort=rating&category=category-3',
    '?category=none',
    '?page=900000&sort=popular',
  ]
  for (const target of [...lists.map((query) => `/apps${query}`), hotItem, '/apps/2', missingItem]) {
    const [ours, theirs] = await Promise.all([get(service.origin, target), get(fastify.origin, target)])
    deepStrictEqual(contentOf(theirs), contentOf(ours), `a peer's response to ${target} differs from the service's`)
  }
}

const contentOf = ({ status, body }: { status: number; body: Buffer }) => ({ status, body: JSON.parse(String(body)) })

type Results = Map<Case, Map<Name, Throughput[]>>

async function measureAll(
  cases: Case[],
  servers: Servers,
  databaseFile: string,
  folder: string,
  { rounds, loadTime, warmUpTime }: Scale,
): Promise<Results> {
  const results: Results = new Map(cases.map((one) => [one, new Map(one.by.map((name) => [name, []]))]))
  const first = warmUpTime > 0 ? 0 : 1
  for (let round = first; round <= rounds; round++) {
    for (const one of cases) {
      const load: Load = {
        addresses: one.addresses(round),
        once: one.once ?? false,
        seconds: round === 0 ? warmUpTime : loadTime,
        status: one.status ?? 200,
      }
      for (const name of one.by) {
        const measure = () => put(load, servers[name].origin, folder)
        const throughput = await (one.written ? whileWriting(databaseFile, measure) : measure())
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
    await Promise.race([once(writer, 'message'), exited.then(() => Promise.reject(new Error('the writer exited')))])
    const result = await work()
    if (writer.exitCode !== null) throw new Error(`the writer exited with ${writer.exitCode}`)
    return result
  } finally {
    writer.kill()
    await exited
  }
}

async function sectionOf(
  cases: Case[],
  results: Results,
  { compared }: Scale,
  memory: number | undefined,
): Promise<Section> {
  const shown = Object.keys(names) as Name[]
  const perSecond = (one: Case, name: Name) =>
    results
      .get(one)
      ?.get(name)
      ?.map((measured) => measured.perSecond) ?? []
  const late = (one: Case) =>
    results
      .get(one)
      ?.get('service')
      ?.map(({ p99 }) => p99) ?? []
  const rows = cases.map((one) => [
    one.name,
    ...shown.map((name) => figure(perSecond(one, name), 'perSecond')),
    figure(late(one), 'milliseconds'),
  ])
  const of = (name: string) => {
    const found = cases.find((one) => one.name === name)
    if (!found) throw new Error(`no case ${name}`)
    return found
  }
  const ratio = (name: string, other: string, peer: Name) =>
    ratios(perSecond(of(name), 'service'), perSecond(of(other), peer))
  const must = (what: string, values: number[], atLeast: number): Target => ({
    what,
    values,
    bound: { atLeast },
    unit: 'ratio',
  })
  const musts = [
    must('hot list / node:http', ratio('hot list', 'hot list', 'bare'), 0.5),
    must('hot item / node:http', ratio('hot item', 'hot item', 'bare'), 0.5),
    must('hot list + writes / hot list', ratio('hot list + writes', 'hot list', 'service'), 0.8),
    must('cold list / fastify', ratio('cold list', 'cold list', 'fastify'), 0.6),
    must('cold item / fastify', ratio('cold item', 'cold item', 'fastify'), 0.35),
  ]
  if (memory !== undefined) {
    const values = [memory / 2 ** 20]
    musts.push({ what: 'server memory after the loads', values, bound: { atMost: 350 }, unit: 'mebibytes' })
  }
  const cores = cases.flatMap((one) =>
    [...(results.get(one)?.values() ?? [])].map((all) => median(all.map(({ cores }) => cores))),
  )
  return {
    title: `Throughput in requests per second, ${compared.toLocaleString('en')} apps`,
    text: `The load generator used at most ${Math.max(...cores).toFixed(2)} of a core.`,
    tables: [{ head: ['', ...Object.values(names), 'p99 of this service'], rows }],
    musts,
    plots: [
      await throughputPlot(
        cases.flatMap((one) =>
          one.by.map((name) => ({ case: one.name, server: names[name], perSecond: perSecond(one, name) })),
        ),
      ),
    ],
  }
}
