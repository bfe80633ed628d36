import { type Account, accountStore } from '../accounts/store.ts'
import { type Actor, type AuditEntry, auditStore } from '../audit/store.ts'
import { categoryStore } from '../catalogue/categories.ts'
import { canDecide, type Decision, decisions, parseUnreviewed, reviewedColumns } from '../catalogue/policy.ts'
import { type AppWithReviews, appStore } from '../catalogue/store.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { Connection } from '../db/dialect.ts'
import { type AppRow, type AppStatus, type OwnerColumn, ownerColumns } from '../db/tables.ts'
import { required } from '../util/helpers.ts'
import { type AppFilter, type AppState, findPage, findPageInState, queues } from './app-filter.ts'

/** A field that the owner has changed since the last decision. The value of `category` is its slug. */
export type Change = { field: string; before: string | null; after: string | null }

type NamedApp = AppRow & { developer_name: string; category_slug: string }
type Names = 'name' | 'slug' | 'developer_name' | 'category_slug'

export type QueueEntry = Pick<NamedApp, 'id' | Names | 'short_description' | 'created_at' | 'updated_at'> & {
  waiting_since: string
  changes: Change[]
}

export type AppEntry = Pick<
  NamedApp,
  'id' | Names | 'package_name' | 'status' | 'deleted_at' | 'created_at' | 'updated_at'
>

/** Everything that a decision on an app may need. */
export type AppReviewDetails = {
  app: AppWithReviews
  developer: Account
  changes: Change[]
  /** The newest audit entries, oldest first. */
  history: AuditEntry[]
  hasOlderHistory: boolean
}

export type DecisionResult = { id: number; slug: string; status: AppStatus }

export type DecisionOptions = {
  /** Required for a rejection; the owner reads it. */
  reason?: string | undefined
  /** Throws if the app was updated after this time. */
  asOf?: string | undefined
}

const operatorError = (message: string) => new OperatorError(message)

export type Queue = keyof typeof queues

