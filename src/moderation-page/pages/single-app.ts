import {
  findAppsOpenElsewhere,
  type OpenedApp,
  recordOpenedApp,
} from '../../accounts/session-store.ts'
import { findRejectionReasons } from '../../audit/read-entries.ts'
import { appColumns, type OwnerColumn, ownerColumns } from '../../catalogue/app-columns.ts'
import {
  type AppReview,
  countAppsByState,
  findNamedApps,
  type NamedAppRow,
} from '../../catalogue/app-store.ts'
import { canDecide, isListed, waitsSince } from '../../catalogue/policy.ts'
import { findReviews, requireReview } from '../../catalogue/reviews.ts'
import { OperatorError, ServiceError } from '../../contract/errors.ts'
import { formatReference } from '../../contract/field-rules.ts'
import type { QueryRunner } from '../../db/engine.ts'
import { type Html, html } from '../../http/html.ts'
import { findAppDetails, findOtherApps } from '../../moderation/app-details.ts'
import { maxExcerptLength } from '../../moderation/describe.ts'
import { namesInEntries } from '../../moderation/entries.ts'
import { countQueue, positionOf, type QueuePosition } from '../../moderation/queue.ts'
import { formatCount, formatQuantity } from '../../util/text.ts'
import { formatWait } from '../../util/time.ts'
import { decidedIds, type FormFields, fieldOf, idList, positiveInteger, viewOf } from '../forms.ts'
import { wordChanges } from '../parts/changes.ts'
import {
  alert,
  appLink,
  day,
  fieldList,
  icon,
  moment,
  noDefaultButton,
  openChip,
  ownerValue,
  reasonField,
  stateChip,
  warningChips,
} from '../parts/components.ts'
import { type PageContext, readPage } from '../parts/context.ts'
import { historyList, refusalText } from '../parts/entries.ts'
import { excerptOf, shortEntry, wholeChange } from '../parts/excerpts.ts'
import { developerRecord, sentenceOf } from '../parts/labels.ts'
import { layout, readFrame } from '../parts/layout.ts'
import type { QueueView } from '../parts/links.ts'
import { readNotice } from '../parts/notice.ts'

/** Everything about an app, and the forms that decide on it. */

/** Entries of an app's history. */
const historySize = 50
const maxOtherApps = 20
const maxReviews = 100

/** Milliseconds that a page waits at most until it is stored that its app is open. */
export const maxStoring = 1000

/** The page at an address, which may lead through a queue: then others are told that it is open. */
export async function openAppPage(context: PageContext): Promise<Html> {
  const { method, params, query } = context.request
  try {
    const id = positiveInteger('the id', String(params.id))
    const page = await appPage(context, id)
    if (method === 'GET' && fieldOf(query, 'queue')) await storeOpenApp(context, id)
    return page
  } catch (error) {
    // The path names no app.
    throw error instanceof OperatorError ? new ServiceError('not_found', sentenceOf(error)) : error
  }
}

/** Once for each app. */
async function storeOpenApp({ database, session }: PageContext, appId: number): Promise<void> {
  if (session.openApp === appId) return
  // The page must not fail because of this.
  const stored = database
    .write((runner) => recordOpenedApp(runner, session.token, appId))
    .catch(() => {})
  const { promise: isLate, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, maxStoring)
  await Promise.race([stored, isLate])
  clearTimeout(timer)
}

/** The form of an app's page that was refused, which the page shows again. */
export type RefusedAppForm = {
  problem?: string | undefined
  /** Why the decision was not made. */
  refusal?: string | undefined
  reason?: string | undefined
  /** The review that was not removed, and the reason that was typed. */
  removal?: { review: number; reason: string } | undefined
  /** The app to go on with after the decision, instead of the next one. */
  next?: number | undefined
  /** The last audit entry of the page that the form was on: later ones are pointed out. */
  seen?: number | undefined
}

