import { isAddressColumn } from '../../../catalogue/app-columns.ts'
import type { Change } from '../../../moderation/moderation-store.ts'
import { wordDifference } from '../../../util/word-difference.ts'
import { type Html, html } from '../../html.ts'
import { addressText } from './parts.ts'
import { columnLabel } from './words.ts'

/** The changes of an owner. */

const none = html`<span class="quiet">none</span>`

/** The former and the present values as they are. */
export const changeList = (changes: Change[]) => list(changes, values)

/**
 * The words that differ, or both values side by side if most of them do. Addresses are as they are,
 * because a word of them could hide what differs.
 */
export const wordChanges = (changes: Change[]) =>
  list(changes, (change) => (isAddressColumn(change.field) ? values(change) : words(change)))

const list = (changes: Change[], valuesOf: (change: Change) => Html) =>
  html`<dl class="changes">${changes.map(
    (change) => html`
<div><dt>${columnLabel(change.field)}</dt>${valuesOf(change)}</div>`,
  )}
</dl>`

function values({ field, before, after }: Change) {
  const shown = (text: string) => (isAddressColumn(field) ? addressText(text) : text)
  const old = before === null ? none : html`<del>${shown(before)}</del>`
  return html`<dd dir="auto" class="text">${old} → ${after === null ? none : html`<ins>${shown(after)}</ins>`}</dd>`
}

function words({ before, after }: Change) {
  const parts = wordDifference(before ?? '', after ?? '')
  if (parts)
    return html`<dd dir="auto" class="text">${parts.map(({ kind, text }) => {
      if (kind === 'removed') return html`<del>${text}</del>`
      return kind === 'added' ? html`<ins>${text}</ins>` : text
    })}</dd>`
  return html`<dd class="sides"><p dir="auto" class="text"><del>${before}</del></p><p dir="auto" class="text"><ins>${after}</ins></p></dd>`
}
