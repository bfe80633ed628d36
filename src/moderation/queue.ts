import { queueColumns } from '../catalogue/app-columns.ts'
import { type Queue, queues, waitingSince } from '../catalogue/app-states.ts'
import { findNamedApps, type NamedAppRow } from '../catalogue/app-store.ts'
import { findLookAlikes, type LookAlike } from '../catalogue/look-alikes.ts'
import { countRows, type QueryRunner } from '../db/engine.ts'
import { chunk, pick, required } from '../util/helpers.ts'
import { type Change, ownerChanges, readCategorySlugs } from './app-details.ts'
import { type AppFilter, appsIn, findPage, resolveColumns } from './app-filter.ts'
import { maxExcerptLength } from './describe.ts'
import { warningsOf } from './warnings.ts'

/**
 * The queues of apps that wait for a decision: their pages, for the command line, and steps through
 * them from an app on, for the moderation page. The position of an app stays valid while others
 * decide, which the number of a page would not.
 */

export type QueuePosition = { id: number; waiting_since: string }

/** A moderator's way through a queue, which leaves out the apps that others have open. */
export type QueueWalk = {
  queue: Queue
  filter: AppFilter
  openElsewhere: ReadonlyMap<number, unknown>
}

const queuedColumns = [
  'id',
  'revision',
  'status',
  'name',
  'slug',
  'short_description',
  'version',
  ...queueColumns,
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

/**
 * The first apps of a queue that pass the filter, after a position or from the beginning; if others
 * have all of them open, these. `last`: more apps come after it. Throws an OperatorError if the
 * developer or the category does not exist.
 */
export async function walkQueue(
  runner: QueryRunner,
  walk: QueueWalk,
  after: QueuePosition | undefined,
  limit: number,
): Promise<{ apps: QueuedApp[]; last?: QueuePosition | undefined }> {
  const find = (openElsewhere: QueueWalk['openElsewhere']) =>
    positionsAfter(runner, { ...walk, openElsewhere }, after, limit + 1)
  const left = await find(walk.openElsewhere)
  const positions = left.length > 0 ? left : await find(new Map())
  const ids = positions.slice(0, limit).map(({ id }) => id)
  const last = positions.length > limit ? positions[limit - 1] : undefined
  return { apps: await readQueued(runner, ids), last }
}

/** The first app after a position that passes the filter. */
export async function findNext(
  runner: QueryRunner,
  walk: QueueWalk,
  position: QueuePosition,
): Promise<QueuePosition | undefined> {
  return (await positionsAfter(runner, walk, position, 1))[0]
}

export const positionOf = ({
  id,
  unreviewed_since,
  created_at,
}: Pick<NamedAppRow, 'id' | 'unreviewed_since' | 'created_at'>): QueuePosition => ({
  id,
  waiting_since: unreviewed_since ?? created_at,
})

async function positionsAfter(
  runner: QueryRunner,
  { queue, filter, openElsewhere }: QueueWalk,
  after: QueuePosition | undefined,
  limit: number,
): Promise<QueuePosition[]> {
  const apps = appsIn(runner, queues[queue], await resolveColumns(runner, filter))
  if (after) apps.whereRaw(`(${waitingSince}, apps.id) > (?, ?)`, valuesOf(after))
  return apps
    .whereNotIn('apps.id', [...openElsewhere.keys()])
    .orderByRaw(queues[queue].order)
    .limit(limit)
    .select('apps.id', runner.sql.raw(`${waitingSince} as waiting_since`))
}

const valuesOf = ({ waiting_since, id }: QueuePosition) => [waiting_since, id]

/** Apps that are read at a time: one can have 160 KB, and a driver makes all rows without a pause. */
const batchSize = 16

async function readQueued(runner: QueryRunner, ids: number[]): Promise<QueuedApp[]> {
  const slugs = await readCategorySlugs(runner)
  const apps: Omit<QueuedApp, 'lookAlikes'>[] = []
  for (const batch of chunk(ids, batchSize))
    for (const app of await findNamedApps(runner, batch)) apps.push(toQueued(app, slugs))
  const found = await findLookAlikes(runner, apps)
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

/**
 * Counts the apps of a queue that match the filter, and those of them up to a position that nobody
 * else has open. `isIn` is false if the app at the position has left the queue, or does not match.
 */
export async function countQueue(
  runner: QueryRunner,
  { queue, filter, openElsewhere }: QueueWalk,
  position: QueuePosition | undefined,
): Promise<{ total: number; upTo: number; isIn: boolean }> {
  const apps = appsIn(runner, queues[queue], await resolveColumns(runner, filter))
  const total = await countRows(apps)
  if (!position) return { total, upTo: 0, isIn: false }
  const others = [...openElsewhere.keys()].filter((id) => id !== position.id)
  const upTo = await countRows(
    apps
      .clone()
      .whereRaw(`(${waitingSince}, apps.id) <= (?, ?)`, valuesOf(position))
      .whereNotIn('apps.id', others),
  )
  const found = await apps.where('apps.id', position.id).first('apps.id')
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
