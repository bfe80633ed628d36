import { findNamedApps, type NamedAppRow } from '../catalogue/app-store.ts'
import { findSimilarApps, type SimilarApp } from '../catalogue/similar-names.ts'
import type { QueryRunner } from '../db/engine.ts'
import { chunk, required } from '../util/helpers.ts'
import { type AppFilter, appsIn, queues, resolveColumns, waitingSince } from './app-filter.ts'

/**
 * Walks through a queue in its order, from an app on, for the moderation page. A place stays valid
 * while others decide, which the number of a page would not.
 */

export type Queue = keyof typeof queues

/** The position of an app in its queue. */
export type Place = { id: number; waiting_since: string }

/** `lookAlikes`: only apps with similar names. */
export type QueueFilter = AppFilter & { lookAlikes?: boolean | undefined }

/**
 * Apps whose look-alikes are looked for, at most: for a list, which takes some 100 ms, and for the
 * next app.
 */
const maxRead = { listed: 500, following: 100 }

/** Apps that are read at a time: one can have 160 KB, and a driver makes all rows without a pause. */
const batchSize = 16

type Step = {
  apps: NamedAppRow[]
  /** Of each app; only if the filter has looked for them. */
  similar?: SimilarApp[][]
  /** The next apps come after this, unless the queue has ended. */
  last?: Place
  /** Apps up to the last one that were read to find these. Undefined if an index found them. */
  read?: number
}

export const placeOf = ({
  id,
  unreviewed_since,
  created_at,
}: Pick<NamedAppRow, 'id' | 'unreviewed_since' | 'created_at'>): Place => ({
  id,
  waiting_since: unreviewed_since ?? created_at,
})

/**
 * The first apps of a queue that pass the filter, after a place or from the beginning. Throws an
 * OperatorError if the developer or the category does not exist.
 */
export async function findNextApps(
  runner: QueryRunner,
  queue: Queue,
  filter: QueueFilter,
  after: Place | undefined,
  limit: number,
  maxApps = maxRead.listed,
): Promise<Step> {
  const isRead = filter.lookAlikes === true
  const { places, hasMore } = await placesAfter(
    runner,
    queue,
    filter,
    after,
    isRead ? maxApps : limit,
  )
  const ids = places.map(({ id }) => id)
  if (!isRead) {
    const apps = await readApps(runner, ids)
    return { apps, ...(hasMore && { last: required(places.at(-1), 'the last place') }) }
  }
  const found = await keepLookAlikes(runner, ids)
  const shown = found.ids.slice(0, limit)
  const isCut = shown.length < found.ids.length
  const read = isCut ? ids.indexOf(required(shown.at(-1), 'the last app')) + 1 : ids.length
  const last = isCut || hasMore ? places[read - 1] : undefined
  return {
    apps: await readApps(runner, shown),
    similar: found.similar.slice(0, limit),
    read,
    ...(last && { last }),
  }
}

async function readApps(runner: QueryRunner, ids: number[]): Promise<NamedAppRow[]> {
  const apps: NamedAppRow[] = []
  for (const batch of chunk(ids, batchSize)) apps.push(...(await findNamedApps(runner, batch)))
  return apps
}

/** The first app after a place that passes the filter; if none was found yet, where to go on. */
export async function findFollowing(
  runner: QueryRunner,
  queue: Queue,
  filter: QueueFilter,
  place: Place,
): Promise<{ next?: number; last?: Place }> {
  const { apps, last } = await findNextApps(runner, queue, filter, place, 1, maxRead.following)
  const [next] = apps
  return next ? { next: next.id } : { ...(last && { last }) }
}

async function placesAfter(
  runner: QueryRunner,
  queue: Queue,
  filter: AppFilter,
  after: Place | undefined,
  limit: number,
): Promise<{ places: Place[]; hasMore: boolean }> {
  const columns = await resolveColumns(runner, filter)
  const apps = appsIn(runner, queues[queue], columns)
  if (after) apps.whereRaw(`(${waitingSince}, apps.id) > (?, ?)`, [after.waiting_since, after.id])
  const places: Place[] = await apps
    .orderByRaw(queues[queue].order)
    .limit(limit + 1)
    .select('apps.id', runner.sql.raw(`${waitingSince} as waiting_since`))
  return { places: places.slice(0, limit), hasMore: places.length > limit }
}

/** The ids of the apps that have look-alikes, in the same order, and these. */
async function keepLookAlikes(runner: QueryRunner, ids: number[]) {
  const rows = await runner
    .sql('apps')
    .whereIn('id', ids)
    .select('id', 'name', 'developer_id', 'status')
  const byId = new Map(rows.map((row) => [row.id, row]))
  const apps = ids.map((id) => required(byId.get(id), `app ${id}`))
  const similar = await findSimilarApps(runner, apps)
  const marked = apps
    .map(({ id }, index) => ({ id, similar: required(similar[index], 'the similar apps') }))
    .filter((app) => app.similar.length > 0)
  return { ids: marked.map(({ id }) => id), similar: marked.map((app) => app.similar) }
}

/**
 * Counts the apps that the developer and the category leave in a queue, and those of them up to a
 * place. `isIn`: whether the app of the place is one of them.
 */
export async function countQueue(
  runner: QueryRunner,
  queue: Queue,
  filter: AppFilter,
  place: Place | undefined,
): Promise<{ total: number; upTo: number; isIn: boolean }> {
  const apps = appsIn(runner, queues[queue], await resolveColumns(runner, filter))
  const [all] = await apps.clone().count({ count: '*' })
  const total = Number(required(all, 'the count').count)
  if (!place) return { total, upTo: 0, isIn: false }
  const [first] = await apps
    .clone()
    .whereRaw(`(${waitingSince}, apps.id) <= (?, ?)`, [place.waiting_since, place.id])
    .count({ count: '*' })
  const found = await apps.where('apps.id', place.id).first('apps.id')
  const upTo = Number(required(first, 'the count').count)
  return { total, upTo, isIn: found !== undefined }
}
