import { type Account, accountStore } from '../accounts/store.ts'
import { type Actor, type AuditEntry, auditStore } from '../audit/store.ts'
import { categoryStore } from '../catalogue/categories.ts'
import { canDecide, type Decision, decisions } from '../catalogue/policy.ts'
import { type AppWithReviews, appStore } from '../catalogue/store.ts'
import { parseUnreviewed, reviewedColumns } from '../catalogue/unreviewed-changes.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { Connection } from '../db/dialect.ts'
import { type AppRow, type AppStatus, type OwnerColumn, ownerColumns } from '../db/tables.ts'
import { type AppFilter, type AppState, findPage, findPageInState, queues } from './app-filter.ts'

/** A field that an app's owner has changed since an operator's last decision. A category is told by its slug. */
export type Change = { field: string; before: string | null; after: string | null }

export type QueueEntry = {
  id: number
  name: string
  slug: string
  short_description: string | null
  developer_name: string
  category_slug: string
  created_at: string
  updated_at: string
  waiting_since: string
  changes: Change[]
}

/** An app as a list of them shows it. */
export type AppEntry = {
  id: number
  name: string
  slug: string
  package_name: string | null
  developer_name: string
  category_slug: string
  status: AppStatus
  deleted_at: string | null
  created_at: string
  updated_at: string
}

/** All that a decision on an app may need. */
export type AppReviewDetails = {
  app: AppWithReviews
  developer: Account
  changes: Change[]
  /** The newest entries of the audit, oldest first. */
  history: AuditEntry[]
  hasOlderHistory: boolean
}

export type DecisionResult = { id: number; slug: string; status: AppStatus }

export type DecisionOptions = {
  /** Required with a rejection; the owner reads it. */
  reason?: string | undefined
  /** The app must not have been updated after this time. */
  asOf?: string | undefined
}

const operatorError = (message: string) => new OperatorError(message)

export type Queue = keyof typeof queues

export const moderationStore = (connection: Connection) => {
  const { sql } = connection
  const apps = appStore(connection)
  const audit = auditStore(connection)

  /** Refuses where there is no such app, not even a deleted one. */
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

  /** Changes that were undone meanwhile are none. */
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

  /** Apps with the names that operators know their developers and categories by, in the order of the ids. */
  async function findNamedApps(ids: number[]): Promise<NamedApp[]> {
    const rows: NamedApp[] = await sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .join('categories', 'categories.id', 'apps.category_id')
      .whereIn('apps.id', ids)
      .select('apps.*', 'developers.name as developer_name', 'categories.slug as category_slug')
    const positions = new Map(ids.map((id, position) => [id, position]))
    return rows.toSorted((a, b) => Number(positions.get(a.id)) - Number(positions.get(b.id)))
  }

  async function categorySlugs(): Promise<Map<unknown, string>> {
    return new Map((await categoryStore(connection).all()).map(({ id, slug }) => [id, slug]))
  }

  return {
    requireApp,

    /** A page of what waits for an operator, longest first, and how much that is. */
    async queue(
      queue: Queue,
      filter: AppFilter,
      limit: number,
      offset: number,
    ): Promise<{ apps: QueueEntry[]; total: number }> {
      const { ids, total } = await findPage(connection, queues[queue], filter, limit, offset)
      const slugs = await categorySlugs()
      const entries: QueueEntry[] = []
      for (const app of await findNamedApps(ids)) {
        const { id, name, slug, short_description, developer_name, category_slug, created_at, updated_at } = app
        const waiting_since = app.unreviewed_since ?? created_at
        const changes = ownerChanges(app, slugs)
        const texts = { name, slug, short_description, developer_name, category_slug }
        entries.push({ id, ...texts, created_at, updated_at, waiting_since, changes })
      }
      return { apps: entries, total }
    },

    /** A page of the apps in a state, or in any, newest first; where a text is searched for, as `findPageInState` says. */
    async list(
      state: AppState | undefined,
      filter: AppFilter,
      limit: number,
      offset: number,
    ): Promise<{ apps: AppEntry[]; total: number }> {
      const { ids, total } = await findPageInState(connection, state, filter, limit, offset)
      const apps = (await findNamedApps(ids)).map((app) => ({
        id: app.id,
        name: app.name,
        slug: app.slug,
        package_name: app.package_name,
        developer_name: app.developer_name,
        category_slug: app.category_slug,
        status: app.status,
        deleted_at: app.deleted_at,
        created_at: app.created_at,
        updated_at: app.updated_at,
      }))
      return { apps, total }
    },

    /** Refuses where there is no such app, not even a deleted one. */
    async reviewDetails(id: number, historyLimit: number): Promise<AppReviewDetails> {
      const app = await requireApp(id)
      const [developer] = await accountStore(connection).accounts([app.developer_id])
      if (!developer) throw new Error(`app ${id} has no developer`)
      const { entries, hasOlder } = await audit.list({ appId: id }, historyLimit)
      const changes = ownerChanges(app, await categorySlugs())
      return { app, developer, changes, history: entries, hasOlderHistory: hasOlder }
    },

    /** Refuses, with what the app is now, where that does not allow the decision. */
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

    /** A deleted app comes back in the state it had. Refuses where it is not deleted. */
    async restore(id: number, actor: Actor): Promise<DecisionResult> {
      const app = await requireApp(id, { forUpdate: true })
      if (!app.deleted_at) throw operatorError(`app ${id} is not deleted; it is ${app.status}`)
      await apps.save('app restore', app, { deleted_at: null }, actor)
      return { id, slug: app.slug, status: app.status }
    },

    /** Refuses where there is no such developer, or the app is theirs already. */
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

type NamedApp = AppRow & { developer_name: string; category_slug: string }

type ChangingApp = Pick<AppWithReviews, 'unreviewed_changes' | OwnerColumn>

const textOrNull = (value: unknown) => (value === null || value === undefined ? null : String(value))
