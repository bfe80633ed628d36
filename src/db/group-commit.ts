import { AsyncLocalStorage } from 'node:async_hooks'
import type { Knex } from 'knex'

export type GroupCommit = <T>(work: (sql: Knex) => Promise<T>) => Promise<T>

type Write = {
  /** Returns the function that acknowledges the result. */
  run: (sql: Knex) => Promise<() => void>
  reject: (error: unknown) => void
}

/**
 * Returns a function that runs a write in a transaction, which writes that begin together share. Each has a savepoint, so a
 * write that fails is rolled back alone. None is acknowledged before the commit.
 */
export function groupCommit(writer: Knex): GroupCommit {
  let group: Write[] = []

  async function commitGroup() {
    const writes = group
    group = []
    try {
      const settlers = await writer.transaction((sql) => runGroup(sql, writes))
      for (const settle of settlers) settle()
    } catch (error) {
      for (const { reject } of writes) reject(error)
    }
  }

  return <T>(work: (sql: Knex) => Promise<T>) => {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    // Timings count for the request of the write, not for the first of the group.
    const inContext = AsyncLocalStorage.snapshot()
    const run = async (sql: Knex) => {
      const result = await inContext(work, sql)
      return () => resolve(result)
    }
    group.push({ run, reject })
    if (group.length === 1) setImmediate(commitGroup)
    return promise
  }
}

/** Returns functions that tell each write its result. */
async function runGroup(sql: Knex, group: Write[]): Promise<(() => void)[]> {
  const [only] = group
  if (only && group.length === 1) return [await only.run(sql)]
  const settlers: (() => void)[] = []
  for (const { run, reject } of group) {
    // Replaces the savepoint of the write before, and ends with the transaction.
    await sql.raw('savepoint write')
    try {
      settlers.push(await run(sql))
    } catch (error) {
      // Some errors end the whole transaction, such as a full disk. Then there is no savepoint.
      await sql.raw('rollback to savepoint write').catch(() => Promise.reject(error))
      settlers.push(() => reject(error))
    }
  }
  return settlers
}
