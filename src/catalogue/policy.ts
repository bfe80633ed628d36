import type { Caller } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import type { AppRow, AppStatus } from '../db/rows.ts'
import { pick } from '../util/helpers.ts'
import { type OwnerColumn, ownerColumns } from './app-columns.ts'

/**
 * Rules for who may change an app, and how a change affects its status and review. An owner's
 * changes of a decided app are unreviewed until the next decision; until then,
 * `unreviewed_changes` holds the former values. Pure functions.
 */

/** Whether an app is in the public list. In SQL, this is `listedCondition` in db/listed-apps.ts. */
export const isListed = ({ status, deleted_at }: Pick<AppRow, 'status' | 'deleted_at'>): boolean =>
  status === 'approved' && deleted_at === null

/** Package names that differ only in case are the same. */
export const packageKey = (name: string): string => name.toLowerCase()

/** Throws `forbidden` if the app belongs to another developer. */
export function assertOwner(caller: Caller, app: Pick<AppRow, 'developer_id'>): void {
  if (caller.developerId === app.developer_id) return
  throw new ServiceError(
    'forbidden',
    'This app belongs to another developer; only its owner may change or delete it.',
  )
}

/** An owner's update of a rejected app requests another review. */
export const statusAfterUpdate = (status: AppStatus): AppStatus =>
  status === 'rejected' ? 'pending' : status

/** The status of an app after a decision. */
export const statusAfterDecision = {
  approve: 'approved',
  reject: 'rejected',
  reopen: 'pending',
} as const satisfies Record<string, AppStatus>

export type Decision = keyof typeof statusAfterDecision

/**
 * A decision changes the status, or approves the unreviewed changes of an approved app. `reopen`
 * takes back any other one.
 */
export const canDecide = (
  decision: Decision,
  app: Pick<AppRow, 'status' | 'unreviewed_since'>,
): boolean =>
  app.status !== statusAfterDecision[decision] ||
  (decision === 'approve' && app.unreviewed_since !== null)

/** The columns of an app that an operator decides on now: it has no unreviewed changes. */
export const decidedColumns = (now: string) => ({
  unreviewed_since: null,
  unreviewed_changes: null,
  decided_at: now,
})

/**
 * Since when the app, or the owner's changes of it, have waited for a decision; null if nothing does.
 * In SQL, this is `waitingSince` and `queues` in app-states.ts.
 */
export const waitsSince = ({
  status,
  unreviewed_since,
  created_at,
}: Pick<AppRow, 'status' | 'unreviewed_since' | 'created_at'>): string | null =>
  unreviewed_since ?? (status === 'pending' ? created_at : null)

/** Returns the value of the column `unreviewed_changes` after an owner's changes. */
export function mergeUnreviewed(app: AppRow, changes: Partial<AppRow>): string {
  const changed = ownerColumns.filter(
    (column) => changes[column] !== undefined && changes[column] !== app[column],
  )
  // For a column that was changed before, keep the earlier value, from the last decision.
  const before: UnreviewedChanges = { ...pick(app, ...changed), ...parseUnreviewed(app) }
  // In the order of the columns, so that equal changes give equal texts.
  return JSON.stringify(before, [...ownerColumns])
}

/**
 * The columns that the owner has changed since the last decision, with their values at that
 * decision.
 */
type UnreviewedChanges = Partial<Pick<AppRow, OwnerColumn>>

export const parseUnreviewed = ({
  unreviewed_changes,
}: Pick<AppRow, 'unreviewed_changes'>): UnreviewedChanges =>
  unreviewed_changes === null ? {} : JSON.parse(unreviewed_changes)
