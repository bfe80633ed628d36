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

/** Of each action, `did` as in "Ada approved X", and `done` as in "Approved by Ada". */
const actions: Record<Action, { did: string; done: string }> = {
  'app create': { did: 'created', done: 'Created' },
  'app update': { did: 'changed', done: 'Changed' },
  'app delete': { did: 'deleted', done: 'Deleted' },
  'app approve': { did: 'approved', done: 'Approved' },
  'app reject': { did: 'rejected', done: 'Rejected' },
  'app reopen': { did: 'reopened', done: 'Reopened' },
  'app restore': { did: 'restored', done: 'Restored' },
  'app transfer': { did: 'transferred', done: 'Transferred' },
  'package name release': {
    did: 'gave up the package name of',
    done: 'Package name given up',
  },
  'app hide': { did: 'hid', done: 'Hidden' },
  'app import': { did: 'imported', done: 'Imported' },
  'app counters': { did: 'updated the counts of', done: 'Counts updated' },
  'review remove': { did: 'removed a review of', done: 'Review removed' },
  'key issue': { did: 'issued a key to', done: 'Key issued' },
  'key revoke': { did: 'revoked a key of', done: 'Key revoked' },
  'developer contact': { did: 'changed the contact of', done: 'Contact changed' },
  'developer rename': { did: 'renamed', done: 'Renamed' },
  'developer remove': { did: 'removed', done: 'Removed' },
  'category add': { did: 'added', done: 'Added' },
  'category rename': { did: 'renamed', done: 'Renamed' },
  'category remove': { did: 'removed', done: 'Removed' },
  'moderator add': { did: 'gave a sign-in key to', done: 'Sign-in key given' },
  'moderator revoke': { did: 'revoked a sign-in key of', done: 'Sign-in key revoked' },
}

/** Entries of earlier versions have other actions, too, which are shown as they are. */
export const actionWords = (action: string): { did: string; done: string } =>
  Object.hasOwn(actions, action) ? actions[action as Action] : { did: action, done: action }

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
  `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`
