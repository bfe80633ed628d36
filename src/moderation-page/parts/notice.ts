import { formatReference } from '../../contract/field-rules.ts'
import type { QueryRunner } from '../../db/engine.ts'
import { type Html, html } from '../../http/html.ts'
import {
  type DecidedApp,
  type DoneApp,
  describeLostName,
  findDecidedApps,
  type OwnAction,
} from '../../moderation/decisions.ts'
import { formatCount, nounOf } from '../../util/text.ts'
import type { PageContext } from './context.ts'
import type { DecidedIds, QueueView } from './links.ts'

/** The notice above a page: what the form before it did. */

/** In the order of the sentences. */
const titles: Record<OwnAction, string> = {
  'app approve': 'Approved',
  'app reject': 'Rejected',
  'app reopen': 'Reopened',
  'app restore': 'Restored',
  'review remove': 'Removed a review of',
}

type NoticeOptions = {
  view?: QueueView | undefined
  /** The app that Undo leads back to. */
  next?: number
  /** Apps that wait in the queue. */
  total?: number | undefined
}

/**
 * The address has only the ids, so that a reload sends nothing again. The audit log says what the
 * moderator has decided about them, so that an address that somebody else has made reports no
 * decision. False if there is nothing to report.
 */
export async function readNotice(
  { links, session }: PageContext,
  runner: QueryRunner,
  { decided = [], refused: refusedIds = [] }: DecidedIds,
  { view, next, total }: NoticeOptions,
): Promise<Html | false> {
  if (decided.length + refusedIds.length === 0) return false
  const { id } = session.moderator
  const { done, refused } = await findDecidedApps(runner, decided, refusedIds, id)
  if (done.length + refused.length === 0) return false
  const sentences = Object.entries(titles).map(([action, title]) => {
    const some = done.filter((app) => app.action === action)
    const lost = some.flatMap(({ lostName }) => (lostName ? `${describeLostName(lostName)} ` : []))
    return some.length > 0 && html`${title} ${some.map(appName)}. ${lost}`
  })
  const problem =
    refused.length > 0 &&
    html`<span class="problem">Not decided ${refused.map(
      (app, index) => html`${appName(app, index)} (${refusals[stateOf(app)]})`,
    )}. </span>`
  const waiting =
    total !== undefined && html`${formatCount(total)} ${nounOf(total, 'waits', 'wait')}.`
  const [only] = done.length === 1 ? done : []
  return html`<div class="report">
<p role="status">${sentences}${problem} ${waiting}</p>
${only?.canUndo && undoForm(only)}
</div>`

  function appName(app: DecidedApp, index: number): Html {
    return html`${index > 0 && ', '}<a href="${links.app(app.id, view, { next })}"><bdi>${app.name}</bdi></a>`
  }

  function undoForm(app: DoneApp): Html {
    return html`<form method="post" action="${links.form('/reopenings', view)}">
${next !== undefined && html`<input type="hidden" name="next" value="${next}">`}
<button name="reopened" value="${formatReference(app)}">Undo</button>
</form>`
  }
}

const refusals = {
  approved: 'approved meanwhile',
  rejected: 'rejected meanwhile',
  waiting: 'changed meanwhile',
  deleted: 'deleted meanwhile',
}

function stateOf({ status, deleted_at, unreviewed_since }: DecidedApp): keyof typeof refusals {
  if (deleted_at) return 'deleted'
  if (status === 'pending' || unreviewed_since) return 'waiting'
  return status
}
