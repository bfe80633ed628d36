import type { Response } from 'express'
import { findRejectionReasons } from '../../audit/audit-store.ts'
import { type AppReview, countAppsByState, findNamedApps } from '../../catalogue/app-store.ts'
import { findReviews, requireReview } from '../../catalogue/reviews.ts'
import { OperatorError } from '../../contract/errors.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { Html } from '../../http/html.ts'
import { findAppDetails, findOtherApps } from '../../moderation/app-details.ts'
import { maxExcerptLength } from '../../moderation/describe.ts'
import { namesInEntries } from '../../moderation/entries.ts'
import { countQueue, isCounted, positionOf } from '../../moderation/queue.ts'
import { decidedIds, fieldOf, idList, positiveInteger, viewOf } from '../forms.ts'
import { type AppPage, appPage } from '../parts/app.ts'
import { shortEntry } from '../parts/excerpts.ts'
import { sentenceOf } from '../parts/labels.ts'
import { type PageContext, readFrame, readNotice, readOpenElsewhere, readPage } from './page.ts'

/** Entries of an app's history. */
const historySize = 50
const maxOtherApps = 20
const maxReviews = 100

/** The form of an app's page that was refused, which the page shows again. */
export type RefusedAppForm = Pick<
  AppPage,
  'problem' | 'refusal' | 'reason' | 'removal' | 'next'
> & {
  /** The last audit entry of the page that the form was on: later ones are pointed out. */
  seen?: number | undefined
}

/** Throws an OperatorError if there is no such app or review. */
export function renderApp(
  context: PageContext,
  response: Response,
  id: number,
  { seen, ...form }: RefusedAppForm = {},
): Promise<Html> {
  const { query } = response.req
  return readPage(context, response.req, async (runner) => {
    const details = await findAppDetails(runner, id, historySize, shortEntry)
    const { app, history, lookAlikes } = details
    const newEntries = seen === undefined ? [] : history.filter((entry) => entry.id > seen)
    const opened = await readOpenElsewhere(runner, response)
    const { queue, problem } = await findInQueue(runner, response, app, [...opened.keys()])
    const others = await findOtherApps(runner, app, maxOtherApps + 1)
    const records = await countAppsByState(runner, [app.developer_id])
    const reviewId = fieldOf(query, 'review')
    return appPage(await readFrame(context, runner, response, queue?.view.queue), {
      ...details,
      ...form,
      next: form.next ?? idList(fieldOf(query, 'next'))[0],
      problem: form.problem ?? problem,
      queue,
      opened: opened.get(id),
      record: records.get(app.developer_id),
      compared: await findNamedApps(
        runner,
        lookAlikes.map((one) => one.id),
      ),
      reviews: await readReviews(runner, id, reviewId),
      isReviewWhole: reviewId !== '',
      otherApps: others.slice(0, maxOtherApps),
      hasOtherApps: others.length > maxOtherApps,
      reasons: await findRejectionReasons(runner),
      names: await namesInEntries(runner, history),
      notice: await readNotice(context, runner, response, decidedIds(query), {
        view: queue?.view,
        next: id,
        total: queue?.total,
      }),
      newEntries,
    })
  })
}

/** The newest reviews, or only the one that the address names. */
const readReviews = async (
  runner: QueryRunner,
  appId: number,
  reviewId: string,
): Promise<AppReview[]> =>
  reviewId === ''
    ? findReviews(runner, appId, maxReviews, 0, maxExcerptLength + 1)
    : [await requireReview(runner, appId, positiveInteger('the review', reviewId))]

/**
 * The queue that the address leads through, and the app's number there; or the problem, if its
 * filter names nothing any more.
 */
async function findInQueue(
  runner: QueryRunner,
  { req }: Response,
  app: AppPage['app'],
  openElsewhere: number[],
): Promise<Pick<AppPage, 'queue' | 'problem'>> {
  try {
    const view = viewOf(req.query)
    if (!view) return {}
    const { after, queue, filter } = view
    const order = { queue, filter, openElsewhere }
    // A refused form has the position that was shown, which a decision of somebody else has changed.
    const position = after ?? positionOf(app)
    const { total, upTo, isIn } = await countQueue(runner, order, position)
    const counts = isCounted(filter) && { total, ...(isIn && { number: upTo }) }
    return { queue: { view: { queue, filter }, position, ...counts } }
  } catch (error) {
    if (error instanceof OperatorError) return { problem: sentenceOf(error) }
    throw error
  }
}
