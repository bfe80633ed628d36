import type { Request, Response } from 'express'
import { moderatorStore } from '../../accounts/moderator-store.ts'
import { findEntry, findRejectionReasons } from '../../audit/audit-store.ts'
import { countAppsByState, findNamedApps, type NamedAppRow } from '../../catalogue/app-store.ts'
import { findCategories } from '../../catalogue/category-store.ts'
import { findReviews, requireReview } from '../../catalogue/reviews.ts'
import { OperatorError } from '../../contract/errors.ts'
import type { Database } from '../../db/database.ts'
import type { QueryRunner } from '../../db/engine.ts'
import { waitingDevelopers } from '../../moderation/app-filter.ts'
import { findApps } from '../../moderation/app-finder.ts'
import { findEntries, moderatorNames } from '../../moderation/audit-entries.ts'
import { maxListed } from '../../moderation/describe.ts'
import { moderationStore } from '../../moderation/moderation-store.ts'
import { countQueue, placeOf, type QueueFilter } from '../../moderation/queue-walk.ts'
import { statusStore } from '../../moderation/status-store.ts'
import {
  type FormFields,
  fieldOf,
  idList,
  maxSelected,
  positiveInteger,
  timeInUtc,
} from './fields.ts'
import type { Links } from './links.ts'
import { parseQueueView, type QueueView } from './queue-view.ts'
import { reportOf } from './reports.ts'
import { moderatorOf, sessionOf } from './sessions.ts'
import { type ShownEntry, shortChange, shortEntry, wholeEntry } from './short-texts.ts'
import { appPage } from './views/app.ts'
import { appsPage } from './views/apps.ts'
import { auditPage } from './views/audit.ts'
import { refusalText } from './views/entries.ts'
import type { Frame, Tab } from './views/layout.ts'
import { queuePage } from './views/queue.ts'
import type { Names } from './views/words.ts'

/** Entries of an app's history, and of a page of the audit log. */
const historySize = 50
const auditSize = 100
const maxOtherApps = 20
const maxReviews = 100
const maxFound = 50
/** Milliseconds: people open several pages at once, and do not repeat a request as programs do. */
export const queueTimeout = 5000

/** The fields of a refused form, which its page shows again. */
export type RefusedForm = {
  problem?: string | undefined
  reason?: string | undefined
  /** References of apps. */
  selected?: string[]
  /** Ids of apps that were not decided. */
  refused?: number[]
  removal?: { review: number; reason: string }
}

export type Pages = ReturnType<typeof createPages>

