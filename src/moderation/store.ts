import type { Actor } from '../actor.ts'
import { type Decision, decisions } from '../apps/policy.ts'
import { appStore } from '../apps/store.ts'
import type { Connection } from '../db/open.ts'
import { ServiceError } from '../errors.ts'

export type QueueEntry = {
  id: number
  name: string
  slug: string
  developer_name: string
  category_slug: string
  created_at: string
}
export type Decided = { id: number; slug: string; status: 'approved' | 'rejected' }

const maximumReason = 1000

export const moderationStore = (connection: Connection) => ({
  /** Pending apps, those waiting longest first. */
  queue(limit: number): Promise<QueueEntry[]> {
    return connection
      .sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .join('categories', 'categories.id', 'apps.category_id')
      .whereRaw("apps.status = 'pending' and apps.deleted_at is null")
      .orderBy(['apps.created_at', 'apps.id'])
      .limit(limit)
      .select(
        'apps.id',
        'apps.name',
        'apps.slug',
        'developers.name as developer_name',
        'categories.slug as category_slug',
        'apps.created_at',
      )
  },

  /** Throws `refused` where there is no such app or its status does not allow the decision. A rejection has a reason, which the owner reads. */
  async decide(decision: Decision, id: number, actor: Actor, reason: string | null): Promise<Decided> {
    if (reason !== null && (reason.trim() === '' || [...reason.trim()].length > maximumReason)) {
      throw new ServiceError('refused', `a reason must have 1 to ${maximumReason} characters`)
    }
    const apps = appStore(connection)
    const app = await apps.find(id)
    if (!app) throw new ServiceError('refused', `there is no app ${id}`)
    const { from, to } = decisions[decision]
    if (!from.some((status) => status === app.status)) {
      throw new ServiceError('refused', `app ${id} is ${app.status} now, so it cannot be ${to}`)
    }
    const approved_at = to === 'approved' ? (app.approved_at ?? new Date().toISOString()) : app.approved_at
    const rejection_reason = to === 'rejected' ? (reason?.trim() ?? null) : null
    await apps.save(
      `app ${decision}`,
      app,
      { status: to, approved_at, rejection_reason, unreviewed_since: null },
      actor,
    )
    return { id, slug: app.slug, status: to }
  },
})
