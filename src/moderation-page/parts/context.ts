import type { Request, Response } from 'express'
import type { Session } from '../../accounts/session-store.ts'
import type { Operator } from '../../audit/audit-store.ts'
import type { Database } from '../../db/database.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { Html } from '../../http/html.ts'
import type { Links } from './links.ts'

/** What a page or a form has of a request, once its moderator has signed in. */
export type PageContext = {
  database: Database
  links: Links
  request: Request
  response: Response
  session: Session
  /** The moderator, for the audit log. */
  operator: Operator
}

/** Milliseconds: people open several pages at once, and do not repeat a request as programs do. */
export const queueTimeout = 5000

/** Reads what a page shows. Ends when the client disconnects. */
export const readPage = <T>(
  { database, request: { signal } }: PageContext,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> => database.snapshot(work, { isExpensive: true, signal, queueTimeout })

export async function sendPage(response: Response, page: Promise<Html>): Promise<void> {
  response.send((await page).text)
}
