import { lookUpDeveloper } from '../accounts/account-store.ts'
import { type Actor, type AuditEntry, readNewest } from '../audit/audit-store.ts'
import { addressColumns, type OwnerColumn, ownerColumns } from '../catalogue/app-columns.ts'
import {
  findNamedApps,
  type NamedAppRow,
  namedApps,
  saveApp,
  timestampAfter,
} from '../catalogue/app-store.ts'
import { findCategories } from '../catalogue/category-store.ts'
import {
  canDecide,
  type Decision,
  decidedColumns,
  parseUnreviewed,
  reopenedColumns,
  statusAfterDecision,
} from '../catalogue/policy.ts'
import { findSimilarApps, type SimilarApp } from '../catalogue/similar-names.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow, AppStatus } from '../db/rows.ts'
import { cutNote, maxMatches } from '../search/best-matches.ts'
import { chunk, pick, required } from '../util/helpers.ts'
import { type AppFilter, type AppState, findPage, queues, states } from './app-filter.ts'
import { findApps } from './app-finder.ts'
import { maxListed } from './describe.ts'
import { findNextApps, type Place, placeOf, type Queue, type QueueOrder } from './queue-walk.ts'

/**
 * A field that the owner has changed since the last decision. The value of `category` is its slug.
 */
export type Change = { field: string; before: string | null; after: string | null }

/** Everything that a decision on an app may need, besides the developer. */
export type AppReviewDetails<Entry = AuditEntry> = {
  app: NamedAppRow
  /** Apps of other developers with a similar name. */
  similar: SimilarApp[]
  changes: Change[]
  /** The newest audit entries, oldest first. */
  history: Entry[]
  hasOlderHistory: boolean
}

export type DecisionResult = { id: number; slug: string; status: AppStatus }

export type DecisionOptions = {
  /** Required for a rejection; the owner reads it. */
  reason?: string | undefined
  /** Throws if the app has another revision now. */
  revision?: string | undefined
}

/** An app that waits for a decision. `description` is the beginning. */
export type QueuedApp = Pick<
  NamedAppRow,
  | 'id'
  | 'revision'
  | 'status'
  | 'name'
  | 'slug'
  | 'short_description'
  | 'description'
  | 'version'
  | (typeof addressColumns)[number]
  | 'license'
  | 'developer_id'
  | 'developer_name'
  | 'category_slug'
  | 'category_name'
  | 'created_at'
  | 'updated_at'
> & { waiting_since: string; changes: Change[]; similar: SimilarApp[] }

/**
 * Apps of a queue that are read at a time. One can have 160 KB, and a driver makes the texts of all
 * rows without a pause.
 */
const queueBatchSize = 16

