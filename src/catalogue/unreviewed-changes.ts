import { type AppRow, type OwnersColumn, ownersColumns } from '../db/tables.ts'
import type { AppRowChanges } from './store.ts'

/** What an operator has yet to look at: of the fields that the owner has changed since the last decision, what they were then. Pure. */
export type Unreviewed = Partial<Pick<AppRow, OwnersColumn>>

export const unreviewedOf = ({ unreviewed_changes }: Pick<AppRow, 'unreviewed_changes'>): Unreviewed =>
  unreviewed_changes === null ? {} : JSON.parse(unreviewed_changes)

/** The columns of an app that an operator has looked at as it is. */
export const reviewed = { unreviewed_since: null, unreviewed_changes: null }

/** With what an owner changes now, as it is kept. */
export function unreviewedAfter(app: AppRow, changes: AppRowChanges): string {
  const changed = ownersColumns.filter((column) => changes[column] !== undefined && changes[column] !== app[column])
  const before = Object.fromEntries(changed.map((column) => [column, app[column]]))
  // What was noted earlier is older, so it stays.
  return unreviewedText({ ...before, ...unreviewedOf(app) })
}

/** As it is kept: equal values are one text. */
export const unreviewedText = (before: Unreviewed): string =>
  JSON.stringify(
    Object.fromEntries(ownersColumns.filter((column) => column in before).map((column) => [column, before[column]])),
  )
