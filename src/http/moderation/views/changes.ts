import { isAddressColumn } from '../../../catalogue/app-columns.ts'
import { wordDifference } from '../../../util/word-difference.ts'
import { type Html, html } from '../../html.ts'
import type { ShownChange } from '../short-texts.ts'
import { addressText } from './parts.ts'
import { columnLabel } from './words.ts'

/** What an owner has changed. */

const none = html`<span class="quiet">none</span>`

/** The former and the present values as they are. */
export const changeList = (changes: ShownChange[]) =>
  list(changes, ({ before, after }) => {
    const old = before === null ? none : html`<del>${before}</del>`
    return html`<dd dir="auto" class="text">${old} → ${after === null ? none : html`<ins>${after}</ins>`}</dd>`
  })

/** The words that differ, or both values side by side if most of them do. */
export const wordChanges = (changes: ShownChange[]) => list(changes, words)

const list = (changes: ShownChange[], values: (change: ShownChange) => Html) =>
  html`<dl class="changes">${changes.map(
    (change) => html`
<div><dt>${columnLabel(change.field)}</dt>${isAddressColumn(change.field) ? addresses(change) : values(change)}</div>`,
  )}
</dl>`

/** One below the other, so that a letter more, less or swapped is seen; as words, it could hide. */
function addresses({ before, after, isOtherHost }: ShownChange) {
  const old = before === null ? none : html`<del>${addressText(before)}</del>`
  return html`<dd>
<p>${old} →</p>
<p>${after === null ? none : html`<ins>${addressText(after)}</ins>`}</p>
${isOtherHost && html`<p><span class="chip warning">Another host</span></p>`}
</dd>`
}

function words({ before, after }: ShownChange) {
  const parts = wordDifference(before ?? '', after ?? '')
  if (parts)
    return html`<dd dir="auto" class="text">${parts.map(({ kind, text }) => {
      if (kind === 'removed') return html`<del>${text}</del>`
      return kind === 'added' ? html`<ins>${text}</ins>` : text
    })}</dd>`
  return html`<dd class="sides"><p dir="auto" class="text"><del>${before}</del></p><p dir="auto" class="text"><ins>${after}</ins></p></dd>`
}
