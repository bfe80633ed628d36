import { onTestFinished } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'

/**
 * Begins a transaction that stays open after its work, until the function that it returns is called
 * or the test ends.
 */
export async function holdWrite(
  database: Database,
  work: (runner: QueryRunner) => Promise<unknown> = async () => {},
): Promise<() => Promise<void>> {
  const worked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  onTestFinished(() => released.resolve())
  const running = database.write(async (runner) => {
    await work(runner)
    worked.resolve()
    await released.promise
  })
  await Promise.race([worked.promise, running])
  return () => {
    released.resolve()
    return running
  }
}
