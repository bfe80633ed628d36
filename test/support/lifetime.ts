import { afterAll, beforeAll, onTestFinished } from 'vitest'

type Cleanup = () => unknown

let shared: Cleanup[] | undefined

/** Calls the function when the test ends, or after all tests that share what it cleans up. */
export function whenFinished(cleanup: Cleanup) {
  if (shared) shared.push(cleanup)
  else onTestFinished(async () => void (await cleanup()))
}

/** What is started here lasts for all tests of the file or group. */
export function share(start: () => Promise<void>) {
  const cleanups: Cleanup[] = []
  beforeAll(async () => {
    shared = cleanups
    await start().finally(() => {
      shared = undefined
    })
  })
  // Also runs if the start fails or takes too long.
  afterAll(async () => {
    shared = undefined
    const errors: unknown[] = []
    // If one fails, the others still run, or a server would keep the worker from exiting.
    for (const cleanup of cleanups.toReversed())
      await Promise.try(cleanup).catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  })
}
