import { isAddressColumn } from '../../catalogue/app-columns.ts'
import { type Html, html } from '../../http/html.ts'
import { wordDifference } from '../../util/word-difference.ts'
import { addressText } from './components.ts'
import type { ShownChange } from './excerpts.ts'
import { columnLabel } from './labels.ts'

/** The changes of an owner. */

const none = html`<span class="quiet">none</span>`

/** The former and the present values. A text that is cut leads to where it is whole. */
export const changeList = (changes: ShownChange[], whole: string): Html =>
  list(changes, (change) => html`<dd dir="auto" class="text">${values(change, whole)}</dd>`)

/** Characters. Of a longer value, the words that differ are easier to find. */
const wholeLength = 30

const isShort = ({ before, after }: ShownChange) =>
  [before, after].every((value) => (value ?? '').length < wholeLength)

/**
 * The words that differ, or both values side by side if most of them do. Short values are whole.
 * Addresses are, too, because a word of them could hide what differs.
 */
export const wordChanges = (changes: ShownChange[]): Html =>
  list(changes, (change) =>
    isAddressColumn(change.field) || isShort(change)
      ? html`<dd dir="auto" class="text">${values(change)}</dd>`
      : words(change),
  )

const list = (changes: ShownChange[], valuesOf: (change: ShownChange) => Html) =>
  html`<dl class="changes">${changes.map(
    (change) => html`
<div><dt>${columnLabel(change.field)}</dt>${valuesOf(change)}</div>`,
  )}
</dl>`

function values({ field, before, after, isCut }: ShownChange, whole?: string) {
  const shown = (text: string) => (isAddressColumn(field) ? addressText(text) : text)
  const furtherOn = isCut && html` <a href="${whole}">changed further on</a>`
  if (isCut && before !== null && before === after) return html`${shown(before)}${furtherOn}`
  const old = before === null ? none : html`<del>${shown(before)}</del>`
  const now = after === null ? none : html`<ins>${shown(after)}</ins>`
  return html`${old} → ${now}${furtherOn}`
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
