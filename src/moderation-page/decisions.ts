import type { Response } from 'express'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { type AppReference, parseReason } from '../contract/field-rules.ts'
import type { AppRow } from '../db/rows.ts'
import { decideEach, findRepeated, type ReasonedDecision } from '../moderation/decisions.ts'
import { positionOf } from '../moderation/queue.ts'
import {
  type FormFields,
  fieldOf,
  fieldsOf,
  maxSelected,
  nextApp,
  parseQueueView,
  seenEntry,
  shownApp,
  viewOf,
} from './forms.ts'
import { leadToNext } from './next.ts'
import { type RefusedAppForm, renderApp } from './pages/app.ts'
import { type PageContext, sendPage } from './pages/page.ts'
import { type RefusedQueueForm, renderQueue } from './pages/queue.ts'
import { sentenceOf } from './parts/labels.ts'
import { moderatorOf, operatorOf } from './sessions.ts'

/**
 * The forms that decide: each is parsed, decided, and leads on (303). One that is refused is shown
 * again with what was typed.
 */

/** From the page of an app, or the selected apps of a queue. */
export async function receiveDecisions(context: PageContext, response: Response): Promise<void> {
  const { body } = response.req
  const apps = [...new Set(fieldsOf(body, 'app'))].map(shownApp)
  const parsed = parseDecision(apps, body)
  const [first] = apps
  if (fieldOf(body, 'seen') && first) await decideApp(context, response, first, parsed)
  else await decideSelected(context, response, apps, parsed)
}

type ParsedDecision = ReasonedDecision | { problem: string }

/** The decision of a form, or all its errors. */
function parseDecision(apps: AppReference[], body: FormFields): ParsedDecision {
  const decision = fieldOf(body, 'decision')
  const reason = fieldOf(body, 'reason')
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
async function decideApp(
  context: PageContext,
  response: Response,
  app: AppReference,
  parsed: ParsedDecision,
): Promise<void> {
  const { body, query } = response.req
  const view = viewOf(query)
  const form = { seen: seenEntry(body), next: nextApp(body), reason: fieldOf(body, 'reason') }
  const refuse = (status: number, why: RefusedAppForm) =>
    sendPage(response.status(status), renderApp(context, response, app.id, { ...form, ...why }))

  if ('problem' in parsed) return refuse(400, parsed)
  const [result] = await decideAll(context, response, [app], parsed)
  if (result?.error !== undefined) return refuse(409, { refusal: result.error })
  const { links } = context
  const ids = { decided: [app.id] }
  if (!view) return response.redirect(303, links.app(app.id, undefined, ids))
  if (form.next !== undefined) return response.redirect(303, links.app(form.next, view, ids))
  const position = view.after ?? (result?.before && positionOf(result.before))
  return leadToNext(context, response, view, position, ids)
}

/** Leads to the queue. */
async function decideSelected(
  context: PageContext,
  response: Response,
  apps: AppReference[],
  parsed: ParsedDecision,
): Promise<void> {
  const { body, query } = response.req
  const view = parseQueueView(query)
  const form = { reason: fieldOf(body, 'reason'), selected: fieldsOf(body, 'app') }
  const refuse = (status: number, why: Pick<RefusedQueueForm, 'problem' | 'refused'>) =>
    sendPage(response.status(status), renderQueue(context, response, { ...form, ...why }))

  if ('problem' in parsed) return refuse(400, parsed)
  const results = await decideAll(context, response, apps, parsed)
  const idsOf = (isRefused: boolean) =>
    results.filter(({ error }) => (error !== undefined) === isRefused).map(({ id }) => id)
  const [decided, refused] = [idsOf(false), idsOf(true)]
  if (decided.length === 0) return refuse(409, { refused })
  response.redirect(303, context.links.queue(view, { decided, refused }))
}

/** Undo in the notice above a page: reopens the app, and leads to the page that had the notice. */
export async function receiveReopening(context: PageContext, response: Response): Promise<void> {
  const { body, query } = response.req
  const app = shownApp(fieldOf(body, 'reopened'))
  const view = viewOf(query)
  const next = nextApp(body)
  const [result] = await decideAll(context, response, [app], { decision: 'reopen', reason: '' })
  if (result?.error !== undefined) {
    const problem = `Nothing was decided: ${result.error}.`
    const page = renderApp(context, response, app.id, { problem, next })
    return sendPage(response.status(409), page)
  }
  const { links } = context
  const ids = { decided: [app.id] }
  const shown = view ?? parseQueueView({})
  const address = next === undefined ? links.queue(shown, ids) : links.app(next, view, ids)
  response.redirect(303, address)
}

/** `before` is missing if the moderator had made the same decision before. */
type Result = { id: number; before?: AppRow; error?: string }

async function decideAll(
  { database, account }: PageContext,
  response: Response,
  apps: AppReference[],
  decision: ReasonedDecision,
): Promise<Result[]> {
  const decisions = apps.map((app) => ({ ...app, ...decision }))
  const results: Result[] = []
  for await (const result of decideEach(database, decisions, operatorOf(response, account))) {
    if (!('error' in result)) results.push({ id: result.id, before: result.before })
    else if (result.error instanceof ServiceError) throw partlyDecided(result.error)
    else results.push({ id: result.id, error: result.error.message })
  }
  const refused = results.filter(({ error }) => error !== undefined).map(({ id }) => id)
  if (refused.length === 0) return results
  const repeated = await database
    .snapshot((runner) => findRepeated(runner, refused, decision, moderatorOf(response).id))
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
