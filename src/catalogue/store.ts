import { type Action, type Actor, auditStore } from '../audit/store.ts'
import type { Caller } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Connection, Statement } from '../db/dialect.ts'
import { runPipelined } from '../db/pipeline.ts'
import {
  type AppRow,
  type AppStatus,
  appDefaults,
  auditedColumns,
  isListed,
  listed,
  type ReviewRow,
  searchedColumns,
} from '../db/tables.ts'
import { type SearchDocument, toSearchDocument } from '../search/document.ts'
import { chunk } from '../util/chunk.ts'
import { addRatings, ratingColumns, ratingsOf } from './ratings.ts'
import { uniqueSlugs } from './unique-slugs.ts'

/** With the names that its ids stand for. */
export type NamedAppRow = AppRow & { developer_name: string; category_name: string; category_slug: string }
/** With its newest reviews. */
export type AppWithReviews = NamedAppRow & { reviews: AppReview[] }
export type AppReview = Omit<ReviewRow, 'app_id'>

export const reviewColumns: Record<keyof AppReview, string> = {
  id: 'id',
  reviewer_name: 'reviewer_name',
  rating: 'rating',
  comment: 'comment',
  created_at: 'created_at',
}
const newestFirst = 'order by created_at desc, id desc'
const newestReviews = `(select * from reviews where app_id = apps.id ${newestFirst} limit 100) as newest`

/** How many apps there are in each state; a deleted one counts as that alone. */
export type StateCounts = Readonly<Record<AppStatus | 'deleted', number>>
export const noApps: StateCounts = { pending: 0, approved: 0, rejected: 0, deleted: 0 }

/** A row before it is in its table. What may be left out is made: an id and slug that are free, and what the table has by default. */
export type NewAppRow = Omit<AppRow, 'package_key' | GeneratedColumn> & Partial<Pick<AppRow, GeneratedColumn>>
type GeneratedColumn = 'id' | 'slug' | 'changed_at' | keyof typeof appDefaults

/** What can change of an app once it is there; the rest follows from it. */
export type AppRowChanges = Partial<Omit<AppRow, 'id' | 'slug' | 'package_key' | 'changed_at'>>

export type NewReviewRow = Omit<ReviewRow, 'id'> & { id?: number }

type AppChange = {
  before?: AppRow
  after: AppRow
  at: string
  /** Where the caller has it already. */
  document?: SearchDocument | undefined
}

type NewApp = { app: NewAppRow; at: string; document?: SearchDocument | undefined }

/** Apps that are indexed by one statement. */
const reindexBatchSize = 100

type FindOptions = { includeDeleted?: boolean; forUpdate?: boolean; visibleTo?: Caller | 'anyone' }

/** What `canSee` of policy.ts says. */
const visibleToAnyone = "apps.status = 'approved'"
const visibleToOwner = `(${visibleToAnyone} or apps.developer_id = ?)`

