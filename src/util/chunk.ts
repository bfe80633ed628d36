/** A list in parts of so many, of which the last may have fewer. */
export function* slices<T>(values: readonly T[], length: number): Generator<T[]> {
  for (let first = 0; first < values.length; first += length) yield values.slice(first, first + length)
}
