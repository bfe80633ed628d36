import type { Response } from 'express'
import { findRejectionReasons } from '../../audit/audit-store.ts'
import { countAppsByState } from '../../catalogue/app-store.ts'
import { findCategories } from '../../catalogue/category-store.ts'
import { OperatorError } from '../../contract/errors.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { Html } from '../../http/html.ts'
import {
  countQueue,
  findWaitingDevelopers,
  isCounted,
  type QueueOrder,
  walkQueue,
} from '../../moderation/queue.ts'
import { decidedIds, fieldOf, maxSelected, parseQueueView } from '../forms.ts'
import { sentenceOf } from '../parts/labels.ts'
import type { QueueView } from '../parts/links.ts'
import { type QueuedApps, queuePage } from '../parts/queue.ts'
import { type PageContext, readFrame, readNotice, readOpenElsewhere, readPage } from './page.ts'

/** The form of a queue that was refused, which its page shows again. */
export type RefusedQueueForm = {
  problem?: string
  reason: string
  /** References of apps. */
  selected: string[]
  /** Ids of apps that were not decided. */
  refused?: number[]
}

/** A filter that names nothing is a problem of the page, which keeps the filter. */
export function renderQueue(
  context: PageContext,
  response: Response,
  form?: RefusedQueueForm,
): Promise<Html> {
  const { req } = response
  const view = parseQueueView(req.query)
  const { queue, filter, after } = view
  return readPage(context, req, async (runner) => {
    const opened = await readOpenElsewhere(runner, response)
    const order = { queue, filter, openElsewhere: [...opened.keys()] }
    const { filterProblem, apps, ...list } = await readList(runner, order, after)
    if (filterProblem !== undefined) response.status(400)
    const isTotalKnown = isCounted(filter) && filterProblem === undefined
    return queuePage(await readFrame(context, runner, response, queue), {
      ...list,
      view,
      apps: apps.map((app) => ({ ...app, opened: opened.get(app.id) })),
      records: await countAppsByState(
        runner,
        apps.map(({ developer_id }) => developer_id),
      ),
      categories: await findCategories(runner),
      developers: await findWaitingDevelopers(runner, queue),
      reasons: await findRejectionReasons(runner),
      notice: await readNotice(
        context,
        runner,
        response,
        form?.refused ? { refused: form.refused } : decidedIds(req.query),
        { view, total: isTotalKnown ? list.total : undefined },
      ),
      isFilterValid: filterProblem === undefined,
      problem: form?.problem ?? filterProblem,
      reason: form?.reason,
      selected: new Set(form?.selected),
      areOthersSelected: fieldOf(req.query, 'select') === 'all',
    })
  })
}

async function readList(
  runner: QueryRunner,
  order: QueueOrder,
  after: QueueView['after'],
): Promise<QueuedApps & { filterProblem?: string }> {
  try {
    const found = await walkQueue(runner, order, after, maxSelected)
    return { ...found, ...(await countQueue(runner, order, after)) }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { apps: [], total: 0, upTo: 0, filterProblem: sentenceOf(error) }
  }
}
