import type { AppReview } from '../../catalogue/app-store.ts'
import type { Category } from '../../contract/contract.ts'
import type { ModeratorRow } from '../../db/rows.ts'
import type { AppFilter } from '../../moderation/app-filter.ts'
import { formatReference } from '../../moderation/app-reference.ts'
import type { EntryFilter } from '../../moderation/audit-entries.ts'
import type { decideEach } from '../../moderation/decisions.ts'
import { appFields, type Fields, formatSimilar, statusFields } from '../../moderation/describe.ts'
import type {
  AppReviewDetails,
  Change,
  DecisionResult,
  moderationStore,
  Queue,
} from '../../moderation/moderation-store.ts'
import type { readStatus, statusStore } from '../../moderation/status-store.ts'
import { formatCount, formatQuantity, nounOf } from '../../util/text.ts'
import { formatAge, formatMinute } from '../../util/time.ts'
import { type Html, html } from '../html.ts'
import {
  type ShownEntry,
  shortenComment,
  shortenValue,
  type WithShortChanges,
} from './short-texts.ts'

/** The HTML of the moderation page. `prefix` is the path of MODERATION_URL. */

export type Views = ReturnType<typeof createViews>

type Store = ReturnType<typeof moderationStore>
type QueuedApp = WithShortChanges<Awaited<ReturnType<Store['queue']>>['apps'][number]>
type ListedApp = Awaited<ReturnType<Store['list']>>['apps'][number]
type Result =
  | (Pick<DecisionResult, 'id' | 'status'> & { name: string })
  | Extract<Awaited<ReturnType<ReturnType<typeof decideEach>['next']>>['value'], { error: string }>

type QueuePage = {
  queue: Queue
  filter: AppFilter
  page: number
  pages: number
  apps: QueuedApp[]
  total: number
  note?: string
  isAllSelected: boolean
  counts: Awaited<ReturnType<ReturnType<typeof statusStore>['countApps']>>
  categories: Category[]
  reasons: string[]
}

type AppPage = AppReviewDetails<ShownEntry> & {
  /** The newest ones, or the only one that is shown, whole. */
  reviews: AppReview[]
  isReviewWhole: boolean
  otherApps: ListedApp[]
  reasons: string[]
  /** The entries of the history that were written after the page that the moderator decided on. */
  news: ShownEntry[]
  /** Why a decision was refused. */
  refusal?: string | undefined
}

const time = (at: string) => html`<time datetime="${at}">${formatMinute(at)}</time>`

const fieldList = (fields: Fields) => html`<dl>${Object.entries(fields).map(
  ([label, value]) =>
    value !== null &&
    html`
<dt>${label}</dt><dd>${value}</dd>`,
)}
</dl>`

const changeTable = (changes: Change[]) => html`<table class="changes">
<thead><tr><th>Field</th><th>At the last decision</th><th>Now</th></tr></thead>
<tbody>${changes.map(
  ({ field, before, after }) => html`
<tr><th scope="row">${field}</th><td class="text">${before}</td><td class="text">${after}</td></tr>`,
)}</tbody>
</table>`

/** The empty, disabled button is the default one: the key Enter in a field sends nothing. */
const decisionFields = (reasons: string[]) => html`<button disabled hidden></button>
<button name="decision" value="approve">Approve</button>
<label>Reason <input name="reason" maxlength="1000" list="reasons" autocomplete="off"></label>
<button name="decision" value="reject">Reject</button>
<datalist id="reasons">${reasons.map((reason) => html`<option value="${reason}">`)}</datalist>`

