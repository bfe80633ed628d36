/** The seed of random tests, a new one in each run unless FUZZ_SEED gives it. Failures print it. */
export const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))

export type Random = ReturnType<typeof randomFrom>

/** Random numbers that are the same for the same seed (mulberry32). */
export function randomFrom(seed: number) {
  let state = seed

  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  function at<T>(list: readonly T[], index: number): T {
    const item = list[index]
    if (item === undefined) throw new Error('cannot pick from an empty list')
    return item
  }

  return {
    next,
    pick: <T>(list: readonly T[]) => at(list, Math.floor(next() * list.length)),
    /** Picks the nth item about n times less often than the first (Zipf's law). */
    pickZipf: <T>(list: readonly T[]) => at(list, Math.floor((list.length + 1) ** next()) - 1),
    shuffled: <T>(list: readonly T[]) =>
      list
        .map((item) => ({ item, place: next() }))
        .sort((a, b) => a.place - b.place)
        .map(({ item }) => item),
  }
}