export const appStore = (connection: Connection) => {
  const { sql, search } = connection

  async function updateCounts(changes: AppChange[]) {
    const differences = new Map<number, number>()
    const count = (app: AppRow | undefined, difference: 1 | -1) => {
      if (!app || !isListed(app)) return
      differences.set(app.category_id, (differences.get(app.category_id) ?? 0) + difference)
    }
    for (const { before, after } of changes) {
      count(before, -1)
      count(after, 1)
    }
    const changed = [...differences].filter(([, difference]) => difference !== 0)
    const categories = sql('categories').whereIn(
      'id',
      changed.map(([id]) => id),
    )
    // In one order, so that of two who count in the same categories none waits for the other in a circle.
    if (changed.length > 1) await categories.clone().orderBy('id').forUpdate().select('id')
    const cases = changed.map(() => 'when ? then cast(? as bigint)').join(' ')
    if (changed.length > 0)
      await categories.update('listed_apps', sql.raw(`listed_apps + case id ${cases} end`, changed.flat()))
  }

  /** Tells search of what it does not know yet. */
  async function indexUpdates(changes: AppChange[]): Promise<(() => Statement)[]> {
    const unlisted = changes.filter(({ before, after }) => before && isListed(before) && !isListed(after))
    const stale = changes.filter(
      ({ before, after }) => isListed(after) && !(before && isListed(before) && hasSameSearchText(before, after)),
    )
    const names = await developerNames(stale.filter(({ document }) => !document).map(({ after }) => after.developer_id))
    return [
      () => () => search.remove(unlisted.map(({ after }) => after.id)),
      () =>
        search.prepareUpsert(
          stale.map(({ after, document }) => ({
            id: after.id,
            categoryId: after.category_id,
            ...(document ?? toSearchDocument(after, names.get(after.developer_id) ?? '')),
          })),
        ),
    ]
  }

  async function developerNames(ids: number[]): Promise<Map<number, string>> {
    if (ids.length === 0) return new Map()
    // Shared, so that a name that is found here does not change before what is made of it is there.
    const rows = await sql('developers').whereIn('id', ids).forShare().select('id', 'name')
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  /** What follows from changes of apps, in the same transaction. */
  async function sideEffects(action: Action, changes: AppChange[], actor: Actor): Promise<(() => Statement)[]> {
    return [
      ...(await indexUpdates(changes)),
      () => () => updateCounts(changes),
      () =>
        auditStore(connection).prepareInsert(
          changes.map(({ before, after, at }) => ({
            action,
            at,
            subject: { app_id: after.id, developer_id: after.developer_id },
            ...auditedDifference(before, after),
          })),
          actor,
        ),
    ]
  }

  /**
   * Puts apps into their table, and what `insertRelated` makes of them behind them. Throws `package_name_taken`, and writes none then.
   * Where another transaction has meanwhile taken a slug that was found free, it is not free any more when it is looked for again.
   */
  async function insertAll(
    action: Action,
    apps: NewApp[],
    actor: Actor,
    insertRelated: (inserted: AppRow[]) => Statement = () => async () => {},
  ): Promise<AppRow[]> {
    const uniqueViolationErrors = { ...packageNameTaken(apps[0]?.app.package_name), 'apps.slug': () => new SlugTaken() }
    for (let attempts = 1; ; attempts++) {
      const rows = await newRows(apps.map(({ app }) => app))
      const changes = rows.map((after, index) => ({ at: after.created_at, ...apps[index], after }))
      const insertApps = () => {
        const insert = connection.prepareInsert('apps', rows)
        return () => connection.mapUniqueViolation(insert, uniqueViolationErrors)
      }
      try {
        await runPipelined([insertApps, ...(await sideEffects(action, changes, actor)), () => insertRelated(rows)])
        return rows
      } catch (error) {
        if (!(error instanceof SlugTaken) || attempts === maxAttempts) throw error
      }
    }
  }

  /** As they are to be in their table, each with an id and a slug that are free. */
  async function newRows(apps: NewAppRow[]): Promise<AppRow[]> {
    const unnamed = apps.filter(({ slug }) => slug === undefined).map(({ name }) => name)
    const given = apps.flatMap(({ slug }) => slug ?? [])
    const slugs = await uniqueSlugs(connection, unnamed, given)
    const ids = await connection.allocateIds(
      'apps',
      apps.map(({ id }) => id),
    )
    const changed_at = new Date().toISOString()
    return apps.map((app, index) => ({
      ...appDefaults,
      ...app,
      id: ids[index] ?? 0,
      slug: app.slug ?? slugs.shift() ?? '',
      package_key: packageKey(app.package_name),
      changed_at,
    }))
  }

  return {
    /** Whether there is no app at all, not even a deleted one. */
    async isEmpty(): Promise<boolean> {
      return (await sql('apps').first('id')) === undefined
    },

    /**
     * An app that is not deleted, unless told otherwise, whatever its status; with its newest 100 reviews. One that is to be
     * changed is kept from others until the transaction ends. One that `visibleTo` may not see is not read: that would take
     * longer than there being none, and so tell of it.
     */
    async find(
      id: number,
      { includeDeleted = false, forUpdate = false, visibleTo }: FindOptions = {},
    ): Promise<AppWithReviews | undefined> {
      const { select, lock, jsonSubquery, parseJsonRows } = connection
      if (forUpdate) await lock('apps', 'id', [id])
      const owner = visibleTo === undefined || visibleTo === 'anyone' ? [] : [visibleTo.developerId]
      const [row] = await select<NamedAppRow & { reviews: unknown }>(
        `select apps.*, developers.name as developer_name, categories.name as category_name,
           categories.slug as category_slug, ${jsonSubquery(newestReviews, reviewColumns, newestFirst)} as reviews
         from apps
         join developers on developers.id = apps.developer_id
         join categories on categories.id = apps.category_id
         where apps.id = ? ${includeDeleted ? '' : 'and apps.deleted_at is null'}
         ${visibleTo === undefined ? '' : `and ${visibleTo === 'anyone' ? visibleToAnyone : visibleToOwner}`}`,
        [id, ...owner],
      )
      return row && { ...row, reviews: parseJsonRows(row.reviews) }
    },

    /** How many apps each of the developers has in each state; nothing of those who have none. */
    async countStates(developerIds: number[]): Promise<Map<number, StateCounts>> {
      const rows: { developer_id: number; state: keyof StateCounts; count: unknown }[] = await sql('apps')
        .whereIn('developer_id', developerIds)
        .groupBy('developer_id', 'state')
        .select('developer_id', sql.raw("case when deleted_at is null then status else 'deleted' end as state"))
        .count({ count: '*' })
      const counts = new Map<number, StateCounts>()
      for (const { developer_id, state, count } of rows) {
        counts.set(developer_id, { ...noApps, ...counts.get(developer_id), [state]: Number(count) })
      }
      return counts
    },

    /** Indexes a developer's listed apps again, after the developer was renamed. Returns their number. */
    async reindexAppsOf(developerId: number, developerName: string, onProgress: (done: number, total: number) => void) {
      const ids: number[] = await sql('apps').where({ developer_id: developerId }).whereRaw(listed).pluck('id')
      let done = 0
      for (const batch of chunk(ids, reindexBatchSize)) {
        const apps = await sql('apps')
          .whereIn('id', batch)
          .select('id', ...searchedColumns)
        await search.prepareUpsert(
          apps.map((app) => ({
            id: app.id,
            categoryId: app.category_id,
            ...toSearchDocument(app, developerName),
          })),
        )()
        done += batch.length
        onProgress(done, ids.length)
      }
      return ids.length
    },

    /** Puts an app into its table. Throws `package_name_taken`. */
    async insert(app: NewAppRow, actor: Actor): Promise<AppRow> {
      const [inserted] = await insertAll('app create', [{ app, at: app.created_at }], actor)
      if (!inserted) throw new Error('the insert returned no app')
      return inserted
    },

    insertAll,

    /** Writes what really changes; nothing where nothing does. Throws `package_name_taken`. */
    async save(action: Action, before: AppRow, changes: AppRowChanges, actor: Actor) {
      if (!hasChanges(before, changes)) return
      const at = timestampAfter(before.updated_at)
      const after: AppRow = { ...before, updated_at: at, ...changes, changed_at: new Date().toISOString() }
      after.package_key = packageKey(after.package_name)
      const { package_key, updated_at, changed_at } = after
      const update = () =>
        sql('apps')
          .where({ id: after.id })
          .update({ ...changes, package_key, updated_at, changed_at })
      const attempt = () => connection.mapUniqueViolation(update, packageNameTaken(after.package_name))
      await runPipelined([() => attempt, ...(await sideEffects(action, [{ before, after, at }], actor))])
    },

    /** Adds reviews, and to the ratings of their apps. */
    async addReviews(reviews: NewReviewRow[]) {
      const added = Map.groupBy(reviews, ({ app_id }) => app_id)
      // In one order, so that of two who add to the same apps none waits for the other in a circle.
      const rows = await sql('apps')
        .whereIn('id', [...added.keys()])
        .orderBy('id')
        .forUpdate()
        .select('id', 'review_count', 'rating_sum', 'rating_count')
      await connection.prepareInsert('reviews', reviews)()
      for (const { id, review_count, rating_sum, rating_count } of rows) {
        const more = ratingsOf(added.get(id) ?? [])
        const all = addRatings({ sum: rating_sum, count: rating_count }, more)
        await sql('apps')
          .where({ id })
          .update({
            review_count: review_count + more.count,
            ...ratingColumns(all),
            changed_at: new Date().toISOString(),
          })
      }
    },
  }
}

export type AppStore = ReturnType<typeof appStore>

/** Whether a row would be another with the changes. */
export const hasChanges = (row: AppRow, changes: AppRowChanges) =>
  Object.entries(changes).some(([column, value]) => row[column as keyof AppRow] !== value)

/** The audited columns in which two states of an app differ. */
function auditedDifference(before: AppRow | undefined, after: AppRow) {
  const columns = auditedColumns.filter((column) => before?.[column] !== after[column])
  const pick = (row: AppRow) => Object.fromEntries(columns.map((column) => [column, row[column]]))
  return { ...(before && { before: pick(before) }), after: pick(after) }
}

const hasSameSearchText = (before: AppRow, after: AppRow) =>
  searchedColumns.every((column) => before[column] === after[column])

const packageNameTaken = (name: string | null | undefined) => ({
  'apps.package_key': () =>
    new ServiceError('package_name_taken', `The package name ${name} is taken; choose another.`, {
      errors: [{ in: 'body', field: '/package_name', message: 'is taken by another app' }],
    }),
})

class SlugTaken extends Error {}

/** How often a free slug is looked for: each time but the last another transaction was quicker. */
const maxAttempts = 100

const packageKey = (name: string | null) => name?.toLowerCase() ?? null

/** Now, or a millisecond after the time given where that is not past: each change of an app has a time, and so an ETag, of its own. */
export const timestampAfter = (time: string) => new Date(Math.max(Date.now(), Date.parse(time) + 1)).toISOString()
