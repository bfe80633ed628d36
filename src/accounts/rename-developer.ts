import { setTimeout as delay } from 'node:timers/promises'
import type { Actor } from '../audit/store.ts'
import { appStore, type Place } from '../catalogue/store.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import { pause, turn } from '../db/write-pacing.ts'
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
  longest = turn,
): Promise<{ id: number; name: string; listed_apps: number }> {
  const { id, name, taken } = await database.write((connection) => accountStore(connection).beginRename(from, to))
  if (!taken) await indexInTurns(database, id, longest)
  const { forgotten, refusal } =
    taken ?? (await database.write((connection) => accountStore(connection).takeNextName(id, name, actor)))
  const listed_apps = await indexInTurns(database, id, longest)
  await database.write((connection) => accountStore(connection).endRename(id, forgotten))
  if (refusal) throw refusal
  return { id, name, listed_apps }
}

/** Tells search anew of all that a developer has listed, and returns how many apps that is. */
async function indexInTurns(database: Database, developerId: number, longest: number): Promise<number> {
  let done = await database.write((connection) => indexTurn(connection, developerId, undefined, longest))
  let count = done.count
  while (done.last) {
    await delay(pause)
    const { last } = done
    done = await database.write((connection) => indexTurn(connection, developerId, last, longest))
    count += done.count
  }
  return count
}

/** As many apps behind the last as there is time for, and which was the last; undefined where none is left. */
async function indexTurn(connection: Connection, developerId: number, behind: Place | undefined, longest: number) {
  const begin = performance.now()
  let [count, last] = [0, behind]
  do {
    const batch = await appStore(connection).indexAgain(developerId, last)
    count += batch.count
    last = batch.last
  } while (last && performance.now() - begin < longest)
  return { count, last }
}