export const moderationStore = (connection: Connection) => {
  const { sql } = connection
  const apps = appStore(connection)
  const audit = auditStore(connection)

  /** Throws an OperatorError if there is no such app. Finds deleted ones, too. */
  async function requireApp(id: number, { forUpdate = false } = {}): Promise<AppWithReviews> {
    const app = await apps.find(id, { includeDeleted: true, forUpdate })
    if (!app) throw operatorError(`there is no app ${id}`)
    return app
  }

  async function requireActiveApp(id: number): Promise<AppWithReviews> {
    const app = await requireApp(id, { forUpdate: true })
    if (app.deleted_at) throw operatorError(`app ${id} is deleted now; it must be restored first`)
    return app
  }

  /** Without changes that were undone since. */
  function ownerChanges(app: ChangingApp, categorySlugs: Map<unknown, string>): Change[] {
    const before = parseUnreviewed(app)
    return ownerColumns
      .filter((field) => field in before && before[field] !== app[field])
      .map((field) => {
        const shown = (value: unknown) => (field === 'category_id' ? categorySlugs.get(value) : value)
        const name = field === 'category_id' ? 'category' : field
        return { field: name, before: textOrNull(shown(before[field])), after: textOrNull(shown(app[field])) }
      })
  }

  /** Apps in the order of the ids. */
  async function findNamedApps(ids: number[]): Promise<NamedApp[]> {
    const rows: NamedApp[] = await sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .join('categories', 'categories.id', 'apps.category_id')
      .whereIn('apps.id', ids)
      .select('apps.*', 'developers.name as developer_name', 'categories.slug as category_slug')
    const positions = new Map(ids.map((id, position) => [id, position]))
    const positionOf = ({ id }: NamedApp) => required(positions.get(id), `the position of app ${id}`)
    return rows.toSorted((a, b) => positionOf(a) - positionOf(b))
  }

  async function categorySlugs(): Promise<Map<unknown, string>> {
    return new Map((await categoryStore(connection).all()).map(({ id, slug }) => [id, slug]))
  }

  return {
    requireApp,

    /** A page of the apps that wait for a decision, longest first, and the total. */
    async queue(
      queue: Queue,
      filter: AppFilter,
      limit: number,
      offset: number,
    ): Promise<{ apps: QueueEntry[]; total: number; note?: string }> {
      const { ids, ...page } = await findPage(connection, queues[queue], filter, limit, offset)
      const slugs = await categorySlugs()
      const entries: QueueEntry[] = []
      for (const app of await findNamedApps(ids)) {
        const { id, name, slug, short_description, developer_name, category_slug, created_at, updated_at } = app
        const waiting_since = app.unreviewed_since ?? created_at
        const changes = ownerChanges(app, slugs)
        const texts = { name, slug, short_description, developer_name, category_slug }
        entries.push({ id, ...texts, created_at, updated_at, waiting_since, changes })
      }
      return { apps: entries, ...page }
    },

    /** A page of the apps in a state, or in any, in the order of `findPageInState`, and the total. */
    async list(
      state: AppState | undefined,
      filter: AppFilter,
      limit: number,
      offset: number,
    ): Promise<{ apps: AppEntry[]; total: number; note?: string }> {
      const { ids, ...page } = await findPageInState(connection, state, filter, limit, offset)
      const apps = (await findNamedApps(ids)).map((app) => {
        const { id, name, slug, package_name, developer_name, category_slug, status, deleted_at } = app
        const { created_at, updated_at } = app
        return {
          id,
          name,
          slug,
          package_name,
          developer_name,
          category_slug,
          status,
          deleted_at,
          created_at,
          updated_at,
        }
      })
      return { apps, ...page }
    },

    /** Throws an OperatorError if there is no such app. */
    async reviewDetails(id: number, historyLimit: number): Promise<AppReviewDetails> {
      const app = await requireApp(id)
      const [developer] = await accountStore(connection).accounts([app.developer_id])
      const { entries, hasOlder } = await audit.list({ appId: id }, historyLimit)
      const changes = ownerChanges(app, await categorySlugs())
      return {
        app,
        developer: required(developer, `the developer of app ${id}`),
        changes,
        history: entries,
        hasOlderHistory: hasOlder,
      }
    },

    /** Throws an OperatorError if the app's status does not allow the decision. */
    async decide(
      decision: Decision,
      id: number,
      actor: Actor,
      { reason, asOf }: DecisionOptions = {},
    ): Promise<DecisionResult> {
      const rejection_reason = decision === 'reject' ? parseReason(reason ?? '') : null
      const app = await requireActiveApp(id)
      if (!canDecide(decision, app)) throw operatorError(`app ${id} is ${app.status} already`)
      if (asOf !== undefined && app.updated_at > asOf) {
        throw operatorError(`app ${id} was updated at ${app.updated_at}, after the time given; look at it again`)
      }
      const status = decisions[decision]
      const approved_at = status === 'approved' ? (app.approved_at ?? new Date().toISOString()) : app.approved_at
      await apps.save(`app ${decision}`, app, { status, approved_at, rejection_reason, ...reviewedColumns }, actor)
      return { id, slug: app.slug, status }
    },

    /** Restores a deleted app in the status it had. Throws an OperatorError if it is not deleted. */
    async restore(id: number, actor: Actor): Promise<DecisionResult> {
      const app = await requireApp(id, { forUpdate: true })
      if (!app.deleted_at) throw operatorError(`app ${id} is not deleted; it is ${app.status}`)
      await apps.save('app restore', app, { deleted_at: null }, actor)
      return { id, slug: app.slug, status: app.status }
    },

    /** Throws an OperatorError if there is no such developer, or the app is theirs already. */
    async transfer(
      id: number,
      to: string,
      actor: Actor,
    ): Promise<{ id: number; slug: string; developer_name: string }> {
      const app = await requireActiveApp(id)
      const developer = await accountStore(connection).requireDeveloper(to)
      if (developer.id === app.developer_id)
        throw operatorError(`app ${id} belongs to ${JSON.stringify(developer.name)} already`)
      await apps.save('app transfer', app, { developer_id: developer.id }, actor)
      return { id, slug: app.slug, developer_name: developer.name }
    },
  }
}

type ChangingApp = Pick<AppWithReviews, 'unreviewed_changes' | OwnerColumn>

const textOrNull = (value: unknown) => (value === null || value === undefined ? null : String(value))
