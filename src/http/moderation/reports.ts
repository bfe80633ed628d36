import { canDecide } from '../../catalogue/policy.ts'
import { formatReference } from '../../contract/field-rules.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { AppRow } from '../../db/rows.ts'
import { findOwnActions, type ReportedAction } from '../../moderation/decisions.ts'
import { formatCount, nounOf } from '../../util/text.ts'
import { type Html, html } from '../html.ts'
import type { Links, Report } from './links.ts'
import type { QueueView } from './queue-view.ts'

/**
 * The line above a page that says what the form before it did. The address has only the ids, so
 * that a reload sends nothing again. The audit log says what the moderator has decided about them,
 * so that an address that somebody else has made reports no decision.
 */

type ReportedApp = Pick<
  AppRow,
  'id' | 'revision' | 'name' | 'status' | 'deleted_at' | 'unreviewed_since'
>

/** In the order of the sentences. */
const titles: Record<ReportedAction, string> = {
  'app approve': 'Approved',
  'app reject': 'Rejected',
  'app reopen': 'Reopened',
  'app restore': 'Restored',
  'review remove': 'Removed a review of',
}

/** `next` is the app that a reversed decision leads back to. False if nothing is reported. */
export async function reportOf(
  runner: QueryRunner,
  links: Links,
  moderatorId: string,
  { decided = [], refused = [] }: Report,
  { view, next, total }: { view?: QueueView | undefined; next?: number; total?: number },
): Promise<Html | false> {
  if (decided.length + refused.length === 0) return false
  const actions = await findOwnActions(runner, decided, moderatorId)
  const apps: ReportedApp[] = await runner
    .sql('apps')
    .whereIn('id', [...actions.keys(), ...refused])
    .orderBy('id')
    .select('id', 'revision', 'name', 'status', 'deleted_at', 'unreviewed_since')
  const refusedIds = new Set(refused)
  const done = apps.filter(({ id }) => !refusedIds.has(id))
  const not = apps.filter(({ id }) => refusedIds.has(id))
  if (apps.length === 0) return false
  const sentences = Object.entries(titles).map(([action, title]) =>
    sentence(
      title,
      done.filter(({ id }) => actions.get(id) === action),
    ),
  )
  const problem =
    not.length > 0 && html`<span class="problem">${sentence('Not decided', not, true)}</span>`
  const waiting =
    total !== undefined && html`${formatCount(total)} ${nounOf(total, 'waits', 'wait')}.`
  const [only] = done.length === 1 ? done : []
  return html`<div class="report">
<p role="status">${sentences}${problem} ${waiting}</p>
${only && isDecision(actions.get(only.id)) && canReopen(only) && reopenForm(only)}
</div>`

  function sentence(title: string, some: ReportedApp[], withState = false): Html | false {
    if (some.length === 0) return false
    const names = some.map(
      (app, index) =>
        html`${index > 0 && ', '}<a href="${links.app(app.id, view, { next })}"><bdi>${app.name}</bdi></a>${withState && ` (${refusals[stateOf(app)]})`}`,
    )
    return html`${title} ${names}. `
  }

  function reopenForm(app: ReportedApp) {
    return html`<form method="post" action="${links.reopenings(view)}">
${next !== undefined && html`<input type="hidden" name="next" value="${next}">`}
<button name="reopened" value="${formatReference(app)}">Back to the queue</button>
</form>`
  }
}

const isDecision = (action: ReportedAction | undefined) =>
  action === 'app approve' || action === 'app reject'

/** The owner may have changed or deleted the app since. */
const canReopen = (app: ReportedApp) => app.deleted_at === null && canDecide('reopen', app)

const refusals = {
  approved: 'approved meanwhile',
  rejected: 'rejected meanwhile',
  waiting: 'changed meanwhile',
  deleted: 'deleted meanwhile',
}

function stateOf({ status, deleted_at, unreviewed_since }: ReportedApp): keyof typeof refusals {
  if (deleted_at) return 'deleted'
  if (status === 'pending' || unreviewed_since) return 'waiting'
  return status
}
