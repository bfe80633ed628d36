import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import type { Engine } from './engine.ts'
import type { EngineTools } from './tools.ts'

/** Parts of writes that run as several transactions, such as an import. */

/**
 * Milliseconds. A pause is longer than the 100 ms for which a waiting SQLite writer may sleep
 * (https://sqlite.org/src/file/src/main.c, sqliteDefaultBusyCallback). Each pause optimizes, so
 * more of them would write more.
 */
const maxBusyTime = 1000
const pauseLength = 110

/**
 * Returns a function to call between two transactions, which waits about once a second, so that
 * others write. Otherwise the lock is free too briefly for writers that wait for it.
 */
export function pauseForOthers(database: Pick<EngineTools, 'optimize'>): () => Promise<void> {
  let busySince = performance.now()
  return async () => {
    if (performance.now() - busySince < maxBusyTime) return
    await Promise.all([delay(pauseLength), database.optimize({ isLast: false })])
    busySince = performance.now()
  }
}

/**
 * Optimizes after the last large transaction. If the database cannot be used for that now, as on a
 * full disk, resolves with the reason: what was written stays, and only later statements take longer.
 */
export async function optimizeAtEnd(
  database: Pick<Engine, 'explain'> & Pick<EngineTools, 'optimize'>,
): Promise<string | undefined> {
  try {
    await database.optimize({ isLast: true })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error
    return describeFailure(database, error)
  }
}

/** Why a long write failed, in words for operators; undefined if the database is not the cause. */
export function describeFailure(
  { explain }: Pick<Engine, 'explain'>,
  error: unknown,
): string | undefined {
  const isOverloaded = error instanceof ServiceError && error.code === 'unavailable'
  const cause = isOverloaded ? error.cause : error
  if (cause instanceof OperatorError) return cause.message
  const { reason = isOverloaded ? error.message : undefined, isConflict } = explain(cause)
  return isConflict ? `it conflicted with other writes again and again: ${reason}` : reason
}
