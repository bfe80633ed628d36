import { type Response, Router } from 'express'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import type { Html } from '../http/html.ts'
import { receiveRestoration, receiveReviewRemoval } from './corrections.ts'
import { receiveDecisions, receiveReopening } from './decisions.ts'
import { fieldOf, parseQueueView, positiveInteger, readForm } from './forms.ts'
import { leadToNext } from './next.ts'
import { renderApp } from './pages/app.ts'
import { renderApps } from './pages/apps.ts'
import { renderAudit } from './pages/audit.ts'
import { type PageContext, sendPage } from './pages/page.ts'
import { renderQueue } from './pages/queue.ts'
import { sentenceOf } from './parts/labels.ts'
import type { FormPath } from './parts/links.ts'
import { openApp, type Sessions } from './sessions.ts'

/** The pages of signed-in moderators, and the forms on them. */
export function pageRoutes(
  context: PageContext,
  {
    requireModerator,
    requireModeratorOrKey,
  }: Pick<Sessions, 'requireModerator' | 'requireModeratorOrKey'>,
): Router {
  const router = Router({ strict: true, caseSensitive: true })
  const page = (path: string, render: typeof renderApps) =>
    router.get(path, requireModerator, (_request, response) =>
      sendPage(response, render(context, response)),
    )
  const form = (path: FormPath, receive: typeof receiveDecisions) =>
    router.post(path, readForm, requireModeratorOrKey, (_request, response) =>
      receive(context, response),
    )

  page('/', renderQueue)
  page('/apps', renderApps)
  page('/apps/:id', openAppPage)
  page('/audit', renderAudit)
  // Found when it is opened, not when the page with the link was: others may have opened apps since.
  router.get('/next', requireModerator, async ({ query }, response) => {
    const view = parseQueueView(query)
    await leadToNext(context, response, view, view.after)
  })
  form('/decisions', receiveDecisions)
  form('/reopenings', receiveReopening)
  form('/restorations', receiveRestoration)
  form('/removed-reviews', receiveReviewRemoval)
  return router
}

async function openAppPage(context: PageContext, response: Response): Promise<Html> {
  const { method, params, query } = response.req
  try {
    const id = positiveInteger('the id', String(params.id))
    const page = await renderApp(context, response, id)
    if (method === 'GET' && fieldOf(query, 'queue')) await openApp(context.database, response, id)
    return page
  } catch (error) {
    // The path names no app.
    throw error instanceof OperatorError ? new ServiceError('not_found', sentenceOf(error)) : error
  }
}
