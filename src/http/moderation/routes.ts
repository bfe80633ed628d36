import { type RequestHandler, type Response, Router } from 'express'
import { moderatorStore } from '../../accounts/moderator-store.ts'
import type { AuditEntry, Operator } from '../../audit/audit-store.ts'
import type { Decision } from '../../catalogue/policy.ts'
import { removeReview } from '../../catalogue/reviews.ts'
import { OperatorError, ServiceError } from '../../contract/errors.ts'
import { type AppReference, parseReason } from '../../contract/field-rules.ts'
import type { Database } from '../../db/database.ts'
import type { AppRow } from '../../db/rows.ts'
import { decideEach, findRepeated, isRepeated, restoreApp } from '../../moderation/decisions.ts'
import { findFollowing, type Place, placeOf } from '../../moderation/queue-walk.ts'
import type { Html } from '../html.ts'
import {
  type FormFields,
  fieldOf,
  fieldsOf,
  maxSelected,
  positiveInteger,
  readForm,
  shownApp,
} from './fields.ts'
import type { Links, Report } from './links.ts'
import { type Pages, queueTimeout, type RefusedForm, sentenceOf } from './pages.ts'
import { parseQueueView, type QueueView } from './queue-view.ts'
import { moderatorOf, type Sessions, sessionOf } from './sessions.ts'

/**
 * The pages of signed-in moderators, and what their forms do. A form that has done something leads
 * to a page (303); one that is refused is shown again with what was typed.
 */
