import type { Caller } from '../contract/contract.ts'
import { notFound, ServiceError } from '../contract/errors.ts'
import type { AppStatus } from '../db/tables.ts'

/** Who sees an app, who may change it, and what becomes of its status. Pure: the facts come in, the decision goes out. */

type Facts = { developer_id: number; status: AppStatus }

const isOwner = (caller: Caller | undefined, app: Facts) => caller?.developerId === app.developer_id

export const canSee = (caller: Caller | undefined, app: Facts) => app.status === 'approved' || isOwner(caller, app)

/** Throws `not_found` where the caller may not even know of the app, `forbidden` where it is somebody else's. */
export function assertOwner(caller: Caller, app: Facts) {
  if (isOwner(caller, app)) return
  if (!canSee(caller, app)) throw notFound()
  throw new ServiceError('forbidden', 'This app belongs to another developer; only its owner may change or delete it.')
}

/** An owner's update answers a rejection and asks for another look; else the status stays. */
export const statusAfterUpdate = (status: AppStatus): AppStatus => (status === 'rejected' ? 'pending' : status)

/** What an app becomes by an operator's decision. */
export const decisions = { approve: 'approved', reject: 'rejected' } as const satisfies Record<string, AppStatus>

export type Decision = keyof typeof decisions

/** A decision changes the status, or accepts what its owner has changed of an approved app since the last one. */
export const canDecide = (decision: Decision, app: { status: AppStatus; unreviewed_since: string | null }) =>
  app.status !== decisions[decision] || (decision === 'approve' && app.unreviewed_since !== null)
