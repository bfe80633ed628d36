import type { OpenedApp } from '../../../accounts/moderator-store.ts'
import { appColumns, type OwnerColumn, ownerColumns } from '../../../catalogue/app-columns.ts'
import type { AppReview, NamedAppRow, StateCounts } from '../../../catalogue/app-store.ts'
import { canDecide, isListed, waitsSince } from '../../../catalogue/policy.ts'
import { formatReference } from '../../../contract/field-rules.ts'
import type { NamesById } from '../../../moderation/audit-entries.ts'
import { deceptiveHosts } from '../../../moderation/describe.ts'
import type { AppReviewDetails } from '../../../moderation/moderation-store.ts'
import type { QueuePosition } from '../../../moderation/queue-walk.ts'
import { formatCount, formatQuantity } from '../../../util/text.ts'
import { formatWait } from '../../../util/time.ts'
import { type Html, html } from '../../html.ts'
import { wordChanges } from './changes.ts'
import {
  alert,
  appLink,
  day,
  fieldList,
  hostChips,
  icon,
  moment,
  noDefaultButton,
  openChip,
  ownerValue,
  reasonField,
  stateChip,
} from './components.ts'
import { historyList, refusalText } from './entries.ts'
import { excerptOf, type ShownEntry, wholeChange } from './excerpts.ts'
import { developerRecord } from './labels.ts'
import { type Frame, layout } from './layout.ts'
import type { QueueView } from './links.ts'

/** Everything about an app, and the forms that decide on it. */

export type AppPage = AppReviewDetails<ShownEntry> & {
  record: StateCounts | undefined
  /** The look-alikes, with everything that stands beside the app. */
  lookAlikes: NamedAppRow[]
  /** The newest ones, or the only one that is shown, whole. */
  reviews: AppReview[]
  isReviewWhole: boolean
  otherApps: Pick<NamedAppRow, 'id' | 'name' | 'status' | 'deleted_at'>[]
  hasOtherApps: boolean
  reasons: string[]
  names: NamesById
  /** The queue that the page leads through, and where the app is in it. */
  queue?:
    | {
        view: QueueView
        position: QueuePosition
        number?: number
        total?: number
      }
    | undefined
  /** By somebody else. */
  opened: OpenedApp | undefined
  /** The app to go on with after the decision, instead of the next one. */
  next?: number | undefined
  /** What the form before the page did. */
  notice: Html | false
  /** The entries of the history that were written after the page that the moderator decided on. */
  newEntries: ShownEntry[]
  problem?: string | undefined
  /** Why the decision of the form that was sent was not made. */
  refusal?: string | undefined
  /** Of the form that was sent, if it was refused. */
  reason?: string | undefined
  /** The review that was not removed, and the reason that was typed. */
  removal?: { review: number; reason: string } | undefined
}

export function appPage(frame: Frame, page: AppPage): Html {
  const { app, history, newEntries, changes } = page
  const older = history.filter((entry) => !newEntries.includes(entry))
  const options = { links: frame.links, names: page.names }
  const newHistory = historyList(newEntries, { ...options, areOpen: true })
  return layout(
    frame,
    app.name,
    html`${page.notice}
${bar(frame, page)}
${
  newEntries.length > 0 &&
  html`<section class="card"><h2>Changed since you looked</h2>${newHistory}</section>`
}
${
  changes.length > 0 &&
  html`<section class="card" id="changes"><h2>Changed since the last decision</h2>
${wordChanges(changes.map(wholeChange))}
</section>`
}
${app.unreviewed_changes !== null && changes.length === 0 && html`<p><span class="chip">Changed and reverted</span></p>`}
${lookAlikes(frame, page)}
<div class="columns">
${listing(app)}
${facts(frame, page)}
</div>
${reviewList(frame, page)}
<section class="card">
<h2>History${newEntries.length > 0 && html` before`}</h2>
${historyList(older, options)}
${page.hasOlderHistory && html`<p><a href="${frame.links.audit({ app: app.id })}">All entries</a></p>`}
</section>`,
  )
}

/** Stays in sight: what the app is, and what can be decided. */
function bar(frame: Frame, page: AppPage) {
  const { app, queue } = page
  const waiting = app.deleted_at ? null : waitsSince(app)
  return html`<div class="bar">
  <div class="title">
    ${icon(app.name)}
    <h1><bdi>${app.name}</bdi></h1>
    <p class="quiet">
      ${stateChip(app)}
      ${waiting !== null && html`<span>waits ${formatWait(waiting)}</span>`}
      ${queue?.number !== undefined && html`<span>${formatCount(queue.number)} of ${formatCount(queue.total ?? 0)}</span>`}
    </p>
  </div>
  ${waiting !== null && page.opened && html`<p class="chips">${openChip(page.opened)}</p>`}
  ${alert(page.refusal === undefined ? page.problem : refusalText(page.refusal, page.newEntries))}
  ${app.deleted_at ? restoreForm(frame, page) : decisionForm(frame, page)}
</div>`
}

