import { firstPages, itemPaths, middlePages, splitEvenly } from './addresses.ts'
import { timesOf } from './client.ts'
import { figure, type Section } from './report.ts'
import type { Scale } from './scale.ts'
import { hotList, type Server, startService } from './servers.ts'
import { median, ratios } from './statistics.ts'

/**
 * How response times grow with the catalogue: single requests, one after the other, to idle
 * servers.
 */

type Kind = {
  name: string
  /** The paths to request of a catalogue in a round; round 0 is the warm-up. */
  paths: (size: number, round: number) => readonly string[]
}

export async function measureGrowth(
  files: Map<number, string>,
  folder: string,
  scale: Scale,
): Promise<Section> {
  const servers = new Map<number, Server>()
  try {
    for (const [size, file] of files) servers.set(size, await startService(file, folder))
    const kinds = kindsOf(scale)
    const results = await measureAll(kinds, servers, scale.rounds)
    return sectionOf(kinds, results, scale)
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()))
  }
}

function kindsOf({ sizes, rounds, timed }: Scale): Kind[] {
  const first = splitEvenly(firstPages(), rounds + 1)
  const middle = new Map(sizes.map((size) => [size, splitEvenly(middlePages(size), rounds + 1)]))
  const apps = new Map(sizes.map((size) => [size, splitEvenly(itemPaths(size), rounds + 1)]))
  const some = (paths: readonly string[] = []) => paths.slice(0, timed)
  return [
    { name: 'first page, cold', paths: (_, round) => some(first[round]) },
    { name: 'middle page, cold', paths: (size, round) => some(middle.get(size)?.[round]) },
    { name: 'one app, cold', paths: (size, round) => some(apps.get(size)?.[round]) },
    { name: 'first page, hot', paths: () => Array.from({ length: timed }, () => hotList) },
  ]
}

/** For each kind and catalogue size, the median of each round in milliseconds. */
type Results = Map<Kind, Map<number, number[]>>

async function measureAll(
  kinds: Kind[],
  servers: Map<number, Server>,
  rounds: number,
): Promise<Results> {
  const results: Results = new Map(
    kinds.map((kind) => [kind, new Map([...servers.keys()].map((size) => [size, []]))]),
  )
  for (let round = 0; round <= rounds; round++) {
    for (const kind of kinds) {
      const requests = alternateRequests(kind, round, servers)
      const times = await timesOf(requests)
      if (round === 0) continue
      for (const [size, medians] of results.get(kind) ?? []) {
        medians.push(median(times.filter((_, index) => requests[index]?.size === size)))
      }
    }
  }
  return results
}

/**
 * The first request of each catalogue, then the second of each, so that a disturbance on the
 * machine affects them all.
 */
function alternateRequests(kind: Kind, round: number, servers: Map<number, Server>) {
  const all = [...servers].map(([size, { origin }]) =>
    kind.paths(size, round).map((target) => ({ size, origin, target })),
  )
  const longest = Math.max(...all.map((requests) => requests.length))
  return Array.from({ length: longest }, (_, index) =>
    all.flatMap((requests) => requests[index] ?? []),
  ).flat()
}

function sectionOf(kinds: Kind[], results: Results, { sizes }: Scale): Section {
  const [smallest = 0, largest = 0] = [sizes[0], sizes.at(-1)]
  const of = (kind: Kind, size: number) => results.get(kind)?.get(size) ?? []
  const growth = (kind: Kind) => ratios(of(kind, largest), of(kind, smallest))
  const rows = kinds.map((kind) => [
    kind.name,
    ...sizes.map((size) => figure(of(kind, size), 'milliseconds')),
    figure(growth(kind), 'ratio'),
  ])
  const [firstPage] = kinds
  return {
    title: 'Latency by catalogue size',
    growth: kinds
      .filter(({ name }) => name.endsWith('cold'))
      .map((kind) => ({
        name: kind.name.replace(', cold', ''),
        values: sizes.map((size) => median(of(kind, size))),
      })),
    tables: [
      {
        head: [
          '',
          ...sizes.map((size) => `${size.toLocaleString('en')} apps`),
          'largest / smallest',
        ],
        rows,
      },
    ],
    musts: [
      {
        what: `first page, cold, ${largest.toLocaleString('en')} / ${smallest.toLocaleString('en')}`,
        values: firstPage ? growth(firstPage) : [],
        bound: { atMost: 1.2 },
        unit: 'ratio',
      },
    ],
  }
}
