import type { Action } from '../../audit/audit-store.ts'
import { type AppColumn, appColumns } from '../../catalogue/app-columns.ts'
import type { StateCounts } from '../../catalogue/app-store.ts'
import type { NamesById } from '../../moderation/entries.ts'
import { formatCount } from '../../util/text.ts'
import { formatMoment } from '../../util/time.ts'

/** Readable texts for the short names in the database. */

export const stateNames: Record<keyof StateCounts, string> = {
  pending: 'Pending',
  approved: 'Approved',
  rejected: 'Rejected',
  deleted: 'Deleted',
}

/** Names of columns that are none of an app's, or that have no label of their own there. */
const otherLabels = new Map(
  Object.entries({
    app_id: 'Only for app',
    average_rating: 'Average rating',
    category: 'Category',
    comment: 'Comment',
    contact: 'Contact',
    deleted_at: 'Deleted',
    expires_at: 'Expires',
    id: 'Id',
    other_rating_count: 'Ratings without a review',
    rating: 'Rating',
    read_only: 'Read-only',
    reason: 'Reason',
    reviewer_name: 'Reviewer',
    revoked_at: 'Revoked',
    slug: 'Slug',
  }),
)

export function columnLabel(column: string): string {
  const label = Object.hasOwn(appColumns, column) ? appColumns[column as AppColumn].label : null
  return otherLabels.get(column) ?? label ?? column
}

/** As in "Ada approved X". */
const actions: Record<Action, string> = {
  'app create': 'created',
  'app update': 'changed',
  'app delete': 'deleted',
  'app approve': 'approved',
  'app reject': 'rejected',
  'app reopen': 'reopened',
  'app restore': 'restored',
  'app transfer': 'transferred',
  'package name release': 'gave up the package name of',
  'app hide': 'hid',
  'app import': 'imported',
  'app counters': 'updated the counts of',
  'review remove': 'removed a review of',
  'key issue': 'issued a key to',
  'key revoke': 'revoked a key of',
  'developer contact': 'changed the contact of',
  'developer rename': 'renamed',
  'developer remove': 'removed',
  'category add': 'added',
  'category rename': 'renamed',
  'category remove': 'removed',
  'moderator add': 'gave a sign-in key to',
  'moderator revoke': 'revoked a sign-in key of',
}

/** As in "Approved by Ada", if it is not the same word. The history of an app has no others. */
const doneActions: Partial<Record<string, string>> = {
  'package name release': 'Package name given up',
  'app hide': 'Hidden',
  'app counters': 'Counts updated',
  'review remove': 'Review removed',
}

/** Entries of earlier versions have other actions, too, which are shown as they are. */
export const didWords = (action: string): string =>
  Object.hasOwn(actions, action) ? actions[action as Action] : action

export const doneWords = (action: string): string =>
  doneActions[action] ?? capitalize(didWords(action))

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** A value of an entry as people write it. */
export function valueText(column: string, value: string, names: NamesById): string {
  if (column === 'category_id') return names.category.get(value) ?? `category ${value}`
  if (column === 'developer_id') return names.developer.get(value) ?? `developer ${value}`
  if (/_(at|since)$/.test(column) && isTime.test(value)) return `${formatMoment(value)} UTC`
  if (/_(downloads|count)$/.test(column) && /^\d{1,15}$/.test(value))
    return formatCount(Number(value))
  return value
}

const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** The decisions about a developer's apps, and how many wait if it is more than one. */
export function developerRecord(record: StateCounts | undefined): string {
  if (!record) return 'new'
  const { approved, rejected, pending } = record
  const decided = Object.entries({ approved, rejected })
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${formatCount(count)} ${state}`)
  const waiting = pending > 1 ? [`${formatCount(pending)} waiting`] : []
  return [...(decided.length === 0 ? ['new'] : decided), ...waiting].join(', ')
}

/** The message of an error as a sentence. */
export const sentenceOf = ({ message }: Error): string =>
  `${capitalize(message)}${/[.!?]$/.test(message) ? '' : '.'}`