export function moderationRoutes(
  database: Database,
  pages: Pages,
  links: Links,
  { requireModerator, requireModeratorOrKey, openApp }: Sessions,
  account: string,
): Router {
  const router = Router({ strict: true, caseSensitive: true })
  const show = (path: string, makePage: (response: Response) => Promise<Html>) =>
    router.get(path, requireModerator, async (_request, response) => {
      response.send((await makePage(response)).text)
    })
  const receive = (path: string, handle: RequestHandler) =>
    router.post(path, readForm, requireModeratorOrKey, handle)
  const actorOf = (response: Response): Operator => {
    const { id, name } = moderatorOf(response)
    return { operator: account, operatorName: name, operatorId: id }
  }

  show('/', (response) => pages.queue(response, parseQueueView(response.req.query)))
  show('/apps', (response) => pages.apps(response, fieldOf(response.req.query, 'text').trim()))
  show('/apps/:id', async (response) => {
    try {
      const id = positiveInteger('the id', String(response.req.params.id))
      const page = await pages.app(response, id)
      if (fieldOf(response.req.query, 'queue')) await openApp(response, id)
      return page
    } catch (error) {
      // The path names no app.
      throw error instanceof OperatorError
        ? new ServiceError('not_found', sentenceOf(error))
        : error
    }
  })
  // Found when it is opened, not when the page with the link was: others may have opened apps since.
  router.get('/next', requireModerator, async ({ query }, response) => {
    const view = parseQueueView(query)
    await leadOn(response, view, view.after)
  })
  show('/audit', (response) => pages.audit(response))

  receive('/decisions', async ({ body, query }, response) => {
    const apps = [...new Set(fieldsOf(body, 'app'))].map(shownApp)
    const reason = fieldOf(body, 'reason')
    const view = viewOf(query)
    const given = parseDecision(apps, fieldOf(body, 'decision'), reason)
    const [first] = apps
    // Of the page of an app, not of a queue.
    if (fieldOf(body, 'seen') && first) {
      const seen = seenEntry(body)
      const next = nextApp(body)
      if ('problem' in given)
        return showApp(response, 400, first.id, { seen, problem: given.problem, reason, next })
      const [result] = await decideAll([first], given, response)
      if (result?.error !== undefined)
        return showApp(response, 409, first.id, { seen, refusal: result.error, reason, next })
      const report = { decided: [first.id] }
      const place = view?.after ?? (result?.before && placeOf(result.before))
      if (!view) response.redirect(303, links.app(first.id, undefined, report))
      else if (next !== undefined) response.redirect(303, links.app(next, view, report))
      else await leadOn(response, view, place, report)
      return
    }
    const shown = view ?? parseQueueView(query)
    const form = { reason, selected: fieldsOf(body, 'app') }
    if ('problem' in given) return showQueue(400, { ...form, problem: given.problem })
    const results = await decideAll(apps, given, response)
    const idsOf = (isRefused: boolean) =>
      results.filter(({ error }) => (error !== undefined) === isRefused).map(({ id }) => id)
    const [decided, refused] = [idsOf(false), idsOf(true)]
    if (decided.length === 0) return showQueue(409, { ...form, refused })
    response.redirect(303, links.queue(shown, { decided, refused }))

    async function showQueue(status: number, form: RefusedForm): Promise<void> {
      response.status(status)
      response.send((await pages.queue(response, shown, form)).text)
    }
  })

  // From the line that reports a decision, back to the page that has it.
  receive('/reopenings', async ({ body, query }, response) => {
    const app = shownApp(fieldOf(body, 'reopened'))
    const view = viewOf(query)
    const next = nextApp(body)
    const [result] = await decideAll([app], { decision: 'reopen', reason: '' }, response)
    if (result?.error !== undefined) {
      const problem = `Nothing was decided: ${result.error}.`
      return showApp(response, 409, app.id, { problem, next })
    }
    const report = { decided: [app.id] }
    const shown = view ?? parseQueueView({})
    response.redirect(
      303,
      next === undefined ? links.queue(shown, report) : links.app(next, view, report),
    )
  })

  /** Shows the page of an app again, with the form that was refused. */
  async function showApp(
    response: Response,
    status: number,
    id: number,
    form: Parameters<typeof pages.app>[2],
  ): Promise<void> {
    response.status(status).send((await pages.app(response, id, form)).text)
  }

  type Given = { decision: Decision; reason: string }
  /** `before` is missing if the moderator had made the same decision before. */
  type Result = { id: number; before?: AppRow; error?: string }

  async function decideAll(apps: AppReference[], given: Given, response: Response) {
    const decisions = apps.map((app) => ({ ...app, ...given }))
    const results: Result[] = []
    for await (const result of decideEach(database, decisions, actorOf(response))) {
      if (!('error' in result)) results.push({ id: result.id, before: result.before })
      else if (result.error instanceof ServiceError) throw partlyDecided()
      else results.push({ id: result.id, error: result.error.message })
    }
    const refused = results.filter(({ error }) => error !== undefined).map(({ id }) => id)
    if (refused.length === 0) return results
    const repeated = await database
      .snapshot((runner) => findRepeated(runner, refused, given, moderatorOf(response).id))
      .catch((error: unknown) => {
        throw error instanceof ServiceError ? partlyDecided() : error
      })
    return results.map((result) => (repeated.has(result.id) ? { id: result.id } : result))
  }

  /** Leads to the app after a place of a queue, or to the list if the queue has ended. */
  async function leadOn(
    response: Response,
    view: QueueView,
    place: Place | undefined,
    report: Report = {},
  ) {
    const { next, last } = place ? await findNext(response, view, place) : {}
    const address = next
      ? links.app(next.id, view, { ...report, place: next })
      : links.queue({ ...view, after: last }, report)
    response.redirect(303, address)
  }

  /**
   * The app of the queue after a place, or where to search on: behind the place if the filter has
   * become invalid or the database is busy, since the decision has been made.
   */
  async function findNext(
    response: Response,
    { queue, filter }: QueueView,
    place: Place,
  ): Promise<{ next?: Place; last?: Place }> {
    const { token } = sessionOf(response)
    try {
      return await database.snapshot(
        async (runner) => {
          const opened = await moderatorStore(runner).openElsewhere(token)
          const order = { queue, filter, openElsewhere: [...opened.keys()] }
          return findFollowing(runner, order, place)
        },
        { isExpensive: true, queueTimeout },
      )
    } catch (error) {
      if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
      return { last: place }
    }
  }

  receive('/restorations', async ({ body, query }, response) => {
    const app = shownApp(fieldOf(body, 'app'))
    const form = { seen: seenEntry(body) }
    await change(response, app.id, viewOf(query), form, {
      work: async () => (await restoreApp(database, app, actorOf(response))).id,
      isGiven: ({ action }) => action === 'app restore',
    })
  })

  receive('/removed-reviews', async ({ body, query }, response) => {
    const review = positiveInteger('the review', fieldOf(body, 'review'))
    const app = positiveInteger('the app', fieldOf(body, 'app'))
    const reason = fieldOf(body, 'reason')
    const form = { seen: seenEntry(body), removal: { review, reason } }
    let parsed = ''
    await change(response, app, viewOf(query), form, {
      async work() {
        parsed = parseReason(reason)
        const { app_id } = await database.write(
          (runner) => removeReview(runner, review, parsed, actorOf(response)),
          { app },
        )
        return app_id
      },
      isGiven: ({ action, before, after }) =>
        action === 'review remove' && before?.id === review && after.reason === parsed,
    })
  })

  /**
   * Leads to the page of the app that the work has changed, also if the form was sent twice. If the
   * work is refused, shows the page of the app again, with the problem and the form.
   */
  async function change(
    response: Response,
    id: number,
    view: QueueView | undefined,
    form: RefusedForm & { seen: number | undefined },
    { work, isGiven }: { work: () => Promise<number>; isGiven: (last: AuditEntry) => boolean },
  ) {
    const leadTo = (app: number) => response.redirect(303, links.app(app, view, { decided: [app] }))
    try {
      leadTo(await work())
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      const moderator = moderatorOf(response)
      if (await database.snapshot((runner) => isRepeated(runner, id, moderator.id, isGiven)))
        return leadTo(id)
      const problem = `Nothing was done: ${error.message}.`
      await showApp(response, 400, id, { ...form, problem })
    }
  }

  return router
}

