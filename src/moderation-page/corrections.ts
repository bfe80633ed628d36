import type { Response } from 'express'
import type { AuditEntry } from '../audit/audit-store.ts'
import { removeReview } from '../catalogue/reviews.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import { isRepeated, restoreApp } from '../moderation/decisions.ts'
import { fieldOf, positiveInteger, seenEntry, shownApp, viewOf } from './forms.ts'
import { type RefusedAppForm, renderApp } from './pages/app.ts'
import { type PageContext, sendPage } from './pages/page.ts'
import { moderatorOf, operatorOf } from './sessions.ts'

/** The other forms of an app's page: they restore the app, and remove a review. */

export async function receiveRestoration(context: PageContext, response: Response): Promise<void> {
  const { body } = response.req
  const app = shownApp(fieldOf(body, 'app'))
  await correct(context, response, app.id, {
    form: {},
    work() {
      const actor = operatorOf(response, context.account)
      return context.database.write((runner) => restoreApp(runner, app.id, actor, app.revision), {
        app: app.id,
      })
    },
    isSame: ({ action }) => action === 'app restore',
  })
}

export async function receiveReviewRemoval(
  context: PageContext,
  response: Response,
): Promise<void> {
  const { body } = response.req
  const review = positiveInteger('the review', fieldOf(body, 'review'))
  const app = positiveInteger('the app', fieldOf(body, 'app'))
  const reason = fieldOf(body, 'reason')
  let parsed = ''
  await correct(context, response, app, {
    form: { removal: { review, reason } },
    async work() {
      parsed = parseReason(reason)
      const actor = operatorOf(response, context.account)
      const { app_id } = await context.database.write(
        (runner) => removeReview(runner, review, parsed, actor),
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
  response: Response,
  id: number,
  { form, work, isSame }: Correction,
): Promise<void> {
  const { body, query } = response.req
  const view = viewOf(query)
  const leadTo = (app: number) =>
    response.redirect(303, context.links.app(app, view, { decided: [app] }))
  try {
    leadTo((await work()).id)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const moderator = moderatorOf(response)
    if (await context.database.snapshot((runner) => isRepeated(runner, id, moderator.id, isSame)))
      return leadTo(id)
    const problem = `Nothing was done: ${error.message}.`
    const page = renderApp(context, response, id, { ...form, seen: seenEntry(body), problem })
    await sendPage(response.status(400), page)
  }
}
