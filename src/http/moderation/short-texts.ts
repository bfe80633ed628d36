import type { AuditEntry } from '../../audit/audit-store.ts'
import { actorOf, changesOf, type EntryChange, subjectOf } from '../../audit/describe-entry.ts'
import { isAddressColumn } from '../../catalogue/app-columns.ts'
import { formatAddress } from '../../moderation/describe.ts'
import type { Change } from '../../moderation/moderation-store.ts'
import { yieldBetween } from '../../util/helpers.ts'
import { shorten, shortenDifference } from '../../util/text.ts'
import { htmlSize } from '../html.ts'

/**
 * Shortens what others wrote, so that no page has more than a megabyte:
 * docs/decisions/0027-moderation-page.md adds up the worst cases. Sizes are in bytes of HTML.
 */

const valueSize = 150
const commentSize = 1000
/** Of a description in a queue: characters, of three bytes at most. */
const beginningSize = 500
const optionSize = 60

/** Characters of a comment that are read for a list: one more than it can show. */
export const maxReadComment = commentSize + 1

export const shortenValue = (text: string) => shorten(text, valueSize, htmlSize)

export const shortenColumn = (column: string, text: string) =>
  isAddressColumn(column) ? formatAddress(text, valueSize) : shortenValue(text)

export const shortenOption = (text: string) => shorten(text, optionSize, htmlSize)

export const shortenBeginning = (text: string) =>
  shorten(text, beginningSize, (part) => Math.max(part.length, htmlSize(part) / 3))

export const shortenComment = (text: string) => shorten(text, commentSize, htmlSize)

const shortenChange = (column: string, before: string, after: string) =>
  isAddressColumn(column)
    ? [formatAddress(before, valueSize), formatAddress(after, valueSize)]
    : shortenDifference(before, after, valueSize, htmlSize)

const wholeColumn = (column: string, text: string) =>
  isAddressColumn(column) ? formatAddress(text) : text

/** An entry of the audit log as a page shows it. */
export type ShownEntry = Pick<AuditEntry, 'id' | 'at' | 'action' | 'app_id'> & {
  actor: string | null
  subject: string
  changes: EntryChange[]
  isShortened: boolean
}

export const wholeEntry = (entry: AuditEntry): ShownEntry => ({
  id: entry.id,
  at: entry.at,
  action: entry.action,
  app_id: entry.app_id,
  actor: actorOf(entry),
  subject: subjectOf(entry),
  changes: changesOf(entry).map(({ column, before, after }) => ({
    column,
    ...(before !== undefined && { before: wholeColumn(column, before) }),
    after: wholeColumn(column, after),
  })),
  isShortened: false,
})

export function shortEntry(entry: AuditEntry): ShownEntry {
  const whole = wholeEntry(entry)
  const changes = changesOf(entry).map(({ column, before, after }): EntryChange => {
    if (before === undefined) return { column, after: shortenColumn(column, after) }
    const [old = '', now = ''] = shortenChange(column, before, after)
    return { column, before: old, after: now }
  })
  return { ...whole, changes, isShortened: differ(changes, whole.changes) }
}

/** A change with its whole values as a page shows them. */
export const wholeChange = ({ field, before, after }: Change): Change => ({
  field,
  before: before && wholeColumn(field, before),
  after: after && wholeColumn(field, after),
})

/** An app of a queue, with what its list shows of the changes. */
export type WithShortChanges<App> = App & { isShortened: boolean }

/** Other requests run between the apps. */
export async function shortenChanges<App extends { changes: Change[] }>(
  apps: App[],
  signal: AbortSignal,
): Promise<WithShortChanges<App>[]> {
  const shortened = []
  for await (const app of yieldBetween(apps, signal)) {
    const changes = app.changes.map(({ field, before, after }): Change => {
      const [old = '', now = ''] = shortenChange(field, before ?? '', after ?? '')
      return { field, before: before && old, after: after && now }
    })
    const isShortened = differ(changes, app.changes.map(wholeChange))
    shortened.push({ ...app, changes, isShortened })
  }
  return shortened
}

type Values = { before?: string | null; after: string | null }

const differ = (shown: Values[], whole: Values[]) =>
  shown.some(
    ({ before, after }, index) => before !== whole[index]?.before || after !== whole[index]?.after,
  )
