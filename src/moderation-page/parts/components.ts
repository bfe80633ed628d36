import type { OpenedApp } from '../../accounts/session-store.ts'
import { isAddressColumn, type OwnerColumn, queueColumns } from '../../catalogue/app-columns.ts'
import type { NamedAppRow } from '../../catalogue/app-store.ts'
import { readableValue } from '../../catalogue/keywords.ts'
import type { LookAlike } from '../../catalogue/look-alikes.ts'
import { type Html, html } from '../../http/html.ts'
import { type Fields, popularityOf } from '../../moderation/describe.ts'
import { warningsOf } from '../../moderation/warnings.ts'
import { formatDay, formatMoment } from '../../util/time.ts'
import { shortValue, wholeValue } from './excerpts.ts'
import { columnLabel, stateNames } from './labels.ts'
import type { Links, QueueView } from './links.ts'

/** Components that several pages have. */

export const day = (at: string): Html => html`<time datetime="${at}">${formatDay(at)}</time>`

/** In UTC. */
export const moment = (at: string): Html => html`<time datetime="${at}">${formatMoment(at)}</time>`

/** The first emoji or letter of a name, as the shop window has it. */
// recheck-ignore: each emoji has at most ten characters, and NewAppName limits names to 100.
export const icon = (name: string): Html =>
  html`<span class="icon" aria-hidden="true">${name.match(/\p{RGI_Emoji}/v)?.[0] ?? [...name][0]}</span>`

export const appLink = (
  links: Links,
  { id, name }: { id: number; name: string },
  view?: QueueView,
): Html => html`<a href="${links.app(id, view)}"><bdi>${name}</bdi></a>`

/** Says who else has the app open. */
export const openChip = (opened: OpenedApp): Html =>
  html`<span class="chip warning">Open elsewhere: <bdi>${opened.moderator}</bdi>, since ${moment(opened.since)}</span>`

export const alert = (problem: string | undefined): Html | false =>
  problem !== undefined && html`<p role="alert" class="problem">${problem}</p>`

/**
 * A formatted address. Never a link: nobody has judged where it leads. Left to right and isolated,
 * so that no right-to-left letter of its host moves another part.
 */
export const addressText = (address: string): Html =>
  html`<span class="address" dir="ltr">${address}</span>`

/**
 * The addresses and the like of an app in a list, shortened, except those that stand among its
 * changes; false if there are none.
 */
export function leadsTo(
  app: Pick<NamedAppRow, (typeof queueColumns)[number]>,
  changes: readonly { field: string }[] = [],
): Html | false {
  const changed = new Set(changes.map(({ field }) => field))
  const parts = queueColumns.flatMap((column) => {
    const value = readableValue(column, app[column])
    if (value === null || changed.has(column)) return []
    const shown = columnText(column, shortValue(column, value))
    return html`<span><span class="quiet">${columnLabel(column)}</span> ${shown}</span> `
  })
  return parts.length > 0 && html`<p class="leads">${parts}</p>`
}

/** A value of an owner; null if the app has none. */
export function ownerValue(app: NamedAppRow, column: OwnerColumn): Html | null {
  const value = column === 'category_id' ? app.category_name : readableValue(column, app[column])
  return value === null ? null : columnText(column, wholeValue(column, value))
}

const columnText = (column: OwnerColumn, value: string) =>
  isAddressColumn(column) ? addressText(value) : html`<bdi>${value}</bdi>`

type State = Pick<NamedAppRow, 'status' | 'deleted_at'>

export const stateChip = ({ status, deleted_at }: State): Html =>
  html`<span class="chip ${deleted_at ? 'deleted' : status}">${stateNames[deleted_at ? 'deleted' : status]}</span>`

export const lookAlikeChip = (links: Links, app: LookAlike): Html =>
  html`<a class="chip warning" href="${links.app(app.id)}">Looks like <bdi>${app.name}</bdi>, ${popularityOf(app)}</a>`

export const warningChips = (app: Parameters<typeof warningsOf>[0]): Html[] =>
  warningsOf(app).map((warning) => html`<span class="chip warning">${warning}</span> `)

/** A list of labels and texts; a text that is null is left out. */
export const fieldList = (fields: Fields | Record<string, Html | Fields[string]>): Html =>
  html`
    <dl>
      ${Object.entries(fields).map(
        ([label, value]) =>
          value !== null && html`<div><dt>${label}</dt><dd dir="auto">${value}</dd></div>`,
      )}
    </dl>`

/** The reason of a rejection, with recent ones to choose from. */
export const reasonField = (reason: string, reasons: readonly string[]): Html => html`
  <label class="reason">
    <span>Reason</span>
    <input name="reason" maxlength="1000" list="reasons" autocomplete="off" required value="${reason}">
  </label>
  <datalist id="reasons">${reasons.map((one) => html`<option value="${one}">`)}</datalist>`

/** Is the default button of its form, so that the key Enter in a field sends nothing. */
export const noDefaultButton = html`<button disabled hidden></button>`