/** Throws an OperatorError if there is no such app or review. */
export function appPage(
  context: PageContext,
  id: number,
  form: RefusedAppForm = {},
): Promise<Html> {
  return readPage(context, async (runner) => {
    const page = await readApp(context, runner, id, form)
    const { links, app, history, newEntries, changes } = page
    const older = history.filter((entry) => !newEntries.includes(entry))
    const newHistory = historyList(newEntries, { ...page, areOpen: true })
    return layout(
      await readFrame(context, runner, page.queue?.view.queue),
      app.name,
      html`${page.notice}
${appBar(page)}
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
${lookAlikeTable(page)}
<div class="columns">
${listing(app)}
${facts(page)}
</div>
${reviewList(page)}
<section class="card">
<h2>History${newEntries.length > 0 && html` before`}</h2>
${historyList(older, page)}
${page.hasOlderHistory && html`<p><a href="${links.audit({ app: app.id })}">All entries</a></p>`}
</section>`,
    )
  })
}

type AppPage = Awaited<ReturnType<typeof readApp>>

async function readApp(
  context: PageContext,
  runner: QueryRunner,
  id: number,
  { seen, ...form }: RefusedAppForm,
) {
  const { links, request, session } = context
  const { query } = request
  const details = await findAppDetails(runner, id, historySize, shortEntry)
  const { app, history, lookAlikes } = details
  const opened = await findAppsOpenElsewhere(runner, session.token)
  const { queue, problem } = await findInQueue(runner, query, app, opened)
  const others = await findOtherApps(runner, app, maxOtherApps + 1)
  const records = await countAppsByState(runner, [app.developer_id])
  const reviewId = fieldOf(query, 'review')
  return {
    ...details,
    ...form,
    links,
    next: form.next ?? idList(fieldOf(query, 'next'))[0],
    problem: form.problem ?? problem,
    queue,
    opened: opened.get(id),
    record: records.get(app.developer_id),
    compared: await findNamedApps(
      runner,
      lookAlikes.map((one) => one.id),
    ),
    reviews: await readReviews(runner, id, reviewId),
    isReviewWhole: reviewId !== '',
    otherApps: others.slice(0, maxOtherApps),
    hasOtherApps: others.length > maxOtherApps,
    reasons: await findRejectionReasons(runner),
    names: await namesInEntries(runner, history),
    notice: await readNotice(context, runner, decidedIds(query), {
      view: queue?.view,
      next: id,
      total: queue?.total,
    }),
    /** Those after the page that the moderator decided on. */
    newEntries: seen === undefined ? [] : history.filter((entry) => entry.id > seen),
  }
}

/** The newest reviews, or only the one that the address names. */
const readReviews = async (
  runner: QueryRunner,
  appId: number,
  reviewId: string,
): Promise<AppReview[]> =>
  reviewId === ''
    ? findReviews(runner, appId, maxReviews, 0, maxExcerptLength + 1)
    : [await requireReview(runner, appId, positiveInteger('the review', reviewId))]

/** The queue that a page leads through, and the number of its app there, if it is in the queue. */
type InQueue = {
  view: QueueView
  position: QueuePosition
  total: number
  number: number | undefined
}

/** Where the app is in the queue; or the problem, if the filter names nothing any more. */
async function findInQueue(
  runner: QueryRunner,
  query: FormFields,
  app: NamedAppRow,
  opened: ReadonlyMap<number, OpenedApp>,
): Promise<{ queue?: InQueue; problem?: string }> {
  try {
    const view = viewOf(query)
    if (!view) return {}
    const { after, queue, filter } = view
    const walk = { queue, filter, openElsewhere: opened }
    // A refused form has the position that was shown, which a decision of somebody else has changed.
    const position = after ?? positionOf(app)
    const { total, upTo, isIn } = await countQueue(runner, walk, position)
    const number = isIn ? upTo : undefined
    return { queue: { view: { queue, filter }, position, total, number } }
  } catch (error) {
    if (error instanceof OperatorError) return { problem: sentenceOf(error) }
    throw error
  }
}

