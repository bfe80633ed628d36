import { addressColumns } from '../catalogue/app-columns.ts'
import { findNamedApps, type NamedAppRow } from '../catalogue/app-store.ts'
import { findLookAlikes, type LookAlike } from '../catalogue/look-alikes.ts'
import type { QueryRunner } from '../db/engine.ts'
import { chunk, pick, required } from '../util/helpers.ts'
import { type Change, ownerChanges, readCategorySlugs } from './app-details.ts'
import {
  type AppFilter,
  appsIn,
  findPage,
  type Queue,
  queues,
  resolveColumns,
  waitingSince,
} from './app-filter.ts'
import { maxExcerptLength } from './describe.ts'
import { warningsOf } from './warnings.ts'

/**
 * The queues of apps that wait for a decision: their pages, for the command line, and steps through
 * them from an app on, for the moderation page. The position of an app stays valid while others
 * decide, which the number of a page would not.
 */

/** `isOpen`: among the apps that others have open, which come last. */
export type QueuePosition = { id: number; waiting_since: string; isOpen?: true }

/** `lookAlikes`: only apps that `isMarked` marks. */
export type QueueFilter = AppFilter & { lookAlikes?: boolean | undefined }

/** Look-alikes are not counted: that would read the whole queue. */
export const isCounted = ({ lookAlikes }: QueueFilter): boolean => !lookAlikes

/** The order of a queue for a moderator. `openElsewhere`: the apps that others have open. */
export type QueueOrder = {
  queue: Queue
  filter: QueueFilter
  openElsewhere: readonly number[]
}

const queuedColumns = [
  'id',
  'revision',
  'status',
  'name',
  'slug',
  'short_description',
  'version',
  ...addressColumns,
  'license',
  'developer_id',
  'developer_name',
  'category_slug',
  'category_name',
  'created_at',
  'updated_at',
] as const

/** An app that waits for a decision. `description` is the beginning. */
export type QueuedApp = Pick<NamedAppRow, (typeof queuedColumns)[number] | 'description'> & {
  waiting_since: string
  changes: Change[]
  lookAlikes: LookAlike[]
}

/** A page of the apps that wait for a decision, longest first, and the total. */
export async function listQueue(
  runner: QueryRunner,
  queue: Queue,
  filter: AppFilter,
  limit: number,
  offset: number,
): Promise<{ apps: QueuedApp[]; total: number }> {
  const { ids, total } = await findPage(runner, queues[queue], filter, limit, offset)
  return { apps: await readQueued(runner, ids), total }
}

/** Whether an app may be an imitation. */
export const isMarked = (
  app: Parameters<typeof warningsOf>[0] & Pick<QueuedApp, 'lookAlikes'>,
): boolean => app.lookAlikes.length > 0 || warningsOf(app).length > 0

/** The next apps of a queue. */
export type QueueStep = {
  apps: QueuedApp[]
  /** More apps come after this, unless the queue has ended. */
  last?: QueuePosition
  /** Apps up to the last one that were read to find these. Undefined if an index found them. */
  read?: number
}

/**
 * Apps whose look-alikes are looked for, at most: for a list, which takes some 100 ms, and for the
 * next app.
 */
const maxRead = { forList: 500, forNext: 100 }

/**
 * The first apps of a queue that pass the filter, after a position or from the beginning. Throws an
 * OperatorError if the developer or the category does not exist.
 */
export async function walkQueue(
  runner: QueryRunner,
  order: QueueOrder,
  after: QueuePosition | undefined,
  limit: number,
): Promise<QueueStep> {
  const { positions, lookAlikes, ...step } = await findPositions(
    runner,
    order,
    after,
    limit,
    maxRead.forList,
  )
  const ids = positions.map(({ id }) => id)
  return { apps: await readQueued(runner, ids, lookAlikes), ...step }
}

/** The next app, or where to go on if none was found yet; neither if the queue has ended. */
export type NextApp = { next?: QueuePosition; last?: QueuePosition }

/** The first app after a position that passes the filter. */
export async function findNext(
  runner: QueryRunner,
  order: QueueOrder,
  position: QueuePosition,
): Promise<NextApp> {
  const { positions, last } = await findPositions(runner, order, position, 1, maxRead.forNext)
  const [next] = positions
  return next ? { next } : { ...(last && { last }) }
}

