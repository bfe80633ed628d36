import { type Request, type RequestHandler, type Response, Router } from 'express'
import { auditStore, type Operator } from '../../audit/audit-store.ts'
import { categoryStore } from '../../catalogue/category-store.ts'
import type { Decision } from '../../catalogue/policy.ts'
import { findReviews, removeReview, requireReview } from '../../catalogue/reviews.ts'
import { OperatorError, ServiceError } from '../../contract/errors.ts'
import { parseReason } from '../../contract/field-rules.ts'
import type { Database } from '../../db/database.ts'
import type { QueryRunner } from '../../db/engine.ts'
import { findEntries } from '../../moderation/audit-entries.ts'
import { decideEach, restoreApp } from '../../moderation/decisions.ts'
import { moderationStore } from '../../moderation/moderation-store.ts'
import { readStatus, statusStore } from '../../moderation/status-store.ts'
import { pick } from '../../util/helpers.ts'
import type { Html } from '../html.ts'
import {
  fieldOf,
  fieldsOf,
  isoDate,
  maxChosen,
  positiveInteger,
  readForm,
  shownApp,
} from './fields.ts'
import { moderatorOf } from './sessions.ts'
import { maxReadComment, shortEntry, shortenChanges, wholeEntry } from './short-texts.ts'
import type { Views } from './views.ts'

const pageSize = 50
/** Entries of an app's history, and of the audit log. */
const historySize = 50
const auditSize = 200
const maxOtherApps = 20
const maxReviews = 100

