import type { AuditEntry } from '../../audit/read-entries.ts'
import { isAddressColumn } from '../../catalogue/app-columns.ts'
import type { Change } from '../../moderation/app-details.ts'
import { formatAddress, maxExcerptLength } from '../../moderation/describe.ts'
import { actorOf, changesOf, type EntryChange, subjectOf } from '../../moderation/describe-entry.ts'
import { lengthOf, shorten } from '../../util/text.ts'

/** Excerpts of what others wrote, so that no page has more than two megabytes. */

export const excerptOf = (text: string): string => shorten(text, maxExcerptLength, lengthOf)

/** A value of an owner or an audit entry. */
export const wholeValue = (column: string, text: string): string =>
  isAddressColumn(column) ? formatAddress(text) : text

export const shortValue = (column: string, text: string): string =>
  isAddressColumn(column) ? formatAddress(text, maxExcerptLength) : excerptOf(text)

type Values = { before?: string | null; after: string | null }

/** A change as a page shows it, and whether its former or its present value is cut. */
type Shown<Change extends Values> = Change & { isCut: boolean }

function toShown<Change extends Values>(
  change: Change,
  column: string,
  shownValue: typeof wholeValue,
): Shown<Change> {
  const before = change.before && shownValue(column, change.before)
  const after = change.after && shownValue(column, change.after)
  const isCut =
    before !== (change.before && wholeValue(column, change.before)) ||
    after !== (change.after && wholeValue(column, change.after))
  return { ...change, ...(before !== undefined && { before }), after, isCut }
}

/** A change of an owner. */
export type ShownChange = Shown<Change>

export const wholeChange = (change: Change): ShownChange =>
  toShown(change, change.field, wholeValue)
export const shortChange = (change: Change): ShownChange =>
  toShown(change, change.field, shortValue)

/** An entry of the audit log. */
export type ShownEntry = Pick<AuditEntry, 'id' | 'at' | 'action' | 'app_id'> & {
  actor: string | null
  subject: string
  changes: Shown<EntryChange>[]
}

export const wholeEntry = (entry: AuditEntry): ShownEntry => toShownEntry(entry, wholeValue)
export const shortEntry = (entry: AuditEntry): ShownEntry => toShownEntry(entry, shortValue)

const toShownEntry = (entry: AuditEntry, shownValue: typeof wholeValue): ShownEntry => ({
  id: entry.id,
  at: entry.at,
  action: entry.action,
  app_id: entry.app_id,
  actor: actorOf(entry),
  subject: subjectOf(entry),
  changes: changesOf(entry).map((change) => toShown(change, change.column, shownValue)),
})
