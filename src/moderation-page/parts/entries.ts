import { isAddressColumn } from '../../catalogue/app-columns.ts'
import { type Html, html } from '../../http/html.ts'
import type { NamesById } from '../../moderation/entries.ts'
import { formatWait } from '../../util/time.ts'
import { addressText, moment } from './components.ts'
import type { ShownEntry } from './excerpts.ts'
import { columnLabel, didWords, doneWords, valueText } from './labels.ts'
import type { Links } from './links.ts'

/** Entries of the audit log, as sentences with their values folded. */

type Options = { links: Links; names: NamesById; areOpen?: boolean }

/** Labels that a summary has at most. */
const maxLabels = 4

const summaryOf = (values: ShownEntry['changes']) =>
  values.length > maxLabels
    ? `${values.length} values`
    : values.map(({ column }) => columnLabel(column)).join(', ')

/** Entries about one app, the newest first: "Approved by Ada, 2 Aug 2025, 14:20". */
export const historyList = (entries: ShownEntry[], options: Options): Html =>
  list(
    entries,
    options,
    ({ action, actor, at }) => html`${doneWords(action)} by <bdi>${actor}</bdi>, ${moment(at)}`,
  )

/** Entries about anything, the newest first. */
export const entryList = (entries: ShownEntry[], options: Options): Html =>
  list(
    entries,
    options,
    (entry) =>
      html`${moment(entry.at)} · <bdi>${entry.actor}</bdi> ${didWords(entry.action)} ${subject(entry, options)}`,
  )

const list = (entries: ShownEntry[], options: Options, sentenceOf: (entry: ShownEntry) => Html) =>
  entries.length === 0
    ? html`<p>No entries.</p>`
    : html`<ol class="history">${entries.toReversed().map(
        (entry) => html`
<li>
  <p>${sentenceOf(entry)}${reason(entry)}</p>
  ${entryValues(entry, options)}
</li>`,
      )}
</ol>`

function subject({ app_id, subject }: ShownEntry, { links, names }: Options) {
  if (app_id === null) return html`<bdi>${subject}</bdi>`
  const name = names.app.get(String(app_id))
  return html`<a href="${links.app(app_id)}"><bdi>${name ?? subject}</bdi></a>`
}

const isReason = ({ column, after }: ShownEntry['changes'][number]) =>
  (column === 'rejection_reason' || column === 'reason') && after !== '–'

const reason = ({ changes }: ShownEntry) =>
  changes.filter(isReason).map(({ after }) => html`: <q dir="auto">${after}</q>`)

const decisions = ['app approve', 'app reject']

/** Why nothing was decided: somebody else decided last, or else the given refusal. */
export function refusalText(refusal: string, newEntries: ShownEntry[]): string {
  const last = newEntries.at(-1)
  return last && decisions.includes(last.action)
    ? `Nothing was decided: ${last.actor} ${didWords(last.action)} it ${formatWait(last.at)} ago.`
    : `Nothing was decided: ${refusal}.`
}

function entryValues({ id, action, changes }: ShownEntry, { links, names, areOpen }: Options) {
  // The line says all about a decision.
  const isSaid = !areOpen && decisions.includes(action)
  const values = isSaid ? [] : changes.filter((change) => !isReason(change))
  const isCut = changes.some((change) => change.isCut)
  if (values.length === 0) return isCut && whole()
  return html`<details${areOpen && html` open`}>
    <summary>${summaryOf(values)}</summary>
    <dl class="changes">${values.map(
      (change) => html`
<div><dt>${columnLabel(change.column)}</dt><dd dir="auto" class="text">${changedValue(change)}</dd></div>`,
    )}
</dl>
    ${isCut && whole()}
  </details>`

  function changedValue({ column, before, after, isCut }: (typeof values)[number]) {
    const now = html`<ins>${value(column, after)}</ins>`
    if (before === undefined) return now
    const furtherOn = isCut && ' changed further on'
    if (isCut && before === after) return html`${value(column, after)}${furtherOn}`
    return html`<del>${value(column, before)}</del> → ${now}${furtherOn}`
  }

  function value(column: string, text: string) {
    return isAddressColumn(column) ? addressText(text) : valueText(column, text, names)
  }

  function whole() {
    return html`<p><a href="${links.auditEntry(id)}">Show entry ${id} whole</a></p>`
  }
}
