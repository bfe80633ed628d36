import type { Knex } from 'knex'
import { ServiceError } from '../../contract/errors.ts'
import type { Engine } from '../engine.ts'

type Write = {
  /** Returns the function that acknowledges the result. */
  run: (sql: Knex) => Promise<() => void>
  reject: (error: unknown) => void
}

/** Milliseconds. This program's commands hold the lock for less. */
const lockNotice = 1000

type GroupCommit = {
  transaction: Engine['transaction']
  /** Whether another process has held the write lock for too long. */
  isLockedOut: () => boolean
}

/**
 * Writes that begin in one turn of the event loop share a transaction. Each has a savepoint, so a
 * write that fails is rolled back alone. None is acknowledged before the commit.
 */
export function groupCommit(writer: Knex): GroupCommit {
  let group: Write[] = []
  /** By `performance.now()`; infinite unless a transaction waits for the write lock. */
  let lockRequested = Number.POSITIVE_INFINITY

  async function commitGroup() {
    const writes = group
    group = []
    lockRequested = performance.now()
    try {
      const acknowledgements = await writer.transaction((sql) => {
        lockRequested = Number.POSITIVE_INFINITY
        return runGroup(sql, writes)
      })
      for (const acknowledge of acknowledgements) acknowledge()
    } catch (error) {
      lockRequested = Number.POSITIVE_INFINITY
      for (const { reject } of writes) reject(error)
    }
  }

  function transaction<T>(work: (sql: Knex) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const run = async (sql: Knex) => {
      const result = await work(sql)
      return () => resolve(result)
    }
    group.push({ run, reject })
    if (group.length === 1) setImmediate(commitGroup)
    return promise
  }

  return { transaction, isLockedOut: () => performance.now() - lockRequested > lockNotice }
}

/**
 * Runs the writes one after the other. Returns functions that resolve or reject each one, to be
 * called after the commit.
 */
async function runGroup(sql: Knex, group: Write[]): Promise<(() => void)[]> {
  const [only] = group
  if (only && group.length === 1) return [await only.run(sql)]
  const acknowledgements: (() => void)[] = []
  for (const { run, reject } of group) {
    // Hides the previous write's savepoint, which has the same name. COMMIT ends them all.
    await sql.raw('savepoint write')
    try {
      acknowledgements.push(await run(sql))
    } catch (error) {
      // Some database errors, such as a full disk, end the whole transaction and its savepoints.
      // They reject the whole group; a ServiceError is only for the client of this write.
      await sql.raw('rollback to savepoint write').catch((failure) => {
        throw error instanceof ServiceError ? failure : error
      })
      acknowledgements.push(() => reject(error))
    }
  }
  return acknowledgements
}
