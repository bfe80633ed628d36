import { type Search, searches, searchKinds, warmUpSearches } from './addresses.ts'
import { timesOf } from './client.ts'
import { figure, type Section } from './report.ts'
import type { Scale } from './scale.ts'
import { startService } from './servers.ts'
import { median, quantile, ratios } from './statistics.ts'

/**
 * How long searches take: each once by a server that has not met it, then all a second and a third
 * time. From the second time on an answer may be kept, so the third shows a kept one. In each round
 * the servers begin anew.
 */

const repetitions = ['cold', 'second time', 'third time'] as const

/** Milliseconds of each of the searches, by repetition, in a round. */
type Times = Map<number, number[][][]>

export async function measureSearches(
  files: Map<number, string>,
  folder: string,
  scale: Scale,
): Promise<Section> {
  const asked = searches(scale.searches)
  const times: Times = new Map([...files.keys()].map((size) => [size, repetitions.map(() => [])]))
  for (let round = 0; round < scale.searchRounds; round++) {
    for (const [size, file] of files) {
      for (const [repetition, ofTurn] of (await ask(asked, file, folder)).entries())
        times.get(size)?.[repetition]?.push(ofTurn)
    }
  }
  return sectionOf(asked, times, scale)
}

async function ask(asked: Search[], file: string, folder: string): Promise<number[][]> {
  const { origin, stop } = await startService(file, folder)
  const times: number[][] = []
  try {
    await timesOf(warmUpSearches(asked.length / 10).map((target) => ({ origin, target })))
    const requests = asked.map(({ target }) => ({ origin, target }))
    for (const _ of repetitions) times.push(await timesOf(requests))
    return times
  } finally {
    await stop()
  }
}

function sectionOf(asked: Search[], times: Times, { sizes }: Scale): Section {
  /** The times of a repetition of the searches that are wanted, by round. */
  const of = (
    size: number,
    repetition: (typeof repetitions)[number],
    isWanted: (search: Search) => boolean,
  ) =>
    (times.get(size)?.[repetitions.indexOf(repetition)] ?? []).map((round) =>
      round.filter((_, index) => asked[index] !== undefined && isWanted(asked[index])),
    )
  const best = ({ isSorted }: Search) => !isSorted
  const sorted = ({ isSorted }: Search) => isSorted
  const middle = (rounds: number[][]) => rounds.map(median)
  const worst = (rounds: number[][]) => rounds.map((round) => quantile(round, 0.99))

  const largest = sizes.at(-1) ?? 0
  const smallest = sizes[0] ?? 0
  const named = sizes.map((size) => `${size.toLocaleString('en')} apps`)
  const bySize = repetitions.flatMap((repetition) => [
    [
      `${repetition}, p50`,
      ...sizes.map((size) => figure(middle(of(size, repetition, best)), 'milliseconds')),
    ],
    [
      `${repetition}, p99`,
      ...sizes.map((size) => figure(worst(of(size, repetition, best)), 'milliseconds')),
    ],
    [
      `${repetition}, sort given, p99`,
      ...sizes.map((size) => figure(worst(of(size, repetition, sorted)), 'milliseconds')),
    ],
  ])
  const byKind = searchKinds.map((kind) => {
    const ofKind = of(largest, 'cold', (search) => best(search) && search.kind === kind)
    return [kind, figure(middle(ofKind), 'milliseconds'), figure(worst(ofKind), 'milliseconds')]
  })
  /** Against the smallest catalogue in the same round: milliseconds say more about the machine. */
  const must = (
    what: string,
    figureOf: typeof middle,
    repetition: (typeof repetitions)[number],
    isWanted: typeof best,
    atMost: number,
  ) =>
    ({
      what: `${what}, ${largest.toLocaleString('en')} / ${smallest.toLocaleString('en')}`,
      values: ratios(
        figureOf(of(largest, repetition, isWanted)),
        figureOf(of(smallest, repetition, isWanted)),
      ),
      bound: { atMost },
      unit: 'ratio',
    }) as const
  return {
    title: 'Searches',
    growth: [
      {
        name: 'search',
        values: sizes.map((size) => median(middle(of(size, 'cold', best)))),
      },
    ],
    tables: [
      { head: ['', ...named], rows: bySize },
      { head: [`cold, ${named.at(-1)}`, 'p50', 'p99'], rows: byKind },
    ],
    musts: [
      must('search, p50', middle, 'cold', best, 3),
      must('search, p99', worst, 'cold', best, 10),
      must('search with sort, p99', worst, 'cold', sorted, 10),
      must('search, second time, p50', middle, 'second time', best, 1.5),
    ],
  }
}
