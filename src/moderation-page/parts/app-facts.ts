import { appColumns, type OwnerColumn, ownerColumns } from '../../catalogue/app-columns.ts'
import type { NamedAppRow, StateCounts } from '../../catalogue/app-store.ts'
import { isListed } from '../../catalogue/policy.ts'
import { formatReference } from '../../contract/field-rules.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount, formatQuantity } from '../../util/text.ts'
import { appLink, day, fieldList, icon, ownerValue, stateChip } from './components.ts'
import { developerRecord } from './labels.ts'
import type { Links } from './links.ts'

/** The facts about an app: with the other apps of its developer, and beside its look-alikes. */

export type AppFacts = {
  app: NamedAppRow
  record: StateCounts | undefined
  otherApps: Pick<NamedAppRow, 'id' | 'name' | 'status' | 'deleted_at'>[]
  hasOtherApps: boolean
}

const inListing = new Set<OwnerColumn>(['name', 'short_description', 'description'])

/** The other columns of owners are in the listing. */
const ownerFacts = (app: NamedAppRow) =>
  Object.fromEntries(
    ownerColumns
      .filter((column) => !inListing.has(column))
      .map((column) => [appColumns[column].label, ownerValue(app, column)]),
  )

export function facts(links: Links, page: AppFacts): Html {
  const { app, record } = page
  const rating =
    app.rating_count === 0
      ? null
      : `${app.average_rating} of 5, ${formatQuantity(app.rating_count, 'rating')}`
  return html`<section class="card">
<h2>Facts</h2>
${fieldList({
  Developer: html`<a href="${links.apps(app.developer_name)}"><bdi>${app.developer_name}</bdi></a> (${developerRecord(record)})`,
  ...ownerFacts(app),
  'Last rejected because': app.rejection_reason,
  Created: day(app.created_at),
  'First approved': app.approved_at && day(app.approved_at),
  'Last changed': day(app.updated_at),
  Deleted: app.deleted_at && day(app.deleted_at),
  Downloads: app.total_downloads === 0 ? null : formatCount(app.total_downloads),
  Ratings: rating,
  Reviews: app.review_count === 0 ? null : formatCount(app.review_count),
  App: `${formatReference(app)} (${app.slug})`,
})}
${isListed(app) && html`<p><a href="${links.publicApp(app.id)}" rel="noreferrer">What the public sees</a></p>`}
${page.otherApps.length > 0 && html`<h2>Other apps of <bdi>${app.developer_name}</bdi></h2>`}
<ul>${page.otherApps.map(
    (other) => html`
<li>${appLink(links, other)} ${stateChip(other)}</li>`,
  )}
</ul>
${page.hasOtherApps && html`<p><a href="${links.apps(app.developer_name)}">More apps of the developer</a></p>`}
</section>`
}

/** An app and its look-alikes side by side; false if there are none. */
export function lookAlikeTable(
  links: Links,
  app: NamedAppRow,
  lookAlikes: NamedAppRow[],
): Html | false {
  if (lookAlikes.length === 0) return false
  const rows: [label: string, value: (one: NamedAppRow) => Html | string | null][] = [
    ['Developer', (one) => html`<bdi>${one.developer_name}</bdi>`],
    ...ownerColumns
      .filter((column) => column !== 'name' && column !== 'description')
      .map((column): (typeof rows)[number] => [
        appColumns[column].label,
        (one) => ownerValue(one, column),
      ]),
    ['Downloads', (one) => formatCount(one.total_downloads)],
    ['Created', (one) => day(one.created_at)],
  ]
  const all = [app, ...lookAlikes]
  return html`<section class="card">
<h2>Looks like ${formatQuantity(lookAlikes.length, 'other app')}</h2>
<div class="scroll" role="region" aria-label="Look-alikes side by side" tabindex="0">
<table>
<thead><tr><td></td>${all.map(
    (one) => html`
<th scope="col">${icon(one.name)} ${one === app ? html`<bdi>${one.name}</bdi>` : appLink(links, one)} ${stateChip(one)}</th>`,
  )}</tr></thead>
<tbody>${rows.map(
    ([label, value]) => html`
<tr><th scope="row">${label}</th>${all.map((one) => html`<td>${value(one)}</td>`)}</tr>`,
  )}
</tbody>
</table>
</div>
</section>`
}
