import { isAddressColumn } from '../../../catalogue/app-columns.ts'
import { wordDifference } from '../../../util/word-difference.ts'
import { type Html, html } from '../../html.ts'
import type { ShownChange } from '../short-texts.ts'
import { addressText } from './parts.ts'
import { columnLabel } from './words.ts'

/** The changes of an owner. */

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
  const shared = before !== null && after !== null ? sharedEnds(before, after) : undefined
  return html`<dd>
<p>${before === null ? none : html`<del>${addressText(before, shared)}</del>`} →</p>
<p>${after === null ? none : html`<ins>${addressText(after, shared)}</ins>`}</p>
${isOtherHost && html`<p><span class="chip warning">Another host</span></p>`}
</dd>`
}

/** The lengths of the beginning and the end that two texts share, which split no character. */
function sharedEnds(before: string, after: string) {
  const [old, now] = [[...before], [...after]]
  const shortest = Math.min(old.length, now.length)
  let start = 0
  while (start < shortest && old[start] === now[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return {
    start: old.slice(0, start).join('').length,
    end: old.slice(old.length - end).join('').length,
  }
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
