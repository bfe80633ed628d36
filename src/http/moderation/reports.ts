import type { QueryRunner } from '../../db/engine.ts'
import type { AppRow } from '../../db/rows.ts'
import { findOwnDecisions } from '../../moderation/decisions.ts'
import { formatCount, nounOf } from '../../util/text.ts'
import { type Html, html } from '../html.ts'
import type { Links, Report } from './links.ts'
import type { QueueView } from './queue-view.ts'

/**
 * The line above a page that says what the form before it did. The address has only the ids, so
 * that a reload sends nothing again. The audit log says what the moderator has decided about them,
 * so that an address that somebody else has made reports no decision.
 */

type ReportedApp = Pick<AppRow, 'id' | 'name' | 'status' | 'deleted_at' | 'unreviewed_since'>

/** Names that are shown of each kind. */
const maxNames = 10

/** `next` is the app that a reversed decision leads back to. False if nothing is reported. */
export async function reportOf(
  runner: QueryRunner,
  links: Links,
  moderatorId: string,
  { decided = [], refused = [] }: Report,
  { view, next, total }: { view?: QueueView | undefined; next?: number; total?: number },
): Promise<Html | false> {
  if (decided.length + refused.length === 0) return false
  const decisions = await findOwnDecisions(runner, decided, moderatorId)
  const apps: ReportedApp[] = await runner
    .sql('apps')
    .whereIn('id', [...decisions.keys(), ...refused])
    .orderBy('id')
    .select('id', 'name', 'status', 'deleted_at', 'unreviewed_since')
  const refusedIds = new Set(refused)
  const done = apps.filter(({ id }) => !refusedIds.has(id))
  const not = apps.filter(({ id }) => refusedIds.has(id))
  if (apps.length === 0) return false
  /** The owner may have changed or deleted the app since. */
  const outcomeOf = (app: ReportedApp) => {
    const state = stateOf(app)
    return state === 'waiting' || state === 'deleted' ? state : decisions.get(app.id)
  }
  const sentences = [
    sentence(
      'Approved',
      done.filter((app) => outcomeOf(app) === 'approve'),
    ),
    sentence(
      'Rejected',
      done.filter((app) => outcomeOf(app) === 'reject'),
    ),
    sentence(
      'Changed again by the owner',
      done.filter((app) => outcomeOf(app) === 'waiting'),
    ),
    sentence(
      'Deleted',
      done.filter((app) => outcomeOf(app) === 'deleted'),
    ),
    ...(not.length === 0
      ? []
      : [html`<span class="problem">${sentence('Not decided', not, true)}</span>`]),
  ]
  const waiting =
    total !== undefined && html`${formatCount(total)} ${nounOf(total, 'waits', 'wait')}.`
  return html`<p role="status" class="report">${sentences} ${waiting}</p>`

  function sentence(title: string, some: ReportedApp[], withState = false): Html | false {
    if (some.length === 0) return false
    const names = some
      .slice(0, maxNames)
      .map(
        (app, index) =>
          html`${index > 0 && ', '}<a href="${links.app(app.id, view, { next })}"><bdi>${app.name}</bdi></a>${withState && ` (${refusals[stateOf(app)]})`}`,
      )
    const more = some.length - maxNames
    return html`${title} ${names}${more > 0 && ` and ${formatCount(more)} more`}. `
  }
}

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
