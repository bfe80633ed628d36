import { expect, inject } from 'vitest'
import { openEngine } from '../../src/db/database.ts'
import type { Service } from './service.ts'

/** How much work of each kind there is room for at once. Of any database of the engine: nothing is opened. */
export const { concurrency } = openEngine(inject('engine') === 'sqlite' ? 'sqlite:none' : 'postgres://none/none')

/** Work of a kind that takes all its room, and ends when it is let go. */
export async function saturate(begin: (work: () => Promise<void>) => Promise<unknown>, width: number) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let begun = 0
  const held = Array.from({ length: width }, () =>
    begin(() => {
      begun++
      return released
    }),
  )
  await expect.poll(() => begun).toBe(width)
  return async () => {
    release()
    await Promise.all(held)
  }
}

/** How much waits for its turn to write. */
export const countQueuedWrites = ({ database }: Service) =>
  database.usage().pools.find(({ name }) => name === 'writer')?.waiting