/** The last entry that is shown: if a form is refused, later ones are pointed out. */
const seenField = ({ history }: Pick<AppPage, 'history'>) =>
  html`<input type="hidden" name="seen" value="${history.at(-1)?.id ?? 0}">`

function restoreForm(frame: Frame, page: AppPage) {
  const { app, queue } = page
  return html`<form method="post" action="${frame.links.restorations(queue?.view)}">
    <fieldset>
      <legend class="hidden">The app is deleted</legend>
      ${seenField(page)}
      <button name="app" value="${formatReference(app)}">Restore</button>
      ${skipLink(frame, page)}
    </fieldset>
  </form>`
}

function decisionForm(frame: Frame, page: AppPage) {
  const { app, queue } = page
  return html`<form method="post" action="${frame.links.decisions(queue && { ...queue.view, after: queue.position })}">
    <fieldset>
      <legend class="hidden">Decision</legend>
      ${noDefaultButton}
      <input type="hidden" name="app" value="${formatReference(app)}">
      ${seenField(page)}
      ${page.next !== undefined && html`<input type="hidden" name="next" value="${page.next}">`}
      ${canDecide('approve', app) && html`<button name="decision" value="approve" class="approve" formnovalidate>Approve</button>`}
      ${
        canDecide('reject', app) &&
        html`${reasonField(page.reason ?? '', page.reasons)}
      <button name="decision" value="reject" class="reject">${isListed(app) ? 'Take down' : 'Reject'}</button>`
      }
      ${canDecide('reopen', app) && html`<button name="decision" value="reopen" formnovalidate>Back to the queue</button>`}
      ${skipLink(frame, page)}
    </fieldset>
  </form>`
}

const skipLink = ({ links }: Frame, { queue, next }: AppPage) =>
  queue &&
  html`<a class="skip" rel="next" href="${next === undefined ? links.next(queue.view, queue.position) : links.app(next, queue.view)}">Skip</a>`

const inListing = new Set<OwnerColumn>(['name', 'short_description', 'description'])

/** As readers of a shop window see it. */
const listing = (app: NamedAppRow) => html`<section class="card listing">
${app.short_description && html`<p dir="auto"><strong>${app.short_description}</strong></p>`}
<p class="text" dir="auto">${app.description}</p>
</section>`

/** The other columns of owners are in the listing. */
const ownerFacts = (app: NamedAppRow) =>
  Object.fromEntries(
    ownerColumns
      .filter((column) => !inListing.has(column))
      .map((column) => [appColumns[column].label, ownerValue(app, column)]),
  )

function facts({ links }: Frame, page: AppPage) {
  const { app, record } = page
  const rating =
    app.rating_count === 0
      ? null
      : `${app.average_rating} of 5, ${formatQuantity(app.rating_count, 'rating')}`
  return html`<section class="card">
<h2>Facts</h2>
${deceptiveHosts(app).length > 0 && html`<p class="chips">${hostChips(app)}</p>`}
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

function lookAlikes({ links }: Frame, { app, similar, lookAlikes }: AppPage) {
  if (similar.length === 0) return false
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
<h2>Looks like ${formatQuantity(similar.length, 'other app')}</h2>
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

function reviewList({ links }: Frame, page: AppPage) {
  const { app, reviews, isReviewWhole, queue, removal } = page
  if (reviews.length === 0) return false
  return html`<section class="card">
${
  isReviewWhole
    ? html`<h2>Review ${reviews[0]?.id}</h2>
<p><a href="${links.app(app.id, queue?.view)}">Show the newest reviews</a></p>`
    : html`<h2>Newest reviews, of ${formatCount(app.review_count)}</h2>`
}
<ul class="reviews">${reviews.map((review) => {
    const { id, reviewer_name, rating, comment, created_at } = review
    const shown = isReviewWhole ? comment : excerptOf(comment)
    return html`
<li>
<p><span class="quiet"><bdi>${reviewer_name}</bdi>, ${rating} of 5, ${moment(created_at)}</span> <bdi${isReviewWhole && html` class="text"`}>${shown}</bdi>${shown !== comment && html` <a href="${links.app(app.id, queue?.view, { review: id })}">Show review ${id} whole</a>`}</p>
<details${removal?.review === id && html` open`}>
<summary>Remove<span class="hidden"> the review of ${reviewer_name}</span></summary>
<form method="post" action="${links.removedReviews(queue?.view)}">
<input type="hidden" name="app" value="${app.id}">
${seenField(page)}
<label class="reason"><span>Reason<span class="hidden"> for removing the review of ${reviewer_name}</span></span> <input name="reason" maxlength="1000" required value="${removal?.review === id && removal.reason}"></label>
<button name="review" value="${id}" class="reject">Remove</button>
</form>
</details>
</li>`
  })}
</ul>
</section>`
}