export const moderationStore = (runner: QueryRunner) => {
  /** Throws an OperatorError if there is no such app. Finds deleted ones, too. */
  async function requireApp(id: number, { forUpdate = false } = {}): Promise<NamedAppRow> {
    // Before the joined rows are read: a statement that joins and locks may see the two in
    // different versions.
    if (forUpdate) await runner.sql('apps').where({ id }).forUpdate().first('id')
    const [app]: NamedAppRow[] = await namedApps(runner, [id])
    if (!app) throw new OperatorError(`there is no app ${id}`)
    return app
  }

  async function requireActiveApp(id: number): Promise<NamedAppRow> {
    const app = await requireApp(id, { forUpdate: true })
    if (app.deleted_at)
      throw new OperatorError(`app ${id} is deleted now; it must be restored first`)
    return app
  }

  async function categorySlugs() {
    const all = await findCategories(runner)
    return new Map<unknown, string>(all.map(({ id, slug }) => [id, slug]))
  }

  const toQueued = (app: NamedAppRow, slugs: Map<unknown, string>) => ({
    ...pick(app, 'id', 'revision', 'status', 'name', 'slug', 'short_description', 'version'),
    ...pick(app, ...addressColumns, 'license'),
    ...pick(app, 'developer_id', 'developer_name', 'category_slug', 'category_name'),
    ...pick(app, 'created_at', 'updated_at'),
    // One more than is shown, which then ends with ….
    description: app.description.slice(0, maxListed + 1),
    waiting_since: placeOf(app).waiting_since,
    changes: ownerChanges(app, slugs),
  })

  async function withSimilar(
    apps: Omit<QueuedApp, 'similar'>[],
    known?: SimilarApp[][],
  ): Promise<QueuedApp[]> {
    const similar = known ?? (await findSimilarApps(runner, apps))
    return apps.map((app, index) => ({
      ...app,
      similar: required(similar[index], 'the similar apps'),
    }))
  }

  async function findListed(ids: number[]) {
    const apps = await findNamedApps(runner, ids)
    return apps.map((app) =>
      pick(
        app,
        'id',
        'name',
        'slug',
        'package_name',
        'developer_name',
        'category_slug',
        'status',
        'deleted_at',
        'created_at',
        'updated_at',
      ),
    )
  }

  return {
    requireApp,

    /** A page of the apps that wait for a decision, longest first, and the total. */
    async queue(queue: Queue, filter: AppFilter, limit: number, offset: number) {
      const { ids, ...page } = await findPage(runner, queues[queue], filter, limit, offset)
      const slugs = await categorySlugs()
      const apps = []
      for (const batch of chunk(ids, queueBatchSize))
        for (const app of await findNamedApps(runner, batch)) apps.push(toQueued(app, slugs))
      return { apps: await withSimilar(apps), ...page }
    },

    /** The next apps of a queue after a place, or from its beginning; `findNextApps` says more. */
    async walkQueue(order: QueueOrder, after: Place | undefined, limit: number) {
      const { apps, similar, ...step } = await findNextApps(runner, order, after, limit)
      const slugs = await categorySlugs()
      const queued = apps.map((app) => toQueued(app, slugs))
      return { apps: await withSimilar(queued, similar), ...step }
    },

    /** A page of the apps in a state, or in any, newest first, and the total. */
    async list(state: AppState | undefined, filter: AppFilter, limit: number, offset: number) {
      const { ids, total } = await findPage(runner, states[state ?? 'any'], filter, limit, offset)
      return { apps: await findListed(ids), total }
    },

    /** A page of the apps that a text finds, and their number. */
    async find(text: string, limit: number, offset: number) {
      const { ids, hasMore } = await findApps(runner, text, maxMatches)
      return {
        apps: await findListed(ids.slice(offset, offset + limit)),
        total: ids.length,
        ...(hasMore && { note: cutNote('first') }),
      }
    },

    /**
     * `toEntry` as in `readNewest`. Throws an OperatorError if there is no such app.
     */
    async reviewDetails<Entry>(
      id: number,
      historyLimit: number,
      toEntry: (entry: AuditEntry) => Entry,
    ): Promise<AppReviewDetails<Entry>> {
      const app = await requireApp(id)
      const { entries, hasOlder } = await readNewest(
        (work) => work(runner),
        { appId: id },
        historyLimit,
        toEntry,
      )
      return {
        app,
        similar: (await findSimilarApps(runner, [app])).flat(),
        changes: ownerChanges(app, await categorySlugs()),
        history: entries,
        hasOlderHistory: hasOlder,
      }
    },

    /**
     * Throws an OperatorError if the app's status does not allow the decision. `before` is the app
     * that it is about.
     */
    async decide(
      decision: Decision,
      id: number,
      actor: Actor,
      { reason, revision }: DecisionOptions = {},
    ): Promise<DecisionResult & { before: AppRow }> {
      const rejection_reason = decision === 'reject' ? parseReason(reason ?? '') : null
      const app = await requireActiveApp(id)
      if (!canDecide(decision, app)) throw new OperatorError(`app ${id} is already ${app.status}`)
      assertRevision(app, revision)
      const status = statusAfterDecision[decision]
      const now = timestampAfter(app.updated_at)
      const approved_at = status === 'approved' ? (app.approved_at ?? now) : app.approved_at
      await saveApp(
        runner,
        `app ${decision}`,
        app,
        {
          updated_at: now,
          status,
          approved_at,
          rejection_reason,
          ...(decision === 'reopen' ? reopenedColumns(now) : decidedColumns(now)),
        },
        actor,
      )
      return { id, slug: app.slug, status, before: app }
    },

    /**
     * Restores a deleted app in the status it had. Throws an OperatorError if it is not deleted, or
     * has another revision now.
     */
    async restore(id: number, actor: Actor, revision?: string): Promise<DecisionResult> {
      const app = await requireApp(id, { forUpdate: true })
      if (!app.deleted_at) throw new OperatorError(`app ${id} is not deleted; it is ${app.status}`)
      assertRevision(app, revision)
      await saveApp(runner, 'app restore', app, { deleted_at: null }, actor)
      return { id, slug: app.slug, status: app.status }
    },

    /** Throws an OperatorError if there is no such developer, or the app is theirs already. */
    async transfer(id: number, to: string, actor: Actor) {
      const app = await requireActiveApp(id)
      const developer = await lookUpDeveloper(runner, to)
      if (developer.id === app.developer_id)
        throw new OperatorError(`app ${id} already belongs to ${JSON.stringify(developer.name)}`)
      await saveApp(runner, 'app transfer', app, { developer_id: developer.id }, actor)
      return { id, slug: app.slug, developer_name: developer.name }
    },
  }
}

/** Throws an OperatorError if the app has another revision than the given one. */
function assertRevision({ id, revision }: AppRow, given: string | undefined) {
  if (given === undefined || given === revision) return
  throw new OperatorError(`app ${id} has changed since revision ${given}; look at it again`)
}

/** The owner's changes since the last decision, without those that were undone. */
function ownerChanges(
  app: Pick<AppRow, 'unreviewed_changes' | OwnerColumn>,
  categorySlugs: Map<unknown, string>,
): Change[] {
  const before = parseUnreviewed(app)
  const textOf = (column: OwnerColumn, value: unknown) => {
    const shown = column === 'category_id' ? categorySlugs.get(value) : value
    return shown === null || shown === undefined ? null : String(shown)
  }
  return ownerColumns
    .filter((column) => column in before && before[column] !== app[column])
    .map((column) => ({
      field: column === 'category_id' ? 'category' : column,
      before: textOf(column, before[column]),
      after: textOf(column, app[column]),
    }))
}
