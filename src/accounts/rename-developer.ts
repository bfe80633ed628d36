import { setTimeout as delay } from 'node:timers/promises'
import type { Actor } from '../audit/store.ts'
import { type AppPosition, appStore } from '../catalogue/store.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import { maxTransactionTime, pauseBetweenTransactions } from '../db/write-pacing.ts'
import { accountStore } from './store.ts'

/**
 * Gives a developer another name, in turns: others write between them, however many apps there are. At every moment each app is
 * found by the name that it shows. First search is told of both names; then all apps show the new one, in one moment; then
 * search forgets the old one. Stopped at any time and begun again, it finishes. Refuses where there is no such developer, or
 * the name cannot be theirs.
 */
export async function renameDeveloper(
  database: Database,
  from: string,
  to: string,
  actor: Actor,
  timeLimit = maxTransactionTime,
): Promise<{ id: number; name: string; listed_apps: number }> {
  const { id, name, completed } = await database.write((connection) => accountStore(connection).beginRename(from, to))
  if (!completed) await reindexInBatches(database, id, timeLimit)
  const { obsoleteName, error } =
    completed ?? (await database.write((connection) => accountStore(connection).takeNextName(id, name, actor)))
  const listed_apps = await reindexInBatches(database, id, timeLimit)
  await database.write((connection) => accountStore(connection).endRename(id, obsoleteName))
  if (error) throw error
  return { id, name, listed_apps }
}

/** Tells search anew of all that a developer has listed, and returns how many apps that is. */
async function reindexInBatches(database: Database, developerId: number, timeLimit: number): Promise<number> {
  let done = await database.write((connection) => reindexWithinTime(connection, developerId, undefined, timeLimit))
  let count = done.count
  while (done.last) {
    await delay(pauseBetweenTransactions)
    const { last } = done
    done = await database.write((connection) => reindexWithinTime(connection, developerId, last, timeLimit))
    count += done.count
  }
  return count
}

/** As many apps behind the last as there is time for, and which was the last; undefined where none is left. */
async function reindexWithinTime(
  connection: Connection,
  developerId: number,
  after: AppPosition | undefined,
  timeLimit: number,
) {
  const begin = performance.now()
  let [count, last] = [0, after]
  do {
    const batch = await appStore(connection).reindexBatch(developerId, last)
    count += batch.count
    last = batch.last
  } while (last && performance.now() - begin < timeLimit)
  return { count, last }
}
