import { keyPrefix } from '../accounts/keys.ts'
import type { AuditEntry } from '../audit/read-entries.ts'
import { readableValue } from '../catalogue/keywords.ts'
import type { AuditRow } from '../db/rows.ts'

/** Formats an audit entry: who made the change, its subject, and the values. */

type OperatorColumns = Pick<AuditRow, 'operator' | 'operator_name' | 'operator_id'>

/** The account, with the name that its user claims; or the name that signed in. */
export function formatOperator({
  operator,
  operator_name,
  operator_id,
}: OperatorColumns): string | null {
  if (operator_name === null) return operator
  return `${operator_name} (${operator_id === null ? operator : 'signed in'})`
}

/**
 * The operator, or the developer with the key. An entry has no separate column for that developer,
 * because developers change only their own apps: it is the one that the entry is about.
 */
export const actorOf = ({
  key_id,
  developer_id,
  developer_name,
  ...entry
}: AuditEntry): string | null =>
  key_id === null
    ? formatOperator(entry)
    : `${developer_name ?? `developer ${developer_id}`} (${keyPrefix(key_id)})`

export function subjectOf({
  after,
  app_id,
  app_slug,
  developer_id,
  developer_name,
  category_id,
  category_slug,
}: AuditEntry): string {
  if (app_id !== null) return `app ${app_id} ${app_slug}`
  if (category_id !== null) return `category ${category_slug ?? `${category_id} (removed)`}`
  if (developer_id !== null) return `developer ${developer_name ?? `${developer_id} (removed)`}`
  // No column names the moderator.
  return `moderator ${after.name}`
}

/** A column of an entry. `before` is missing if there was no value, or it is the same. */
export type EntryChange = { column: string; before?: string; after: string }

/** The columns of an entry that people see; of a removed review, also those that it had. */
export const changesOf = ({ action, before, after }: AuditEntry): EntryChange[] =>
  Object.entries(action === 'review remove' ? { ...after, ...withoutValues(before ?? {}) } : after)
    .filter(([, value]) => value !== null || before !== null)
    .map(([column, value]) => ({
      column,
      ...(before !== null &&
        before[column] !== value && { before: formatValue(column, before[column]) }),
      after: formatValue(column, value),
    }))

/** The same columns, except the app's id, which the entry has anyway. */
const withoutValues = ({ app_id: _, ...columns }: Record<string, unknown>) =>
  Object.fromEntries(Object.keys(columns).map((column) => [column, null]))

const formatValue = (column: string, value: unknown) =>
  value === null || value === undefined ? '–' : String(readableValue(column, value))