/** The bar that stays in sight: what the app is, and the form that decides on it. */
function appBar(page: AppPage) {
  const { app, queue } = page
  const waiting = app.deleted_at ? null : waitsSince(app)
  const opened = waiting !== null && page.opened
  const warnings = warningChips(app)
  return html`<div class="bar">
  <div class="title">
    ${icon(app.name)}
    <h1><bdi>${app.name}</bdi></h1>
    <p class="quiet">
      ${stateChip(app)}
      ${waiting !== null && html`<span>waits ${formatWait(waiting)}</span>`}
      ${queue?.number !== undefined && html`<span>${formatCount(queue.number)} of ${formatCount(queue.total)}</span>`}
    </p>
  </div>
  ${(opened || warnings.length > 0) && html`<p class="chips">${opened && openChip(opened)} ${warnings}</p>`}
  ${alert(page.refusal === undefined ? page.problem : refusalText(page.refusal, page.newEntries))}
  ${app.deleted_at ? restoreForm(page) : decisionForm(page)}
</div>`
}

function restoreForm(page: AppPage) {
  const { links, app, queue } = page
  return html`<form method="post" action="${links.form('/restorations', queue?.view)}">
    <fieldset>
      <legend class="hidden">The app is deleted</legend>
      ${seenField(page)}
      <button name="app" value="${formatReference(app)}">Restore</button>
      ${skipLink(page)}
    </fieldset>
  </form>`
}

function decisionForm(page: AppPage) {
  const { links, app, queue } = page
  return html`<form method="post" action="${links.form('/decisions', queue && { ...queue.view, after: queue.position })}">
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
      ${app.status === 'rejected' && html`<button name="decision" value="reopen" formnovalidate>Reopen</button>`}
      ${skipLink(page)}
    </fieldset>
  </form>`
}

/** The last entry that the page shows: if its form is refused, later ones are pointed out. */
const seenField = ({ history }: AppPage) =>
  html`<input type="hidden" name="seen" value="${history.at(-1)?.id ?? 0}">`

const skipLink = ({ links, queue, next }: AppPage) =>
  queue &&
  html`<a class="skip" rel="next" href="${next === undefined ? links.next(queue.view, queue.position) : links.app(next, queue.view)}">Skip</a>`

/** The app and its look-alikes side by side; false if there are none. */
function lookAlikeTable({ links, app, compared }: AppPage) {
  if (compared.length === 0) return false
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
  const all = [app, ...compared]
  return html`<section class="card">
<h2>Looks like ${formatQuantity(compared.length, 'other app')}</h2>
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

/** As readers of a shop window see it. */
const listing = (app: NamedAppRow) => html`<section class="card listing">
${app.short_description && html`<p dir="auto"><strong>${app.short_description}</strong></p>`}
<p class="text" dir="auto">${app.description}</p>
</section>`

const inListing = new Set<OwnerColumn>(['name', 'short_description', 'description'])

/** The other columns of owners are in the listing. */
const ownerFacts = (app: NamedAppRow) =>
  Object.fromEntries(
    ownerColumns
      .filter((column) => !inListing.has(column))
      .map((column) => [appColumns[column].label, ownerValue(app, column)]),
  )

/** The facts about the app, and the other apps of its developer. */
function facts({ links, app, record, otherApps, hasOtherApps }: AppPage) {
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
${otherApps.length > 0 && html`<h2>Other apps of <bdi>${app.developer_name}</bdi></h2>`}
<ul>${otherApps.map(
    (other) => html`
<li>${appLink(links, other)} ${stateChip(other)}</li>`,
  )}
</ul>
${hasOtherApps && html`<p><a href="${links.apps(app.developer_name)}">More apps of the developer</a></p>`}
</section>`
}

/** The reviews, with a form to remove each; false if there are none. */
function reviewList(page: AppPage) {
  const { links, app, reviews, isReviewWhole, queue, removal } = page
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
<form method="post" action="${links.form('/removed-reviews', queue?.view)}">
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
