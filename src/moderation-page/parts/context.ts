import type { Request, Response } from 'express'
import { findAppsOpenElsewhere, type OpenedApp } from '../../accounts/session-store.ts'
import type { Database } from '../../db/database.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { Html } from '../../http/html.ts'
import { findDecidedApps } from '../../moderation/decisions.ts'
import { countQueues } from '../../moderation/status.ts'
import type { Frame, Tab } from '../parts/layout.ts'
import type { DecidedIds, Links } from '../parts/links.ts'
import { type NoticeOptions, notice } from '../parts/notice.ts'
import { moderatorOf, sessionOf } from '../sessions.ts'

/** What several pages of signed-in moderators read. */

/** For pages and forms. */
export type PageContext = {
  database: Database
  links: Links
  /** The account that runs the process, for the audit log. */
  account: string
}

/** Milliseconds: people open several pages at once, and do not repeat a request as programs do. */
export const queueTimeout = 5000

/** Reads what a page shows. Ends when the client disconnects. */
export const readPage = <T>(
  { database }: PageContext,
  { signal }: Request,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> => database.snapshot(work, { isExpensive: true, signal, queueTimeout })

export const readFrame = async (
  { links }: PageContext,
  runner: QueryRunner,
  response: Response,
  tab?: Tab,
): Promise<Frame> => ({
  links,
  moderator: moderatorOf(response),
  counts: await countQueues(runner),
  ...(tab && { tab }),
})

/** The apps that others have open. */
export const readOpenElsewhere = (
  runner: QueryRunner,
  response: Response,
): Promise<Map<number, OpenedApp>> => findAppsOpenElsewhere(runner, sessionOf(response).token)

/**
 * The address has only the ids, so that a reload sends nothing again. The audit log says what the
 * moderator has decided about them, so that an address that somebody else has made reports no
 * decision.
 */
export async function readNotice(
  { links }: PageContext,
  runner: QueryRunner,
  response: Response,
  { decided = [], refused = [] }: DecidedIds,
  options: NoticeOptions,
): Promise<Html | false> {
  if (decided.length + refused.length === 0) return false
  const { id } = moderatorOf(response)
  return notice(links, await findDecidedApps(runner, decided, refused, id), options)
}

export async function sendPage(response: Response, page: Promise<Html>): Promise<void> {
  response.send((await page).text)
}
