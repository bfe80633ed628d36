import { keyPrefix } from '../accounts/keys.ts'
import type { AuditEntry } from './audit-store.ts'

/** Who made a change, and of what, in words for operators. */

/** The account, and the name that its user claims, if any. */
export const formatOperator = (operator: string | null, operatorName: string | null) =>
  operatorName === null ? operator : `${operatorName} (${operator})`

/**
 * The operator, or the developer with the key. An entry has no separate column for that developer,
 * because developers change only their own apps: it is the one that the entry is about.
 */
export const actorOf = ({
  operator,
  operator_name,
  key_id,
  developer_id,
  developer_name,
}: AuditEntry) =>
  key_id === null
    ? formatOperator(operator, operator_name)
    : `${developer_name ?? `developer ${developer_id}`} (${keyPrefix(key_id)})`

export function subjectOf({
  app_id,
  app_slug,
  developer_id,
  developer_name,
  category_id,
  category_slug,
}: AuditEntry): string {
  if (app_id !== null) return `app ${app_id} ${app_slug}`
  return category_id === null
    ? `developer ${developer_name ?? `${developer_id} (removed)`}`
    : `category ${category_slug ?? `${category_id} (removed)`}`
}
