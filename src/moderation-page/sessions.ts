import {
  type CookieOptions,
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from 'express'
import { keyFinder } from '../accounts/keys.ts'
import {
  beginSession,
  endSessions,
  findSession,
  notSignedIn,
  recordSessionUse,
  type Session,
} from '../accounts/session-store.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { RateLimits } from '../http/rate-limits.ts'
import { required } from '../util/helpers.ts'
import { fieldOf, fieldsOf } from './forms.ts'
import { signInPage, signInToGoOnPage } from './pages/sign-in.ts'
import type { Links } from './parts/links.ts'
import { readForm } from './receive-form.ts'

/** Signing in to the moderation page: a cookie has a token, the database has its hash. */

/** The session of a request that has passed `requireModerator`. */
export const sessionOf = ({ locals }: Response): Session => required(locals.session, 'the session')

type SessionOptions = {
  database: Database
  links: Links
  limit: RateLimits['refused-keys']
  baseUrl: string
  prefix: string
}

export type Sessions = {
  /** Signing in and out. */
  routes: Router
  /** Continues if the request has a session; throws `unauthorized` otherwise. */
  requireModerator: RequestHandler
  /**
   * Continues with a form that was read if the request has a session, or the form a valid key.
   * Otherwise asks for the key with the same form, so that nothing that was typed is lost.
   */
  requireModeratorOrKey: RequestHandler
  /** Leads from a page to the sign-in form. */
  askToSignIn: ErrorRequestHandler
}

export function createSessions({
  database,
  links,
  limit,
  baseUrl,
  prefix,
}: SessionOptions): Sessions {
  const findKey = keyFinder(database, 'moderator')
  const cookie = sessionCookie(baseUrl, prefix)

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
    const replaced = tokensOf(cookie, request)
    const token = await database.write(async (runner) => {
      await endSessions(runner, replaced)
      return beginSession(runner, moderator.id)
    })
    response.cookie(cookie.name, token, cookie.options)
    return { moderator, token }
  }

  async function requireSession(request: Request, response: Response): Promise<Session> {
    const tokens = tokensOf(cookie, request)
    if (tokens.length === 0) throw notSignedIn()
    const { isUseDue, ...session } = await database
      .read((runner) => findSession(runner, tokens))
      .catch(countRefusal(response))
    // The page must not fail because of this; the next request tries again.
    if (isUseDue)
      void database.write((runner) => recordSessionUse(runner, session.token)).catch(() => {})
    return session
  }

  const routes = Router({ strict: true, caseSensitive: true })
  routes.get('/sign-in', ({ query }, response) => {
    response.send(signInPage(links, fieldOf(query, 'next')).text)
  })
  routes.post('/sign-in', readForm, async (request, response) => {
    const next = fieldOf(request.body, 'next')
    try {
      await signIn(request, response)
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      response.status(401).send(signInPage(links, next, error.message).text)
      return
    }
    response.redirect(303, ownPath(next, baseUrl))
  })
  routes.post('/sign-out', async (request, response) => {
    const tokens = tokensOf(cookie, request)
    if (tokens.length > 0) await database.write((runner) => endSessions(runner, tokens))
    response.clearCookie(cookie.name, cookie.options).redirect(303, links.signIn())
  })

  return {
    routes,

    async requireModerator(request, response, next) {
      response.locals.session = await requireSession(request, response)
      next()
    },

    async requireModeratorOrKey(request, response, next) {
      const hasKey = Boolean(request.body.key)
      try {
        const find = hasKey ? signIn : requireSession
        response.locals.session = await find(request, response)
      } catch (error) {
        if (!isUnauthorized(error)) throw error
        const form = { action: request.originalUrl, fields: unsentFields(request) }
        const problem = hasKey ? error.message : 'Your session has ended.'
        response.status(401).send(signInToGoOnPage(links, form, problem).text)
        return
      }
      next()
    },

    askToSignIn(error, { method, originalUrl }, response, next) {
      if (method === 'POST' || !isUnauthorized(error)) return next(error)
      response.redirect(303, links.signIn(originalUrl))
    },
  }
}

const unsentFields = ({ body }: Request): [name: string, value: string][] =>
  Object.keys(body)
    .filter((name) => name !== 'key')
    .flatMap((name) => fieldsOf(body, name).map((value): [string, string] => [name, value]))

const isUnauthorized = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'unauthorized'

const tokenPattern = /^[\w-]{43}$/
/** Tokens of a request that are tried: another path or a sibling host can set a cookie, too. */
const maxTokens = 4

type SessionCookie = { name: string; options: CookieOptions }

/** `baseUrl` is MODERATION_URL, and `prefix` its path. */
export function sessionCookie(baseUrl: string, prefix: string): SessionCookie {
  const { protocol, port } = new URL(baseUrl)
  const secure = protocol === 'https:'
  // Browsers accept this prefix only from the host itself, with https and without a path (RFC
  // 6265bis, section 4.1.3.2).
  const hostPrefix = secure && prefix === '' ? '__Host-' : ''
  return {
    // Browsers send the cookies of a host to all its ports.
    name: `${hostPrefix}moderation_session${port && `_${port}`}`,
    options: { path: prefix || '/', httpOnly: true, sameSite: 'lax', secure },
  }
}

/** The tokens of a request, at most four. */
const tokensOf = ({ name }: SessionCookie, { headers }: Request): string[] =>
  (headers.cookie ?? '')
    .split(/; ?/)
    .filter((cookie) => cookie.startsWith(`${name}=`))
    .map((cookie) => cookie.slice(name.length + 1))
    .filter((value) => tokenPattern.test(value))
    .slice(0, maxTokens)

/**
 * The path to open after signing in. Another site may have set the text, so one that leads elsewhere
 * is replaced by the first page.
 */
export function ownPath(text: string, baseUrl: string): string {
  const { origin, pathname } = new URL(`${baseUrl}/`)
  const url = URL.parse(text, baseUrl)
  const isOwn = url?.origin === origin && url.pathname.startsWith(pathname)
  // Browsers would take a path such as `//host/` for another host.
  return isOwn && !url.pathname.startsWith('//') ? url.pathname + url.search : pathname
}