/** Reads what the pages of signed-in moderators show, and makes their HTML. */
export function createPages(database: Database, links: Links) {
  /** Ends when the client disconnects. */
  const read = <T>({ signal }: Request, work: (runner: QueryRunner) => Promise<T>): Promise<T> =>
    database.snapshot(work, { isExpensive: true, signal, queueTimeout })

  const frameOf = async (runner: QueryRunner, response: Response, tab?: Tab): Promise<Frame> => ({
    links,
    moderator: moderatorOf(response),
    counts: await statusStore(runner).countQueues(),
    ...(tab && { tab }),
  })

  const openElsewhere = (runner: QueryRunner, response: Response) =>
    moderatorStore(runner).openElsewhere(sessionOf(response).token)

  const reported = (query: FormFields) => ({
    decided: idList(fieldOf(query, 'decided')),
    refused: idList(fieldOf(query, 'refused')),
  })

  /** A filter that names nothing is a problem of the page, which keeps it. */
  async function queue(response: Response, view: QueueView, form: RefusedForm = {}) {
    const { req } = response
    return read(req, async (runner) => {
      const { queue, filter, after } = view
      const opened = await openElsewhere(runner, response)
      const list = await readList().catch((error: unknown) => {
        if (!(error instanceof OperatorError)) throw error
        return { apps: [], total: 0, upTo: 0, problem: sentenceOf(error) }
      })
      const frame = await frameOf(runner, response, queue)
      const page = {
        ...list,
        view,
        apps: list.apps.map((app) => ({
          ...app,
          changes: app.changes.map(shortChange),
          opened: opened.get(app.id),
        })),
        records: await countAppsByState(
          runner,
          list.apps.map(({ developer_id }) => developer_id),
        ),
        categories: await findCategories(runner),
        developers: await waitingDevelopers(runner, queue),
        reasons: await findRejectionReasons(runner),
        report: await reportOf(
          runner,
          links,
          moderatorOf(response).id,
          form.refused ? form : reported(req.query),
          { view, ...(isCounted(filter) && !('problem' in list) && { total: list.total }) },
        ),
        isFilterValid: !('problem' in list),
        problem: form.problem ?? ('problem' in list ? list.problem : undefined),
        reason: form.reason,
        selected: new Set(form.selected),
        areOthersSelected: fieldOf(req.query, 'select') === 'all',
      }
      response.status('problem' in list ? 400 : response.statusCode)
      return queuePage(frame, page)

      async function readList() {
        const order = { queue, filter, openElsewhere: [...opened.keys()] }
        const found = await moderationStore(runner).walkQueue(order, after, maxSelected)
        return { ...found, ...(await countQueue(runner, order, after)) }
      }
    })
  }

  /**
   * The page of an app. `seen` is the last audit entry of a page that was shown before: later ones
   * are pointed out. `refusal` says why a decision was not made. Throws an OperatorError if there is
   * no such app or review.
   */
  function app(
    response: Response,
    id: number,
    {
      seen,
      next,
      refusal,
      ...form
    }: RefusedForm & {
      seen?: number | undefined
      next?: number | undefined
      refusal?: string | undefined
    } = {},
  ) {
    const { req } = response
    return read(req, async (runner) => {
      const details = await moderationStore(runner).reviewDetails(id, historySize, shortEntry)
      const { app, similar, history } = details
      const newEntries = seen === undefined ? [] : history.filter((entry) => entry.id > seen)
      const reviewId = fieldOf(req.query, 'review')
      const opened = await openElsewhere(runner, response)
      const openIds = [...opened.keys()]
      const { queue, problem } = await findQueuePlace(runner, req.query, details.app, openIds)
      const others = await otherApps(runner, app)
      const records = await countAppsByState(runner, [app.developer_id])
      const nextId = next ?? idList(fieldOf(req.query, 'next'))[0]
      const frame = await frameOf(runner, response, queue?.view.queue)
      return appPage(frame, {
        ...details,
        problem: refusal === undefined ? problem : refusalText(refusal, newEntries),
        ...form,
        queue,
        opened: opened.get(id),
        next: nextId,
        record: records.get(app.developer_id),
        lookAlikes: await findNamedApps(
          runner,
          similar.map((one) => one.id),
        ),
        reviews: reviewId
          ? [await requireReview(runner, id, positiveInteger('the review', reviewId))]
          : await findReviews(runner, id, maxReviews, 0, maxListed + 1),
        isReviewWhole: reviewId !== '',
        otherApps: others.slice(0, maxOtherApps),
        hasOtherApps: others.length > maxOtherApps,
        reasons: await findRejectionReasons(runner),
        names: await namesIn(runner, history),
        report: await reportOf(runner, links, moderatorOf(response).id, reported(req.query), {
          view: queue?.view,
          next: id,
          ...(queue?.total !== undefined && { total: queue.total }),
        }),
        newEntries,
      })
    })
  }

  /**
   * The queue that the address leads through, and the app's number there; or the problem, if its
   * filter names nothing any more.
   */
  async function findQueuePlace(
    runner: QueryRunner,
    query: FormFields,
    app: NamedAppRow,
    openElsewhere: number[],
  ) {
    if (!fieldOf(query, 'queue')) return {}
    try {
      const { after, ...view } = parseQueueView(query)
      const order = { ...view, openElsewhere }
      // A refused form has the place that was shown, which a decision of somebody else has changed.
      const place = after ?? placeOf(app)
      const { total, upTo, isIn } = await countQueue(runner, order, place)
      const counts = isCounted(view.filter) && { total, ...(isIn && { number: upTo }) }
      return { queue: { view, place, ...counts } }
    } catch (error) {
      if (error instanceof OperatorError) return { problem: sentenceOf(error) }
      throw error
    }
  }

  async function apps(response: Response, text: string) {
    return read(response.req, async (runner) => {
      const { ids, hasMore } = await findApps(runner, text, maxFound)
      const frame = await frameOf(runner, response, 'apps')
      return appsPage(frame, { text, apps: await findNamedApps(runner, ids), hasMore })
    })
  }

  async function audit(response: Response) {
    const { query, signal } = response.req
    const form = {
      app: fieldOf(query, 'app').trim(),
      developer: fieldOf(query, 'developer').trim(),
      moderator: fieldOf(query, 'moderator').trim(),
      until: fieldOf(query, 'until'),
      since: fieldOf(query, 'since'),
    }
    const entry = fieldOf(query, 'entry')
    /** Not expensive: each batch is short, and would wait behind all searches again. */
    const readShort = <T>(work: (runner: QueryRunner) => Promise<T>) =>
      database.read(work, { signal })
    const found = await (entry ? readEntry() : readEntries()).catch((error: unknown) => {
      if (!(error instanceof OperatorError)) throw error
      response.status(400)
      return { filter: {}, entries: [], hasOlder: false, problem: sentenceOf(error) }
    })
    return readShort(async (runner) =>
      auditPage(await frameOf(runner, response, 'audit'), {
        ...found,
        form,
        isOneEntry: entry !== '',
        names: await namesIn(runner, found.entries),
        moderators: await moderatorNames(runner),
      }),
    )

    async function readEntry() {
      const id = positiveInteger('the entry', entry)
      const found = await readShort((runner) => findEntry(runner, id))
      return { filter: {}, entries: found ? [wholeEntry(found)] : [], hasOlder: false }
    }

    async function readEntries() {
      const before = fieldOf(query, 'before')
      const filter = {
        app: form.app ? await readShort((runner) => firstApp(runner, form.app)) : undefined,
        developer: form.developer || undefined,
        moderator: form.moderator || undefined,
        until: form.until ? timeInUtc('"Begin before"', form.until) : undefined,
        since: form.since ? timeInUtc('"Stop at"', form.since) : undefined,
        before: before ? positiveInteger('before', before) : undefined,
      }
      return { filter, ...(await findEntries(readShort, filter, auditSize, shortEntry)) }
    }
  }

  return { queue, app, apps, audit }
}

