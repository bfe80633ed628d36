import { setTimeout } from 'node:timers/promises'
import {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express'
import { keyFinder } from '../../accounts/keys.ts'
import { moderatorStore, notSignedIn, type Session } from '../../accounts/moderator-store.ts'
import { ServiceError } from '../../contract/errors.ts'
import type { Database } from '../../db/database.ts'
import type { ModeratorRow } from '../../db/rows.ts'
import { required } from '../../util/helpers.ts'
import type { RateLimits } from '../rate-limits.ts'
import { fieldOf, readForm } from './fields.ts'
import type { Links } from './links.ts'
import { signInPage, signInToGoOnPage } from './views/sign-in.ts'

/** Signing in to the moderation page: a cookie has a token, the database has its hash. */

const tokenPattern = /^[\w-]{43}$/
/** Tokens of a request that are tried: another path or a sibling host can set a cookie, too. */
const maxTokens = 4

/** Milliseconds that a page waits at most until it is stored that its app is open. */
const maxStoring = 1000

/** The session of a request that has passed `requireModerator`. */
export const sessionOf = ({ locals }: Response): Session => required(locals.session, 'the session')

export const moderatorOf = (response: Response): ModeratorRow => sessionOf(response).moderator

export type Sessions = ReturnType<typeof createSessions>

export function createSessions(
  database: Database,
  limit: RateLimits['refused-keys'],
  { baseUrl, prefix }: { baseUrl: string; prefix: string },
  links: Links,
) {
  const { origin: ownOrigin, protocol, port } = new URL(baseUrl)
  const findKey = keyFinder(database, 'moderator')
  const cookieOptions = {
    path: prefix || '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: protocol === 'https:',
  } as const
  // Browsers accept this prefix only from the host itself, with https and without a path (RFC
  // 6265bis, section 4.1.3.2).
  const hostPrefix = cookieOptions.secure && prefix === '' ? '__Host-' : ''
  // Browsers send the cookies of a host to all its ports.
  const cookieName = `${hostPrefix}moderation_session${port && `_${port}`}`
  const tokensOf = ({ headers }: Request): string[] =>
    (headers.cookie ?? '')
      .split(/; ?/)
      .filter((cookie) => cookie.startsWith(`${cookieName}=`))
      .map((cookie) => cookie.slice(cookieName.length + 1))
      .filter((value) => tokenPattern.test(value))
      .slice(0, maxTokens)

  const write = <T>(work: (store: ReturnType<typeof moderatorStore>) => Promise<T>): Promise<T> =>
    database.write((runner) => work(moderatorStore(runner)))

  /**
   * Counts a wrong key or token, which is a 429 over the limit. A valid one is never refused:
   * behind a tunnel, all moderators have the same address.
   */
  const countRefusal = (response: Response) => (error: unknown) => {
    if (isUnauthorized(error)) limit?.enforce(response)
    throw error
  }

  /** A new token for each sign-in: one that was set before, by whomever, is never accepted. */
  async function signIn(request: Request, response: Response): Promise<Session> {
    const key = fieldOf(request.body, 'key').trim()
    const moderator = await findKey(key).catch(countRefusal(response))
    const replaced = tokensOf(request)
    const token = await write(async (store) => {
      await store.endSessions(replaced)
      return store.beginSession(moderator.id)
    })
    response.cookie(cookieName, token, cookieOptions)
    return { moderator, token }
  }

  /** The address to open after signing in. Another site may have set it. */
  function ownPath(text: string): string {
    const url = URL.parse(text, baseUrl)
    const isOwn = url?.origin === ownOrigin && url.pathname.startsWith(`${prefix}/`)
    // Browsers would take a path such as `//host/` for another host.
    return isOwn && !url.pathname.startsWith('//') ? url.pathname + url.search : `${prefix}/`
  }

  function routes(): Router {
    const router = Router({ strict: true, caseSensitive: true })
    router.get('/sign-in', ({ query }, response) => {
      response.send(signInPage(links, fieldOf(query, 'next')).text)
    })
    router.post('/sign-in', readForm, async (request, response) => {
      const next = fieldOf(request.body, 'next')
      try {
        await signIn(request, response)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        response.status(401).send(signInPage(links, next, error.message).text)
        return
      }
      response.redirect(303, ownPath(next))
    })
    router.post('/sign-out', async (request, response) => {
      const tokens = tokensOf(request)
      if (tokens.length > 0) await write((store) => store.endSessions(tokens))
      response.clearCookie(cookieName, cookieOptions).redirect(303, links.signIn())
    })
    return router
  }

  /** Continues if the request has a session; throws `unauthorized` otherwise. */
  const requireModerator: RequestHandler = async (request, response, next) => {
    response.locals.session = await findSession(request, response)
    next()
  }

  async function findSession(request: Request, response: Response): Promise<Session> {
    const tokens = tokensOf(request)
    if (tokens.length === 0) throw notSignedIn()
    const { isUseDue, ...session } = await database
      .read((runner) => moderatorStore(runner).findSession(tokens))
      .catch(countRefusal(response))
    // The page must not fail because of this; the next request tries again.
    if (isUseDue) void write((store) => store.useSession(session.token)).catch(() => {})
    return session
  }

  /** Stores that the session has opened an app from a queue, once for each app. */
  async function openApp(response: Response, appId: number) {
    const { token, openApp } = sessionOf(response)
    if (openApp === appId) return
    // The page must not fail because of this.
    const stored = write((store) => store.openApp(token, appId)).catch(() => {})
    await Promise.race([stored, setTimeout(maxStoring, undefined, { ref: false })])
  }

  /**
   * Continues with a form that was read if the request has a session, or the form a valid key.
   * Otherwise asks for the key with the same form, so that nothing that was typed is lost.
   */
  const requireModeratorOrKey: RequestHandler = async (request, response, next) => {
    const hasKey = fieldOf(request.body, 'key') !== ''
    try {
      const find = hasKey ? signIn : findSession
      response.locals.session = await find(request, response)
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      const form = { action: request.originalUrl, fields: request.body }
      const problem = hasKey ? error.message : 'Your session has ended.'
      response.status(401).send(signInToGoOnPage(links, form, problem).text)
      return
    }
    next()
  }

  /** Leads from a page to the sign-in form. */
  const askToSignIn: ErrorRequestHandler = (error, { method, originalUrl }, response, next) => {
    if (method === 'POST' || !isUnauthorized(error)) return next(error)
    response.redirect(303, links.signIn(originalUrl))
  }

  /**
   * Refuses a POST of another site. Browsers send Sec-Fetch-Site to https and localhost. They send
   * Origin everywhere, but as null if a proxy sets the Referrer-Policy no-referrer.
   */
  const refuseOtherSites: RequestHandler = ({ method, headers }, _response, next) => {
    if (method !== 'POST') return next()
    const { 'sec-fetch-site': site, origin = 'null' } = headers
    // Another origin of the same page, such as http for https, would get a cookie that is less safe.
    const isOwnOrigin = origin === ownOrigin || (origin === 'null' && site === 'same-origin')
    const isOwnSite = site === undefined || site === 'same-origin'
    if (isOwnOrigin && isOwnSite) return next()
    const problem =
      site === undefined && origin === 'null'
        ? 'Your browser does not say where this form comes from, so nothing was done. Open the page over https, or keep the proxy from setting Referrer-Policy.'
        : `This form does not come from ${baseUrl}/, so nothing was done. Open the page there.`
    throw new ServiceError('forbidden', problem)
  }

  return { routes, requireModerator, requireModeratorOrKey, openApp, askToSignIn, refuseOtherSites }
}

const isUnauthorized = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'unauthorized'