export function createViews(prefix: string) {
  const appPath = (id: number) => `${prefix}/apps/${id}`
  const appLink = (id: number, name: string) =>
    html`<a href="${appPath(id)}"><bdi>${name}</bdi></a>`

  /** The newest entries first. Without `subject`, all are about the same app. */
  const entryTable = (entries: ShownEntry[], subject?: (entry: ShownEntry) => Html) =>
    entries.length === 0
      ? html`<p>No entries.</p>`
      : html`<table class="entries">
<thead><tr><th>When (UTC)</th><th>Who</th><th>What</th>${subject && html`<th>On</th>`}<th>Changes</th></tr></thead>
<tbody>${entries.toReversed().map(
          (entry) => html`
<tr><td>${time(entry.at)}</td><td>${entry.actor}</td><td>${entry.action}</td>${subject && html`<td>${subject(entry)}</td>`}<td class="text">${changeLines(entry)}</td></tr>`,
        )}</tbody>
</table>`

  const changeLines = ({ id, changes, isShortened }: ShownEntry) =>
    html`${changes.map(
      ({ column, before, after }) =>
        html`<div>${column}: ${before !== undefined && html`<del>${before}</del> `}<ins>${after}</ins></div>`,
    )}${isShortened && html`<a href="${prefix}/audit?entry=${id}">Show entry ${id} whole</a>`}`

  const layout = (title: string, moderator: ModeratorRow | undefined, content: Html) =>
    html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Moderation</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${prefix}/style.css">
</head>
<body>
${moderator && navigation(moderator)}
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`

  const navigation = ({ name }: ModeratorRow) => html`<header>
<nav aria-label="Pages"><a href="${prefix}/">Pending</a> <a href="${prefix}/?queue=changed">Changed</a> <a href="${prefix}/status">Status</a> <a href="${prefix}/audit">Audit</a></nav>
<form method="post" action="${prefix}/sign-out"><bdi>${name}</bdi> <button>Sign out</button></form>
</header>`

  const signIn = (next: string, problem?: string) =>
    layout(
      'Sign in',
      undefined,
      html`${problem && html`<p role="alert" class="problem">${problem}</p>`}
<form method="post" action="${prefix}/sign-in" class="sign-in">
<input autocomplete="username" value="moderator" hidden>
<label>Sign-in key <input type="password" name="key" autocomplete="current-password" required autofocus></label>
<input type="hidden" name="next" value="${next}">
<button>Sign in</button>
</form>
<p>An operator of the service issues a key: <code>./apps-service moderator add NAME</code>.</p>`,
    )

  /** A page that says one thing, such as an error. */
  const message = (moderator: ModeratorRow | undefined, text: string) =>
    layout(
      'Moderation',
      moderator,
      html`<p role="alert" class="problem">${text}</p>
<p><a href="${prefix}/">Go to the queue</a></p>`,
    )

  function queue(moderator: ModeratorRow, page: QueuePage) {
    const { filter, counts, categories } = page
    const titles = { pending: 'Pending apps', changed: 'Changed apps' }
    return layout(
      titles[page.queue],
      moderator,
      html`<p>${formatCount(counts.pending)} pending, ${formatCount(counts.changed)} changed, ${formatCount(page.total)} here; the longest wait first. ${page.note}</p>
<form method="get" role="search">
<input type="hidden" name="queue" value="${page.queue}">
<label>Text <input type="search" name="search" maxlength="100" value="${filter.search}"></label>
<label>Developer <input name="developer" value="${filter.developer}"></label>
<label>Category <select name="category"><option value="">any</option>${categories.map(
        ({ slug, name }) =>
          html`<option value="${slug}"${slug === filter.category && html` selected`}>${shortenValue(name)}</option>`,
      )}</select></label>
<button>Filter</button>
</form>
${
  page.apps.length === 0
    ? nothingHere(page)
    : html`<form method="post" action="${prefix}/decisions">
<p><a href="${linkTo(page, { select: 'all' })}">Select all on this page</a> <a href="${linkTo(page, {})}">Select none</a></p>
<ul class="queue">${page.apps.map((app) => queuedApp(app, page))}</ul>
<fieldset><legend>The selected apps</legend>
${decisionFields(page.reasons)}
</fieldset>
</form>`
}
<nav aria-label="Pages of the queue">Page ${page.page} of ${page.pages}
${page.page > 1 && page.page <= page.pages && html`<a rel="prev" href="${linkTo(page, { page: page.page - 1 })}">Previous</a>`}
${page.page < page.pages && html`<a rel="next" href="${linkTo(page, { page: page.page + 1 })}">Next</a>`}</nav>`,
    )
  }

  const nothingHere = (page: QueuePage) =>
    page.total === 0
      ? html`<p>Nothing waits here.</p>`
      : html`<p>Page ${page.page} is past the end; ${formatQuantity(page.total, 'app')} ${nounOf(page.total, 'waits', 'wait')} here. <a href="${linkTo(page, { page: page.pages })}">Go to the last page</a></p>`

  function linkTo({ queue, filter, page }: QueuePage, changes: { page?: number; select?: string }) {
    const given = { queue, ...filter, page, ...changes }
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(given))
      if (value !== undefined) parameters.set(name, String(value))
    return `${prefix}/?${parameters}`
  }

  const queuedApp = (app: QueuedApp, { queue, isAllSelected }: QueuePage) => html`
<li${app.similar.length > 0 && html` class="similar"`}>
<label><input type="checkbox" name="app" value="${formatReference(app)}"${isAllSelected && html` checked`}> <span class="hidden">Select ${app.name}</span></label>
<div>
<h2>${appLink(app.id, app.name)}</h2>
<p class="facts">${app.id} · <bdi>${app.developer_name}</bdi> · ${app.category_slug} · waits ${formatAge(app.waiting_since)}</p>
${app.similar.map((one) => html`<p class="problem">Looks like <bdi>${formatSimilar(one)}</bdi></p>`)}
${app.short_description && html`<p>${app.short_description}</p>`}
${queue === 'changed' && (app.changes.length > 0 ? changeTable(app.changes) : html`<p>Changed and reverted.</p>`)}
${app.isShortened && html`<p><a href="${appPath(app.id)}#changes">Show the changes of app ${app.id} whole</a></p>`}
</div>
</li>`

  const results = (moderator: ModeratorRow, all: Result[]) =>
    layout(
      `Decided ${formatCount(all.filter((result) => !('error' in result)).length)} of ${formatCount(all.length)}`,
      moderator,
      html`<ul>${all.map((result) =>
        'error' in result
          ? html`
<li class="problem">Nothing was decided: <a href="${appPath(result.id)}">${result.error}</a></li>`
          : html`
<li>${appLink(result.id, result.name)} (${result.id}) is ${result.status} now</li>`,
      )}</ul>
<p><a href="${prefix}/">Go to the queue</a></p>`,
    )

  function app(moderator: ModeratorRow, page: AppPage) {
    const { app, developer, history, news } = page
    const newest = history.at(-1)?.id
    const older = history.filter((entry) => !news.includes(entry))
    return layout(
      app.name,
      moderator,
      html`${page.refusal && html`<p role="alert" class="problem">${page.refusal}</p>`}
${news.length > 0 && html`<h2>Changed since you looked</h2>${entryTable(news)}`}
${page.similar.map((one) => html`<p class="problem">Looks like <bdi>${formatSimilar(one)}</bdi></p>`)}
${fieldList(appFields(page))}
<h2>Description</h2>
<p class="text">${app.description}</p>
${page.changes.length > 0 && html`<h2 id="changes">Changed since the last decision</h2>${changeTable(page.changes)}`}
${
  app.deleted_at
    ? html`<form method="post" action="${prefix}/restorations">
<button name="app" value="${formatReference(app)}">Restore</button>
</form>`
    : html`<form method="post" action="${prefix}/decisions"><fieldset><legend>Decision</legend>
<input type="hidden" name="app" value="${formatReference(app)}">
<input type="hidden" name="seen" value="${newest ?? 0}">
${decisionFields(page.reasons)}
</fieldset></form>`
}
${page.otherApps.length > 0 && html`<h2>Other apps of <bdi>${developer.name}</bdi></h2>`}
<ul>${page.otherApps.map(
        (other) =>
          html`<li>${appLink(other.id, other.name)}, ${other.deleted_at ? 'deleted' : other.status}</li>`,
      )}</ul>
${reviewList(page)}
<h2>History${news.length > 0 && html` before`}${page.hasOlderHistory && html` (newest ${older.length})`}</h2>
${entryTable(older)}`,
    )
  }

  function reviewList({ app, reviews, isReviewWhole }: AppPage) {
    if (reviews.length === 0) return html``
    const heading = isReviewWhole
      ? html`<h2>Review ${reviews[0]?.id}</h2>
<p><a href="${appPath(app.id)}">Show the newest reviews</a></p>`
      : html`<h2>Newest reviews, of ${formatCount(app.review_count)}</h2>`
    return html`${heading}
<ul class="reviews">${reviews.map((review) => {
      const { id, reviewer_name, rating, comment, created_at } = review
      const shown = isReviewWhole ? comment : shortenComment(comment)
      return html`<li>
<p><bdi>${reviewer_name}</bdi>, ${rating} of 5, ${time(created_at)}</p>
<p class="text">${shown}</p>
${shown !== comment && html`<p><a href="${appPath(app.id)}?review=${id}">Show review ${id} whole</a></p>`}
<form method="post" action="${prefix}/removed-reviews">
<label>Reason <input name="reason" maxlength="1000" required><span class="hidden"> for removing the review of ${reviewer_name}</span></label>
<button name="review" value="${id}">Remove</button>
</form></li>`
    })}</ul>`
  }

  const status = (moderator: ModeratorRow, found: Awaited<ReturnType<typeof readStatus>>) =>
    layout('Status', moderator, fieldList(statusFields(found)))

  const audit = (
    moderator: ModeratorRow,
    page: { filter: EntryFilter; entries: ShownEntry[]; hasOlder: boolean },
  ) =>
    layout(
      'Audit log',
      moderator,
      html`<form method="get" role="search">
<label>App <input name="app" inputmode="numeric" value="${page.filter.app}"></label>
<label>Developer <input name="developer" value="${page.filter.developer}"></label>
<label>Since <input type="date" name="since" value="${page.filter.since?.slice(0, 10)}"></label>
<button>Filter</button>
</form>
${page.hasOlder && html`<p>The newest ${page.entries.length}; <code>./apps-service audit --limit NUMBER</code> lists more.</p>`}
${entryTable(page.entries, ({ app_id, subject }) =>
  app_id === null ? html`${subject}` : html`<a href="${appPath(app_id)}">${subject}</a>`,
)}`,
    )

  return { appPath, signIn, message, queue, results, app, status, audit }
}
