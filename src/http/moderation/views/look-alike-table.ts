import { appColumns, ownerColumns } from '../../../catalogue/app-columns.ts'
import type { NamedAppRow } from '../../../catalogue/app-store.ts'
import { formatCount, formatQuantity } from '../../../util/text.ts'
import { type Html, html } from '../../html.ts'
import { appLink, day, icon, ownerValue, stateChip } from './components.ts'
import type { Links } from './links.ts'

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