/** The first app that a text names. Throws an OperatorError if there is none. */
async function firstApp(runner: QueryRunner, text: string): Promise<number> {
  const [id] = (await findApps(runner, text, 1)).ids
  if (id === undefined) throw new OperatorError(`there is no app ${JSON.stringify(text)}`)
  return id
}

/** The message as a sentence. */
export const sentenceOf = ({ message }: Error) =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`

/** Look-alikes are not counted. */
const isCounted = ({ lookAlikes }: QueueFilter) => !lookAlikes

/** The developer's newest other apps in any state, one more than are shown. */
const otherApps = (
  { sql }: QueryRunner,
  { id, developer_id }: { id: number; developer_id: number },
) =>
  sql('apps')
    .where({ developer_id })
    .whereNot({ id })
    .orderBy('id', 'desc')
    .limit(maxOtherApps + 1)
    .select('id', 'name', 'status', 'deleted_at')

/** The names of the apps of entries, and of the categories and developers in their values. */
async function namesIn({ sql }: QueryRunner, entries: ShownEntry[]): Promise<Names> {
  const valuesOf = (column: string) =>
    entries.flatMap(({ changes }) =>
      changes
        .filter((change) => change.column === column)
        .flatMap(({ before, after }) => [before, after])
        .map(Number)
        .filter(Number.isSafeInteger),
    )
  const appIds = entries.flatMap(({ app_id }) => app_id ?? [])
  const namesOf = async (table: 'apps' | 'categories' | 'developers', ids: number[]) => {
    const rows = await sql(table)
      .whereIn('id', [...new Set(ids)])
      .select('id', 'name')
    return new Map(rows.map(({ id, name }) => [String(id), name]))
  }
  return {
    app: await namesOf('apps', appIds),
    category: await namesOf('categories', valuesOf('category_id')),
    developer: await namesOf('developers', valuesOf('developer_id')),
  }
}
