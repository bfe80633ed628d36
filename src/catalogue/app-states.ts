import { type QueryRunner, withoutIndex } from '../db/engine.ts'
import { listedCondition } from '../db/listed-apps.ts'
import { required } from '../util/helpers.ts'
import type { StateCounts } from './app-store.ts'

/** The states of apps and the queues for moderators, as sets in SQL, and what is in them. */

/** The status of an app, or `deleted` whatever the status. */
export type AppState = keyof StateCounts

/**
 * A set of apps in an order, as literal SQL so that the query planner sees which partial index
 * applies. `hasOwnIndex`: the set has a short index, which the planner must prefer to the long
 * index of a category.
 */
export type AppSet = Readonly<{ where: string; order: string; hasOwnIndex: boolean }>

const pending = "apps.status = 'pending' and apps.deleted_at is null"
export const waitingSince = 'coalesce(apps.unreviewed_since, apps.created_at)'
const longestWaitingFirst = `${waitingSince}, apps.id`
// The comparison always holds. Without it, SQLite may count with a longer index of the listed apps.
const changed = `${listedCondition} and apps.unreviewed_since is not null and ${waitingSince} > ''`
const newestFirst = 'apps.id desc'

export const queues = {
  pending: { where: pending, order: longestWaitingFirst, hasOwnIndex: true },
  changed: { where: changed, order: longestWaitingFirst, hasOwnIndex: true },
} satisfies Record<string, AppSet>
export type Queue = keyof typeof queues

export const states: Record<AppState | 'any', AppSet> = {
  any: { where: 'true', order: newestFirst, hasOwnIndex: false },
  // Its index has the order of the queue. With the index of the ids, the planner would read the
  // whole table.
  pending: { where: pending, order: `${withoutIndex('apps.id')} desc`, hasOwnIndex: true },
  approved: { where: listedCondition, order: newestFirst, hasOwnIndex: false },
  rejected: {
    where: "apps.status = 'rejected' and apps.deleted_at is null",
    order: newestFirst,
    hasOwnIndex: true,
  },
  deleted: { where: 'apps.deleted_at is not null', order: newestFirst, hasOwnIndex: true },
}

export type AppCounts = StateCounts & { changed: number }

/**
 * Counts apps by state; `changed`: approved apps whose owners have changed them since the last
 * decision. The approved ones are not counted here: each category stores how many it has.
 */
export async function countApps({ rows }: QueryRunner): Promise<AppCounts> {
  const count = (where: string) => `(select count(*) from apps where ${where})`
  const [counts] = await rows<AppCounts>(
    `select ${count(states.pending.where)} as pending, ${count(queues.changed.where)} as changed,
       ${count(states.rejected.where)} as rejected, ${count(states.deleted.where)} as deleted,
       (select cast(coalesce(sum(listed_apps), 0) as bigint) from categories) as approved`,
    [],
  )
  return required(counts, 'the counts')
}

export type OldestWaiting = { id: number; name: string; waiting_since: string }

/** The app that has waited longest; null if none waits. */
export async function findOldestWaiting(
  { rows }: QueryRunner,
  queue: Queue,
): Promise<OldestWaiting | null> {
  const { where, order } = queues[queue]
  const [oldest] = await rows<OldestWaiting>(
    `select id, name, coalesce(unreviewed_since, created_at) as waiting_since
     from apps where ${where} order by ${order} limit 1`,
    [],
  )
  return oldest ?? null
}
