import type { OpenedApp } from '../../accounts/session-store.ts'
import type { NamedAppRow } from '../../catalogue/app-store.ts'
import { canDecide, isListed, waitsSince } from '../../catalogue/policy.ts'
import { formatReference } from '../../contract/field-rules.ts'
import { type Html, html } from '../../http/html.ts'
import type { QueuePosition } from '../../moderation/queue.ts'
import { formatCount } from '../../util/text.ts'
import { formatWait } from '../../util/time.ts'
import {
  alert,
  icon,
  noDefaultButton,
  openChip,
  reasonField,
  seenField,
  stateChip,
  warningChips,
} from './components.ts'
import { refusalText } from './entries.ts'
import type { ShownEntry } from './excerpts.ts'
import type { Links, QueueView } from './links.ts'

/** The bar that stays in sight on an app's page: what the app is, and the form that decides on it. */

export type AppBar = {
  app: NamedAppRow
  history: ShownEntry[]
  /** The entries of the history that were written after the page that the moderator decided on. */
  newEntries: ShownEntry[]
  /** The queue that the page leads through, and where the app is in it. */
  queue?: { view: QueueView; position: QueuePosition; number?: number; total?: number } | undefined
  /** By somebody else. */
  opened: OpenedApp | undefined
  /** The app to go on with after the decision, instead of the next one. */
  next?: number | undefined
  problem?: string | undefined
  /** Why the decision of the form that was sent was not made. */
  refusal?: string | undefined
  /** Of the form that was sent, if it was refused. */
  reason?: string | undefined
  /** Recent reasons to choose from. */
  reasons: string[]
}

export function appBar(links: Links, page: AppBar): Html {
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
      ${queue?.number !== undefined && html`<span>${formatCount(queue.number)} of ${formatCount(queue.total ?? 0)}</span>`}
    </p>
  </div>
  ${(opened || warnings.length > 0) && html`<p class="chips">${opened && openChip(opened)} ${warnings}</p>`}
  ${alert(page.refusal === undefined ? page.problem : refusalText(page.refusal, page.newEntries))}
  ${app.deleted_at ? restoreForm(links, page) : decisionForm(links, page)}
</div>`
}

function restoreForm(links: Links, page: AppBar) {
  const { app, queue } = page
  return html`<form method="post" action="${links.form('/restorations', queue?.view)}">
    <fieldset>
      <legend class="hidden">The app is deleted</legend>
      ${seenField(page.history)}
      <button name="app" value="${formatReference(app)}">Restore</button>
      ${skipLink(links, page)}
    </fieldset>
  </form>`
}

function decisionForm(links: Links, page: AppBar) {
  const { app, queue } = page
  return html`<form method="post" action="${links.form('/decisions', queue && { ...queue.view, after: queue.position })}">
    <fieldset>
      <legend class="hidden">Decision</legend>
      ${noDefaultButton}
      <input type="hidden" name="app" value="${formatReference(app)}">
      ${seenField(page.history)}
      ${page.next !== undefined && html`<input type="hidden" name="next" value="${page.next}">`}
      ${canDecide('approve', app) && html`<button name="decision" value="approve" class="approve" formnovalidate>Approve</button>`}
      ${
        canDecide('reject', app) &&
        html`${reasonField(page.reason ?? '', page.reasons)}
      <button name="decision" value="reject" class="reject">${isListed(app) ? 'Take down' : 'Reject'}</button>`
      }
      ${app.status === 'rejected' && html`<button name="decision" value="reopen" formnovalidate>Reopen</button>`}
      ${skipLink(links, page)}
    </fieldset>
  </form>`
}

const skipLink = (links: Links, { queue, next }: AppBar) =>
  queue &&
  html`<a class="skip" rel="next" href="${next === undefined ? links.next(queue.view, queue.position) : links.app(next, queue.view)}">Skip</a>`
