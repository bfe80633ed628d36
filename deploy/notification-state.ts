import { existsSync, readFileSync } from 'node:fs'
import { findEntry, findLastEntry } from '../src/audit/read-entries.ts'
import type { Database } from '../src/db/database.ts'
import { inStateDirectory, writeState } from './state-files.ts'

/** What the notifier knows from earlier runs: a file in STATE_DIRECTORY for each kind of reader. */

/** An owner with news that no mail has told. Times are ISO. */
export type WaitingOwner = {
  id: number
  /** The audit entry with which the news begin. */
  from: number
  /** When a run found them. */
  since: string
  /** When a mail was last refused. */
  tried?: string
}

export type State = {
  /** The last audit entry that was read; 0 if there was none. */
  place: number
  /** Its time. Versions before 3.1.1 did not store it. */
  time?: string | undefined
  owners: WaitingOwner[]
  /** Of owners: the API keys whose end was told, by id, with that end. Keys that have ended leave. */
  keys?: Record<string, string> | undefined
}

/** Takes a problem, which makes the run fail. */
export type Report = (problem: string) => void

/**
 * The state to continue from. The first run begins at the end of the audit log. If the entry at its
 * place is another one now, an older backup was restored: continues after the entries that it knew.
 */
export async function openState(file: string, database: Database, report: Report): Promise<State> {
  const state = readState(file)
  const { place, time, owners, keys }: State = state ?? { place: 0, owners: [] }
  const entry = await database.read((runner) => findEntry(runner, place))
  if (state && (place === 0 || (entry && (time ?? entry.at) === entry.at))) return state

  const last = await database.read((runner) => findLastEntry(runner, time))
  const end = last?.id ?? 0
  const found: State = {
    place: end,
    time: last?.at,
    owners: owners.map((owner) => ({ ...owner, from: Math.min(owner.from, end + 1) })),
    keys,
  }
  writeState(file, found)()
  if (state)
    report(
      `entry ${place} of the audit log is not the one that ${file} knows, as after the restore of ` +
        `an older backup; continued after entry ${end}`,
    )
  return found
}

function readState(file: string): State | undefined {
  if (!existsSync(file)) return undefined
  const text = inStateDirectory(file, () => readFileSync(file, 'utf8'))
  try {
    const content = JSON.parse(text)
    // Versions before 3.1.1 stored only the place.
    const state = { owners: [], ...(typeof content === 'number' ? { place: content } : content) }
    if (Number.isSafeInteger(state.place) && state.place >= 0) return state
  } catch {}
  throw new Error(`${file} does not have the id of an audit entry; remove it to begin at the end`)
}
