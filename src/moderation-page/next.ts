import type { Response } from 'express'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { findNext, type NextApp, type QueuePosition } from '../moderation/queue.ts'
import { type PageContext, queueTimeout, readOpenElsewhere } from './pages/page.ts'
import type { DecidedIds, QueueView } from './parts/links.ts'

/** Leads to the app after a position in a queue, or to the list if the queue has ended. */
export async function leadToNext(
  context: PageContext,
  response: Response,
  view: QueueView,
  position: QueuePosition | undefined,
  ids: DecidedIds = {},
): Promise<void> {
  const { links } = context
  const { next, last } = position ? await tryToFindNext(context, response, view, position) : {}
  const address = next
    ? links.app(next.id, view, { ...ids, position: next })
    : links.queue({ ...view, after: last }, ids)
  response.redirect(303, address)
}

/**
 * If the filter has become invalid or the database is busy, the search goes on from the position:
 * the decision has been made.
 */
async function tryToFindNext(
  { database }: PageContext,
  response: Response,
  { queue, filter }: QueueView,
  position: QueuePosition,
): Promise<NextApp> {
  try {
    return await database.snapshot(
      async (runner) => {
        const opened = await readOpenElsewhere(runner, response)
        const order = { queue, filter, openElsewhere: [...opened.keys()] }
        return findNext(runner, order, position)
      },
      { isExpensive: true, queueTimeout },
    )
  } catch (error) {
    if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
    return { last: position }
  }
}