/** The pages of signed-in moderators, and what their forms do. */
export function moderationRoutes(
  database: Database,
  views: Views,
  requireModerator: RequestHandler,
  account: string,
): Router {
  const router = Router({ strict: true, caseSensitive: true })
  const show = (path: string, makePage: (request: Request, response: Response) => Promise<Html>) =>
    router.get(path, requireModerator, async (request, response) => {
      response.send((await makePage(request, response)).text)
    })
  /** Ends when the client disconnects. */
  const read = <T>({ signal }: Request, work: (runner: QueryRunner) => Promise<T>): Promise<T> =>
    database.snapshot(work, { isExpensive: true, signal })
  const actorOf = (response: Response): Operator => {
    const { id, name } = moderatorOf(response)
    return { operator: account, operatorName: name, operatorId: id }
  }

  show('/', (request, response) =>
    read(request, async (runner) => {
      const { query } = request
      const queue = fieldOf(query, 'queue') === 'changed' ? 'changed' : 'pending'
      const page = positiveInteger('page', fieldOf(query, 'page') || '1')
      const filter = {
        developer: fieldOf(query, 'developer').trim() || undefined,
        category: fieldOf(query, 'category') || undefined,
        search: fieldOf(query, 'search').trim() || undefined,
      }
      const store = moderationStore(runner)
      const found = await store.queue(queue, filter, pageSize, (page - 1) * pageSize)
      return views.queue(moderatorOf(response), {
        queue,
        filter,
        page,
        pages: Math.ceil(found.total / pageSize),
        isAllSelected: fieldOf(query, 'select') === 'all',
        ...found,
        apps: await shortenChanges(found.apps, request.signal),
        counts: await statusStore(runner).countApps(),
        categories: await categoryStore(runner).all(),
        reasons: await auditStore(runner).recentReasons(),
      })
    }),
  )

  /**
   * `seen` is the last audit entry of a page that was shown before: later ones are pointed out. With
   * `review`, that one is shown whole instead of the newest ones.
   */
  const makeAppPage = (
    response: Response,
    id: number,
    {
      seen,
      refusal,
      review,
    }: { seen?: number; refusal?: string; review?: number | undefined } = {},
  ) =>
    read(response.req, async (runner) => {
      const store = moderationStore(runner)
      const details = await store.reviewDetails(id, historySize, shortEntry)
      const developer = details.developer.name
      const { apps } = await store.list(undefined, { developer }, maxOtherApps + 1, 0)
      return views.app(moderatorOf(response), {
        ...details,
        reviews:
          review === undefined
            ? await findReviews(runner, id, maxReviews, 0, maxReadComment)
            : [await requireReview(runner, id, review)],
        isReviewWhole: review !== undefined,
        otherApps: apps.filter((app) => app.id !== id).slice(0, maxOtherApps),
        reasons: await auditStore(runner).recentReasons(),
        news: seen === undefined ? [] : details.history.filter((entry) => entry.id > seen),
        refusal,
      })
    })

  show('/apps/:id', async ({ params, query }, response) => {
    const review = fieldOf(query, 'review')
    const shown = { review: review ? positiveInteger('the review', review) : undefined }
    try {
      return await makeAppPage(response, positiveInteger('the id', String(params.id)), shown)
    } catch (error) {
      // The path names no app.
      throw error instanceof OperatorError
        ? new ServiceError('not_found', `${error.message}.`)
        : error
    }
  })

  router.post('/decisions', requireModerator, readForm, async ({ body }, response) => {
    const chosen = fieldsOf(body, 'app').map(shownApp)
    const decision = parseDecision(fieldOf(body, 'decision'))
    if (chosen.length === 0 || chosen.length > maxChosen)
      throw new OperatorError(`choose 1 to ${maxChosen} apps, not ${chosen.length}`)
    const reason = decision === 'reject' ? parseReason(fieldOf(body, 'reason')) : ''
    const decisions = chosen.map((app) => ({ ...app, decision, reason }))
    const results = []
    for await (const result of decideEach(database, decisions, actorOf(response))) {
      if ('error' in result && result.isUnavailable)
        throw new ServiceError(
          'unavailable',
          'The database cannot be used now. Some of the apps may have been decided; look at them again.',
        )
      // Without the texts of the app, of which there may be a thousand.
      results.push(
        'error' in result ? result : { ...pick(result, 'id', 'status'), name: result.before.name },
      )
    }
    const [first] = results
    const seen = fieldOf(body, 'seen')
    if (seen && first && 'error' in first) {
      const refusal = `Nothing was decided: ${first.error}.`
      const page = await makeAppPage(response, first.id, { seen: Number(seen), refusal })
      response.status(409).send(page.text)
    } else response.send(views.results(moderatorOf(response), results).text)
  })

  router.post('/restorations', requireModerator, readForm, async ({ body }, response) => {
    const app = shownApp(fieldOf(body, 'app'))
    await restoreApp(database, app, actorOf(response))
    response.redirect(303, views.appPath(app.id))
  })

  router.post('/removed-reviews', requireModerator, readForm, async ({ body }, response) => {
    const review = positiveInteger('the review', fieldOf(body, 'review'))
    const reason = parseReason(fieldOf(body, 'reason'))
    const { app_id } = await database.write((runner) =>
      removeReview(runner, review, reason, actorOf(response)),
    )
    response.redirect(303, views.appPath(app_id))
  })

  show('/status', async ({ signal }, response) =>
    views.status(moderatorOf(response), await readStatus(database, signal)),
  )

  show('/audit', async (request, response) => {
    const { query } = request
    const [entry, app, since] = ['entry', 'app', 'since'].map((name) => fieldOf(query, name))
    const filter = {
      entry: entry ? positiveInteger('the entry', entry) : undefined,
      app: app ? positiveInteger('the app', app) : undefined,
      developer: fieldOf(query, 'developer').trim() || undefined,
      since: since ? isoDate('since', since) : undefined,
    }
    const { signal } = request
    const found = await findEntries(
      // Not expensive: each batch is short, and would wait behind all searches again.
      (work) => database.read(work, { signal }),
      filter,
      auditSize,
      entry ? wholeEntry : shortEntry,
    )
    return views.audit(moderatorOf(response), { filter, ...found })
  })

  return router
}

function parseDecision(text: string): Decision {
  if (text === 'approve' || text === 'reject') return text
  throw new OperatorError('choose Approve or Reject')
}