/** The app that a form leads to instead of the next one of the queue. */
const nextApp = (body: FormFields): number | undefined =>
  fieldOf(body, 'next') ? positiveInteger('next', fieldOf(body, 'next')) : undefined

/** The last entry of the history that the page of the form has shown. */
function seenEntry(body: FormFields): number | undefined {
  const seen = fieldOf(body, 'seen')
  return /^\d{1,15}$/.test(seen) ? Number(seen) : undefined
}

const partlyDecided = () =>
  new ServiceError(
    'unavailable',
    'The database cannot be used now. Some of the apps may have been decided; look at them again.',
  )

/** The queue that the page of the form leads through, if it does. */
const viewOf = (query: FormFields): QueueView | undefined =>
  fieldOf(query, 'queue') ? parseQueueView(query) : undefined

/** The decision of a form, or all its errors. */
function parseDecision(
  apps: AppReference[],
  decision: string,
  reason: string,
): { decision: Decision; reason: string } | { problem: string } {
  const problems: string[] = []
  if (apps.length === 0) problems.push('Select at least one app.')
  if (apps.length > maxSelected)
    problems.push(`Select at most ${maxSelected} apps, not ${apps.length}.`)
  const needsNoReason = decision === 'approve' || decision === 'reopen'
  if (needsNoReason && problems.length === 0) return { decision, reason: '' }
  if (decision === 'reject') {
    try {
      const parsed = parseReason(reason)
      if (problems.length === 0) return { decision, reason: parsed }
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error
      problems.push(sentenceOf(error))
    }
  } else if (!needsNoReason) problems.push('Press Approve or Reject.')
  return { problem: problems.join(' ') }
}
