/** A list in parts of so many, of which the last may have fewer. */
export function* chunk<T>(values: readonly T[], size: number): Generator<T[]> {
  for (let first = 0; first < values.length; first += size) yield values.slice(first, first + size)
}
