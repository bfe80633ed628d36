import type { Change } from '../../../moderation/moderation-store.ts'
import { wordDifference } from '../../../util/word-difference.ts'
import { html } from '../../html.ts'
import { columnLabel } from './words.ts'

/** What an owner has changed. */

const none = html`<span class="quiet">none</span>`

/** The former and the present values as they are. */
export const changeList = (changes: Change[]) => html`<dl class="changes">${changes.map(
  ({ field, before, after }) => html`
<div><dt>${columnLabel(field)}</dt><dd dir="auto" class="text">${before === null ? none : html`<del>${before}</del>`} → ${after === null ? none : html`<ins>${after}</ins>`}</dd></div>`,
)}
</dl>`

/** The words that differ, or both values side by side if most of them do. */
export const wordChanges = (changes: Change[]) => html`<dl class="changes">${changes.map(
  (change) => html`
<div><dt>${columnLabel(change.field)}</dt>${values(change)}</div>`,
)}
</dl>`

function values({ before, after }: Change) {
  const parts = wordDifference(before ?? '', after ?? '')
  if (parts)
    return html`<dd dir="auto" class="text">${parts.map(({ kind, text }) => {
      if (kind === 'removed') return html`<del>${text}</del>`
      return kind === 'added' ? html`<ins>${text}</ins>` : text
    })}</dd>`
  return html`<dd class="sides"><p dir="auto" class="text"><del>${before}</del></p><p dir="auto" class="text"><ins>${after}</ins></p></dd>`
}
