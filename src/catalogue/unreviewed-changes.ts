import { type AppRow, type OwnerColumn, ownerColumns } from '../db/tables.ts'
import type { AppRowChanges } from './store.ts'

/** What an operator has yet to look at: of the fields that the owner has changed since the last decision, what they were then. Pure. */
export type UnreviewedChanges = Partial<Pick<AppRow, OwnerColumn>>

export const parseUnreviewed = ({ unreviewed_changes }: Pick<AppRow, 'unreviewed_changes'>): UnreviewedChanges =>
  unreviewed_changes === null ? {} : JSON.parse(unreviewed_changes)

/** The columns of an app that an operator has looked at as it is. */
export const reviewedColumns = { unreviewed_since: null, unreviewed_changes: null }

/** With what an owner changes now, as it is kept. */
export function mergeUnreviewed(app: AppRow, changes: AppRowChanges): string {
  const changed = ownerColumns.filter((column) => changes[column] !== undefined && changes[column] !== app[column])
  const before = Object.fromEntries(changed.map((column) => [column, app[column]]))
  // What was noted earlier is older, so it stays.
  return serializeUnreviewed({ ...before, ...parseUnreviewed(app) })
}

/** As it is kept: equal values are one text. */
export const serializeUnreviewed = (before: UnreviewedChanges): string =>
  JSON.stringify(
    Object.fromEntries(ownerColumns.filter((column) => column in before).map((column) => [column, before[column]])),
  )
