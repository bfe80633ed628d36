import { onTestFinished } from 'vitest'

type Cleanup = () => unknown

let shared: Cleanup[] | undefined

/** Calls the function when the test ends, or after all tests that share what it cleans up. */
export function whenFinished(cleanup: Cleanup) {
  if (shared) shared.push(cleanup)
  else onTestFinished(async () => void (await cleanup()))
}

/**
 * For `beforeAll`: what is started here lasts for all its tests. Returns the function that ends it.
 */
export async function share(start: () => Promise<void>): Promise<() => Promise<void>> {
  const cleanups: Cleanup[] = []
  shared = cleanups
  await start().finally(() => {
    shared = undefined
  })
  return async () => {
    const errors: unknown[] = []
    // If one fails, the others still run, or a server would keep the worker from exiting.
    for (const cleanup of cleanups.toReversed())
      await Promise.try(cleanup).catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
}
