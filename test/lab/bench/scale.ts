/** The size of a run. Times are in seconds. */
export type Scale = Readonly<{
  /** Apps in each catalogue, in ascending order. */
  sizes: readonly number[]
  /** The size of the catalogue for comparisons with peers. */
  compared: number
  /** Repetitions of throughput and growth. In each round, all servers take turns. */
  rounds: number
  loadTime: number
  warmUpTime: number
  /** Requests per kind and round when measuring growth. */
  timed: number
  searches: number
  searchRounds: number
  imports: readonly { apps: number; rounds: number }[]
  starts: number
}>

export const scales = {
  full: {
    sizes: [10_000, 200_000, 1_000_000],
    compared: 200_000,
    rounds: 5,
    loadTime: 3,
    warmUpTime: 2,
    timed: 200,
    searches: 600,
    searchRounds: 3,
    imports: [
      { apps: 100_000, rounds: 3 },
      { apps: 1_000_000, rounds: 1 },
    ],
    starts: 9,
  },
  /** Under three minutes. */
  quick: {
    sizes: [10_000, 50_000],
    compared: 50_000,
    rounds: 3,
    loadTime: 1,
    warmUpTime: 1,
    timed: 40,
    searches: 130,
    searchRounds: 1,
    imports: [{ apps: 10_000, rounds: 1 }],
    starts: 3,
  },
  /** Only checks that the benchmark still works; its figures mean nothing. */
  trial: {
    sizes: [500, 2000],
    compared: 2000,
    rounds: 1,
    loadTime: 0.5,
    warmUpTime: 0,
    timed: 5,
    searches: 39,
    searchRounds: 1,
    imports: [{ apps: 500, rounds: 1 }],
    starts: 1,
  },
} as const satisfies Record<string, Scale>
