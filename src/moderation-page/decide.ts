import type { Request } from 'express'
import { findAppsOpenElsewhere } from '../accounts/session-store.ts'
import type { AuditEntry } from '../audit/read-entries.ts'
import { removeReview } from '../catalogue/reviews.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { type AppReference, parseReason } from '../contract/field-rules.ts'
import type { AppRow } from '../db/rows.ts'
import {
  decideEach,
  findRepeated,
  isRepeated,
  type ReasonedDecision,
  restoreApp,
} from '../moderation/decisions.ts'
import { findNext, positionOf, type QueuePosition } from '../moderation/queue.ts'
import {
  fieldOf,
  fieldsOf,
  maxSelected,
  nextApp,
  parseQueueView,
  positiveInteger,
  seenEntry,
  shownApp,
  viewOf,
} from './forms.ts'
import { queuePage, type RefusedQueueForm } from './pages/queue.ts'
import { appPage, type RefusedAppForm } from './pages/single-app.ts'
import { type PageContext, queueTimeout, sendPage } from './parts/context.ts'
import { sentenceOf } from './parts/labels.ts'
import type { DecidedIds, QueueView } from './parts/links.ts'

/**
 * The forms that decide, restore an app, or remove a review: each is parsed, does its work, and
 * leads on (303). One that is refused is shown again with what was typed.
 */

/** From the page of an app, or the selected apps of a queue. */
export async function receiveDecisions(context: PageContext): Promise<void> {
  const form = parseForm(context.request)
  const [first] = form.apps
  if (form.isOfApp && first) await decideShown(context, form, first)
  else await decideSelected(context, form)
}

type DecisionForm = ReturnType<typeof parseForm>

const parseForm = ({ body, query }: Request) => ({
  /** Only the form of an app's page has it. */
  isOfApp: fieldOf(body, 'seen') !== '',
  apps: [...new Set(fieldsOf(body, 'app'))].map(shownApp),
  selected: fieldsOf(body, 'app'),
  decision: fieldOf(body, 'decision'),
  reason: fieldOf(body, 'reason'),
  seen: seenEntry(body),
  next: nextApp(body),
  view: parseQueueView(query),
  isInQueue: fieldOf(query, 'queue') !== '',
})

/** The decision of a form, or all its errors. */
function parseDecision({
  apps,
  decision,
  reason,
}: DecisionForm): ReasonedDecision | { problem: string } {
  const problems: string[] = []
  if (apps.length === 0) problems.push('Select at least one app.')
  if (apps.length > maxSelected)
    problems.push(`Select at most ${maxSelected} apps, not ${apps.length}.`)
  const takesNoReason = decision === 'approve' || decision === 'reopen'
  if (takesNoReason && reason.trim() !== '')
    problems.push(`Nothing was decided: ${decision} takes no reason; remove it, or reject the app.`)
  if (takesNoReason && problems.length === 0) return { decision, reason: '' }
  if (decision === 'reject') {
    try {
      const parsed = parseReason(reason)
      if (problems.length === 0) return { decision, reason: parsed }
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      problems.push(sentenceOf(error))
    }
  } else if (!takesNoReason) problems.push('Press Approve or Reject.')
  return { problem: problems.join(' ') }
}

/** Leads to the next app of the queue, to the app that the form names, or back to the same app. */
async function decideShown(
  context: PageContext,
  form: DecisionForm,
  app: AppReference,
): Promise<void> {
  const { links, response } = context
  const { seen, next, reason, view, isInQueue } = form
  const refuse = (status: number, why: RefusedAppForm) =>
    sendPage(response.status(status), appPage(context, app.id, { seen, next, reason, ...why }))

  const decision = parseDecision(form)
  if ('problem' in decision) return refuse(400, decision)
  const [result] = await decideAll(context, [app], decision)
  if (result?.error !== undefined) return refuse(409, { refusal: result.error })
  const ids = { decided: [app.id] }
  if (!isInQueue) return response.redirect(303, links.app(app.id, undefined, ids))
  if (next !== undefined) return response.redirect(303, links.app(next, view, ids))
  const position = view.after ?? (result?.before && positionOf(result.before))
  return leadToNext(context, view, position, ids)
}

/** Leads to the queue. */
async function decideSelected(context: PageContext, form: DecisionForm): Promise<void> {
  const { links, response } = context
  const { view, reason, selected } = form
  const refuse = (status: number, why: Pick<RefusedQueueForm, 'problem' | 'refused'>) =>
    sendPage(response.status(status), queuePage(context, { reason, selected, ...why }))

  const decision = parseDecision(form)
  if ('problem' in decision) return refuse(400, decision)
  const results = await decideAll(context, form.apps, decision)
  const idsOf = (isRefused: boolean) =>
    results.filter(({ error }) => (error !== undefined) === isRefused).map(({ id }) => id)
  const [decided, refused] = [idsOf(false), idsOf(true)]
  if (decided.length === 0) return refuse(409, { refused })
  response.redirect(303, links.queue(view, { decided, refused }))
}

