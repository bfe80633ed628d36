import { expect, inject } from 'vitest'
import { openPostgres } from '../../src/db/postgres/engine.ts'
import { openSqlite } from '../../src/db/sqlite/engine.ts'

/** The concurrency of each kind of work on the engine. Opens no connection. */
export const { concurrency } =
  inject('engine') === 'sqlite'
    ? openSqlite('none')
    : openPostgres({ name: '', connectionString: 'postgres://none/none', connectTimeout: 1 })

/** Occupies the whole bulkhead of a kind of work until released. */
export async function saturate(
  begin: (work: () => Promise<void>) => Promise<unknown>,
  slots: number,
) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let begun = 0
  const running = Array.from({ length: slots }, () =>
    begin(() => {
      begun++
      return released
    }),
  )
  await expect.poll(() => begun).toBe(slots)
  return async () => {
    release()
    await Promise.all(running)
  }
}
