/** Splits a list into lists of `size` values; the last may be shorter. */
export function* chunk<T>(values: readonly T[], size: number): Generator<T[]> {
  for (let first = 0; first < values.length; first += size) yield values.slice(first, first + size)
}
