import { addressColumns } from '../catalogue/app-columns.ts'
import { findNamedApps, type NamedAppRow } from '../catalogue/app-store.ts'
import { findSimilarApps, type SimilarApp } from '../catalogue/similar-names.ts'
import type { QueryRunner } from '../db/engine.ts'
import { chunk, required } from '../util/helpers.ts'
import { type AppFilter, appsIn, queues, resolveColumns, waitingSince } from './app-filter.ts'
import { deceptiveHosts } from './describe.ts'

/**
 * Walks through a queue in its order, from an app on, for the moderation page. A position stays
 * valid while others decide, which the number of a page would not.
 */

export type Queue = keyof typeof queues

/** `isOpen`: among the apps that others have open, which come last. */
export type QueuePosition = { id: number; waiting_since: string; isOpen?: true }

/** `lookAlikes`: only apps with similar names or deceptive hosts. */
export type QueueFilter = AppFilter & { lookAlikes?: boolean | undefined }

/** Look-alikes are not counted: that would read the whole queue. */
export const isCounted = ({ lookAlikes }: QueueFilter): boolean => !lookAlikes

/** The order of a queue for a moderator. `openElsewhere`: the apps that others have open. */
export type QueueOrder = {
  queue: Queue
  filter: QueueFilter
  openElsewhere: readonly number[]
}

/**
 * Apps whose look-alikes are looked for, at most: for a list, which takes some 100 ms, and for the
 * next app.
 */
const maxRead = { forList: 500, forNext: 100 }

/** Apps that are read at a time: one can have 160 KB, and a driver makes all rows without a pause. */
const batchSize = 16

type Step = {
  apps: NamedAppRow[]
  /** Of each app; only if the filter has looked for them. */
  similar?: SimilarApp[][]
  /** The next apps come after this, unless the queue has ended. */
  last?: QueuePosition
  /** Apps up to the last one that were read to find these. Undefined if an index found them. */
  read?: number
}

export const positionOf = ({
  id,
  unreviewed_since,
  created_at,
}: Pick<NamedAppRow, 'id' | 'unreviewed_since' | 'created_at'>): QueuePosition => ({
  id,
  waiting_since: unreviewed_since ?? created_at,
})

/**
 * The first apps of a queue that pass the filter, after a position or from the beginning. Throws an
 * OperatorError if the developer or the category does not exist.
 */
export async function findNextApps(
  runner: QueryRunner,
  order: QueueOrder,
  after: QueuePosition | undefined,
  limit: number,
  maxApps = maxRead.forList,
): Promise<Step> {
  const isRead = order.filter.lookAlikes === true
  const { positions, hasMore } = await positionsAfter(
    runner,
    order,
    after,
    isRead ? maxApps : limit,
  )
  const ids = positions.map(({ id }) => id)
  if (!isRead) {
    const apps = await readApps(runner, ids)
    return { apps, ...(hasMore && { last: required(positions.at(-1), 'the last position') }) }
  }
  const found = await keepLookAlikes(runner, ids)
  const shown = found.ids.slice(0, limit)
  const isCut = shown.length < found.ids.length
  const read = isCut ? ids.indexOf(required(shown.at(-1), 'the last app')) + 1 : ids.length
  const last = isCut || hasMore ? positions[read - 1] : undefined
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

/** The next app, or where to go on if none was found yet; neither if the queue has ended. */
export type NextApp = { next?: QueuePosition; last?: QueuePosition }

/** The first app after a position that passes the filter. */
export async function findNext(
  runner: QueryRunner,
  order: QueueOrder,
  position: QueuePosition,
): Promise<NextApp> {
  const { apps, last } = await findNextApps(runner, order, position, 1, maxRead.forNext)
  const [next] = apps
  if (!next) return { ...(last && { last }) }
  const isOpen = order.openElsewhere.includes(next.id)
  return { next: { ...positionOf(next), ...(isOpen && { isOpen }) } }
}

async function positionsAfter(
  runner: QueryRunner,
  { queue, filter, openElsewhere }: QueueOrder,
  after: QueuePosition | undefined,
  limit: number,
): Promise<{ positions: QueuePosition[]; hasMore: boolean }> {
  const columns = await resolveColumns(runner, filter)
  const find = (apps: ReturnType<typeof appsIn>, count: number): Promise<QueuePosition[]> =>
    apps
      .orderByRaw(queues[queue].order)
      .limit(count)
      .select('apps.id', runner.sql.raw(`${waitingSince} as waiting_since`))
  const rest = () => {
    const apps = appsIn(runner, queues[queue], columns)
    return after ? apps.whereRaw(`(${waitingSince}, apps.id) > (?, ?)`, valuesOf(after)) : apps
  }

  const positions = after?.isOpen
    ? []
    : await find(rest().whereNotIn('apps.id', openElsewhere), limit + 1)
  const missing = limit + 1 - positions.length
  if (missing > 0 && openElsewhere.length > 0) {
    const others = openElsewhere.filter((id) => id !== after?.id)
    const apps = after?.isOpen ? rest() : appsIn(runner, queues[queue], columns)
    const open = await find(apps.whereIn('apps.id', others), missing)
    positions.push(...open.map((position) => ({ ...position, isOpen: true as const })))
  }
  return { positions: positions.slice(0, limit), hasMore: positions.length > limit }
}

const valuesOf = ({ waiting_since, id }: QueuePosition) => [waiting_since, id]

/** The ids of the apps that are look-alikes, in the same order, and the apps that they look like. */
async function keepLookAlikes(runner: QueryRunner, ids: number[]) {
  const rows = await runner
    .sql('apps')
    .whereIn('id', ids)
    .select('id', 'name', 'developer_id', 'status', ...addressColumns)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const apps = ids.map((id) => required(byId.get(id), `app ${id}`))
  const similar = await findSimilarApps(runner, apps)
  const marked = apps
    .map((app, index) => ({ ...app, similar: required(similar[index], 'the similar apps') }))
    .filter((app) => app.similar.length > 0 || deceptiveHosts(app).length > 0)
  return { ids: marked.map(({ id }) => id), similar: marked.map((app) => app.similar) }
}

const upToPosition = `(${waitingSince}, apps.id) <= (?, ?)`

/**
 * Counts the apps that the developer and the category leave in a queue, and those of them up to a
 * position. `isIn`: whether the app of the position is one of them.
 */
export async function countQueue(
  runner: QueryRunner,
  { queue, filter, openElsewhere }: QueueOrder,
  position: QueuePosition | undefined,
): Promise<{ total: number; upTo: number; isIn: boolean }> {
  const apps = appsIn(runner, queues[queue], await resolveColumns(runner, filter))
  const [all] = await apps.clone().count({ count: '*' })
  const total = Number(required(all, 'the count').count)
  if (!position) return { total, upTo: 0, isIn: false }
  const before = apps.clone()
  const others = openElsewhere.filter((id) => id !== position.id)
  if (position.isOpen)
    before.where((apps) =>
      apps.whereNotIn('apps.id', openElsewhere).orWhereRaw(upToPosition, valuesOf(position)),
    )
  else before.whereRaw(upToPosition, valuesOf(position)).whereNotIn('apps.id', others)
  const [first] = await before.count({ count: '*' })
  const found = await apps.where('apps.id', position.id).first('apps.id')
  const upTo = Number(required(first, 'the count').count)
  return { total, upTo, isIn: found !== undefined }
}
