import { setImmediate } from 'node:timers/promises'

/**
 * Returns a value that the surrounding code guarantees. Throws an error that names `what` if it is
 * missing.
 */
export function required<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`)
  return value
}

/** Splits a list into lists of `size` values; the last may be shorter. */
export function* chunk<T>(values: readonly T[], size: number): Generator<T[]> {
  for (let first = 0; first < values.length; first += size) yield values.slice(first, first + size)
}

/**
 * The values, each in its own turn of the event loop, so that work on many of them does not
 * delay other requests. Throws the reason of the signal once it is aborted.
 */
export async function* yieldBetween<T>(
  values: Iterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, void> {
  for (const value of values) {
    await setImmediate()
    signal?.throwIfAborted()
    yield value
  }
}

/** A copy of the object with only these fields. */
export const pick = <T extends object, Key extends keyof T>(
  object: T,
  ...keys: Key[]
): Pick<T, Key> => Object.fromEntries(keys.map((key) => [key, object[key]])) as Pick<T, Key>

/** Whole seconds; 0 for a time in the future. */
export const secondsSince = (time: string): number =>
  Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 1000))