export const positionOf = ({
  id,
  unreviewed_since,
  created_at,
}: Pick<NamedAppRow, 'id' | 'unreviewed_since' | 'created_at'>): QueuePosition => ({
  id,
  waiting_since: unreviewed_since ?? created_at,
})

type Positions = Omit<QueueStep, 'apps'> & {
  positions: QueuePosition[]
  /** Of each app; only if the filter has looked for them. */
  lookAlikes?: LookAlike[][]
}

async function findPositions(
  runner: QueryRunner,
  order: QueueOrder,
  after: QueuePosition | undefined,
  limit: number,
  maxApps: number,
): Promise<Positions> {
  if (!order.filter.lookAlikes) {
    const { positions, hasMore } = await positionsAfter(runner, order, after, limit)
    return {
      positions,
      ...(hasMore && { last: required(positions.at(-1), 'the last position') }),
    }
  }
  const { positions, hasMore } = await positionsAfter(runner, order, after, maxApps)
  const marked = await markLookAlikes(runner, positions)
  const found = marked.slice(0, limit)
  const isCut = found.length < marked.length
  const read = isCut
    ? positions.indexOf(required(found.at(-1), 'the last app').position) + 1
    : positions.length
  const last = isCut || hasMore ? positions[read - 1] : undefined
  return {
    positions: found.map(({ position }) => position),
    lookAlikes: found.map((app) => app.lookAlikes),
    read,
    ...(last && { last }),
  }
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

/** The apps that pass the filter by look-alikes, in their order. */
async function markLookAlikes(
  runner: QueryRunner,
  positions: QueuePosition[],
): Promise<{ position: QueuePosition; lookAlikes: LookAlike[] }[]> {
  const rows = await runner
    .sql('apps')
    .whereIn(
      'id',
      positions.map(({ id }) => id),
    )
    .select('id', 'name', 'developer_id', 'status', ...addressColumns)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const apps = positions.map(({ id }) => required(byId.get(id), `app ${id}`))
  const found = await findLookAlikes(runner, apps)
  return positions.flatMap((position, index) => {
    const lookAlikes = required(found[index], 'the look-alikes')
    const app = required(apps[index], 'the app')
    return isMarked({ ...app, lookAlikes }) ? { position, lookAlikes } : []
  })
}

/** Apps that are read at a time: one can have 160 KB, and a driver makes all rows without a pause. */
const batchSize = 16

/** `lookAlikes` of each app, if they are known. */
async function readQueued(
  runner: QueryRunner,
  ids: number[],
  lookAlikes?: LookAlike[][],
): Promise<QueuedApp[]> {
  const slugs = await readCategorySlugs(runner)
  const apps: Omit<QueuedApp, 'lookAlikes'>[] = []
  for (const batch of chunk(ids, batchSize))
    for (const app of await findNamedApps(runner, batch)) apps.push(toQueued(app, slugs))
  const found = lookAlikes ?? (await findLookAlikes(runner, apps))
  return apps.map((app, index) => ({
    ...app,
    lookAlikes: required(found[index], 'the look-alikes'),
  }))
}

const toQueued = (
  app: NamedAppRow,
  categorySlugs: Map<unknown, string>,
): Omit<QueuedApp, 'lookAlikes'> => ({
  ...pick(app, ...queuedColumns),
  // One more than is shown, which then ends with ….
  description: app.description.slice(0, maxExcerptLength + 1),
  waiting_since: positionOf(app).waiting_since,
  changes: ownerChanges(app, categorySlugs),
})

const upToPosition = `(${waitingSince}, apps.id) <= (?, ?)`

/**
 * Counts the apps of a queue that match the filter, and those of them up to a position. `isIn` is
 * false if the app at the position has left the queue, or does not match.
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

/** Apps whose developers are offered as a filter. */
const maxOffered = 500

/** The names of developers whose apps have waited longest in a queue, by name. */
export const findWaitingDevelopers = ({ sql }: QueryRunner, queue: Queue): Promise<string[]> => {
  const { where, order } = queues[queue]
  const waiting = sql('apps').whereRaw(where).orderByRaw(order).limit(maxOffered)
  return sql('developers')
    .whereIn('id', sql(waiting.select('developer_id').as('waiting')).select('developer_id'))
    .orderBy('name')
    .limit(100)
    .pluck('name')
}