/** Undo in the notice above a page: reopens the app, and leads to the page that had the notice. */
export async function receiveReopening(context: PageContext): Promise<void> {
  const { links, request, response } = context
  const { body, query } = request
  const app = shownApp(fieldOf(body, 'reopened'))
  const view = viewOf(query)
  const next = nextApp(body)
  const [result] = await decideAll(context, [app], { decision: 'reopen', reason: '' })
  if (result?.error !== undefined) {
    const problem = `Nothing was decided: ${result.error}.`
    return sendPage(response.status(409), appPage(context, app.id, { problem, next }))
  }
  const ids = { decided: [app.id] }
  const shown = view ?? parseQueueView({})
  const address = next === undefined ? links.queue(shown, ids) : links.app(next, view, ids)
  response.redirect(303, address)
}

/** `before` is missing if the moderator had made the same decision before. */
type Result = { id: number; before?: AppRow; error?: string }

async function decideAll(
  { database, session, operator }: PageContext,
  apps: AppReference[],
  decision: ReasonedDecision,
): Promise<Result[]> {
  const decisions = apps.map((app) => ({ ...app, ...decision }))
  const results: Result[] = []
  for await (const result of decideEach(database, decisions, operator)) {
    if (!('error' in result)) results.push({ id: result.id, before: result.before })
    else if (result.error instanceof ServiceError) throw partlyDecided(result.error)
    else results.push({ id: result.id, error: result.error.message })
  }
  const refused = results.filter(({ error }) => error !== undefined).map(({ id }) => id)
  if (refused.length === 0) return results
  const repeated = await database
    .snapshot((runner) => findRepeated(runner, refused, decision, session.moderator.id))
    .catch((error: unknown) => {
      throw error instanceof ServiceError ? partlyDecided(error) : error
    })
  return results.map((result) => (repeated.has(result.id) ? { id: result.id } : result))
}

const partlyDecided = ({ details, cause }: ServiceError) =>
  new ServiceError(
    'unavailable',
    'The database cannot be used now. Some of the apps may have been decided; look at them again.',
    details,
    { cause },
  )

/** Leads to the app after the position of an address. */
export async function leadOn(context: PageContext): Promise<void> {
  const view = parseQueueView(context.request.query)
  await leadToNext(context, view, view.after)
}

/** Leads to the app after a position in a queue, or to the list if none is left. */
async function leadToNext(
  context: PageContext,
  view: QueueView,
  position: QueuePosition | undefined,
  ids: DecidedIds = {},
): Promise<void> {
  const { links, response } = context
  const { next, after } = position ? await tryToFindNext(context, view, position) : {}
  const address = next ? links.app(next.id, view, ids) : links.queue({ ...view, after }, ids)
  response.redirect(303, address)
}

/**
 * If the filter has become invalid or the database is busy, the list begins after the position: the
 * decision has been made.
 */
async function tryToFindNext(
  { database, session }: PageContext,
  { queue, filter }: QueueView,
  position: QueuePosition,
): Promise<{ next?: QueuePosition | undefined; after?: QueuePosition }> {
  try {
    return await database.snapshot(
      async (runner) => {
        const openElsewhere = await findAppsOpenElsewhere(runner, session.token)
        return { next: await findNext(runner, { queue, filter, openElsewhere }, position) }
      },
      { isExpensive: true, queueTimeout },
    )
  } catch (error) {
    if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
    return { after: position }
  }
}

export async function receiveRestoration(context: PageContext): Promise<void> {
  const { database, request, operator } = context
  const app = shownApp(fieldOf(request.body, 'app'))
  await correct(context, app.id, {
    form: {},
    work: () =>
      database.write((runner) => restoreApp(runner, app.id, operator, app.revision), {
        app: app.id,
      }),
    isSame: ({ action }) => action === 'app restore',
  })
}

export async function receiveReviewRemoval(context: PageContext): Promise<void> {
  const { database, request, operator } = context
  const { body } = request
  const review = positiveInteger('the review', fieldOf(body, 'review'))
  const app = positiveInteger('the app', fieldOf(body, 'app'))
  const reason = fieldOf(body, 'reason')
  let parsed = ''
  await correct(context, app, {
    form: { removal: { review, reason } },
    async work() {
      parsed = parseReason(reason)
      const { app_id } = await database.write(
        (runner) => removeReview(runner, review, parsed, operator),
        { app },
      )
      return { id: app_id }
    },
    isSame: ({ action, before, after }) =>
      action === 'review remove' && before?.id === review && after.reason === parsed,
  })
}

type Correction = {
  form: RefusedAppForm
  /** Returns the id of the app that it has changed. */
  work: () => Promise<{ id: number }>
  /** Whether the last entry about the app is of the same form: it was sent twice. */
  isSame: (last: AuditEntry) => boolean
}

/** Leads to the page of the changed app, or shows the page again with the problem and the form. */
async function correct(
  context: PageContext,
  id: number,
  { form, work, isSame }: Correction,
): Promise<void> {
  const { database, links, request, response, session } = context
  const { body, query } = request
  const view = viewOf(query)
  const leadTo = (app: number) => response.redirect(303, links.app(app, view, { decided: [app] }))
  try {
    leadTo((await work()).id)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const moderatorId = session.moderator.id
    if (await database.snapshot((runner) => isRepeated(runner, id, moderatorId, isSame)))
      return leadTo(id)
    const problem = `Nothing was done: ${error.message}.`
    const page = appPage(context, id, { ...form, seen: seenEntry(body), problem })
    await sendPage(response.status(400), page)
  }
}
