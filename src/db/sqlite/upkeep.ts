import { execFile } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { promisify } from 'node:util'
import type { Knex } from 'knex'
import type { Engine } from '../dialect.ts'
import { countListed, fewest } from './making-lists.ts'

/** The lists are made anew where so many times the apps are listed: other words are common then. */
const growth = 1.25

/**
 * Has the lists made where there are apps enough for one, and many more than when they were made. By a process of its own: it
 * keeps a processor busy for a minute among a million apps, and takes memory that it gives back.
 */
export function upkeepOf(filename: string, reader: Knex): Engine['maintain'] {
  let seen: string | undefined
  return async (signal) => {
    const { isDue, progress } = await reader.transaction((sql) => look(sql, seen))
    seen = progress
    if (isDue) await run(`${import.meta.dirname}/make-lists.ts`, [filename], signal)
  }
}

/** What is being made counts as given up when it is as far as when it was last looked at. */
async function look(sql: Knex, seen: string | undefined) {
  const [state]: { listed: number; progress: string }[] = await sql.raw(
    `select listed, making || ' ' || (select count(*) from app_search_lists) as progress from app_search_state`,
  )
  const isMaking = state?.listed === 0
  const isEnough = (await countListed(sql)) >= Math.max(fewest, (state?.listed ?? 0) * growth)
  return { isDue: isEnough && (!isMaking || state.progress === seen), progress: state?.progress }
}

/** Behind all that has more haste. Rejects with what it said where it fails; resolves where it is cut short. */
async function run(file: string, values: string[], signal: AbortSignal | undefined) {
  const running = promisify(execFile)(process.execPath, [file, ...values], { signal })
  try {
    setPriority(running.child.pid ?? 0, constants.priority.PRIORITY_BELOW_NORMAL)
    await running
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}
