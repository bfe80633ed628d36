import { readFile } from 'node:fs/promises'
import { type ErrorRequestHandler, type Express, type Response, Router } from 'express'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { notFound, OperatorError, ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import {
  addCommonHeaders,
  createExpress,
  receiveBodies,
  rejectInvalidRequests,
  securityHeaders,
  warnAboutProxy,
} from '../http/common-steps.ts'
import { createErrorHandler } from '../http/error-response.ts'
import { healthRoutes } from '../http/health.ts'
import type { Html } from '../http/html.ts'
import { trackRequests } from '../http/log.ts'
import { createRateLimits } from '../http/rate-limits.ts'
import {
  leadOn,
  receiveDecisions,
  receiveReopening,
  receiveRestoration,
  receiveReviewRemoval,
} from './decide.ts'
import { appsPage } from './pages/apps.ts'
import { auditPage } from './pages/audit.ts'
import { queuePage } from './pages/queue.ts'
import { openAppPage } from './pages/single-app.ts'
import { type PageContext, sendPage } from './parts/context.ts'
import { sentenceOf } from './parts/labels.ts'
import { messagePage } from './parts/layout.ts'
import { createLinks, type FormPath } from './parts/links.ts'
import { readForm, refuseOtherSites } from './receive-form.ts'
import { createSessions, type Sessions, sessionOf } from './sessions.ts'

/**
 * The moderation page: HTML for moderators who sign in, without scripts. `moderation serve` serves
 * it, in a separate process.
 */

type ModerationOptions = {
  config: Pick<Config, 'baseUrl' | 'moderation' | 'refusedKeyLimit' | 'trustProxy'>
  database: Database
  logger: Logger
  /** The account that runs the process, for the audit log. */
  account: string
  isDraining: () => boolean
}

/** Query parameters that are logged. */
const loggedParameters = [
  'queue',
  'developer',
  'category',
  'after',
  'select',
  'decided',
  'refused',
  'next',
  'moderator',
  'app',
  'since',
  'until',
  'before',
  'entry',
  'review',
]

/** The moderation page, not yet listening. */
export async function createModerationApp(options: ModerationOptions): Promise<Express> {
  const { config, database, logger, account, isDraining } = options
  const { baseUrl, prefix } = config.moderation
  const limits = createRateLimits({ ...config, writeLimit: 0, readLimit: 0 })
  const links = createLinks(prefix, config.baseUrl)
  const sessions = createSessions({
    database,
    links,
    limit: limits['refused-keys'],
    ...config.moderation,
  })
  const style = await readStyle()

  const routes = Router({ strict: true, caseSensitive: true })
  routes.get('/style.css', (_request, response) => {
    response.type('css').set('Cache-Control', 'no-cache').send(style)
  })
  routes.use(refuseOtherSites(baseUrl))
  routes.use(sessions.routes)
  addPages(routes, sessions, contextOf)

  const app = createExpress(config)
  app.set('query parser', 'simple')
  app.use(trackRequests(logger, loggedParameters))
  if (config.trustProxy === 0) app.use(warnAboutProxy(logger))
  app.use(addCommonHeaders(pageHeaders(baseUrl), isDraining))
  app.use(receiveBodies)
  app.use(rejectInvalidRequests)
  app.use(healthRoutes(database, isDraining))
  app.use(prefix || '/', routes)
  app.use(() => {
    throw notFound()
  })
  app.use(sessions.askToSignIn)
  app.use(explainToModerator)
  app.use(
    createErrorHandler((response, { status, headers, body }) => {
      response.set(headers).removeHeader('WWW-Authenticate')
      const moderator = response.locals.session?.moderator
      response.status(status).send(messagePage({ links, moderator }, body.message).text)
    }),
  )
  return app

  function contextOf(response: Response): PageContext {
    const session = sessionOf(response)
    const { id, name } = session.moderator
    const operator = { operator: account, operatorName: name, operatorId: id }
    return { database, links, request: response.req, response, session, operator }
  }
}

/** The pages of signed-in moderators, and the forms on them. */
function addPages(
  routes: Router,
  { requireModerator, requireModeratorOrKey }: Sessions,
  contextOf: (response: Response) => PageContext,
): void {
  const page = (path: string, show: (context: PageContext) => Promise<Html>) =>
    routes.get(path, requireModerator, (_request, response) =>
      sendPage(response, show(contextOf(response))),
    )
  const form = (path: FormPath, receive: (context: PageContext) => Promise<void>) =>
    routes.post(path, readForm, requireModeratorOrKey, (_request, response) =>
      receive(contextOf(response)),
    )
  page('/', queuePage)
  page('/apps', appsPage)
  page('/apps/:id', openAppPage)
  page('/audit', auditPage)
  // Found when it is opened, not when the page with the link was: others may have opened apps since.
  routes.get('/next', requireModerator, (_request, response) => leadOn(contextOf(response)))
  form('/decisions', receiveDecisions)
  form('/reopenings', receiveReopening)
  form('/restorations', receiveRestoration)
  form('/removed-reviews', receiveReviewRemoval)
}

/** The theme that the home page has, too, and what only these pages have. */
async function readStyle(): Promise<string> {
  const files = [`${import.meta.dirname}/../http/theme.css`, `${import.meta.dirname}/style.css`]
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n')
}

/** Pages are HTML that runs no script, and that nobody stores, frames or indexes. */
const pageHeaders = (baseUrl: string) => ({
  ...securityHeaders(baseUrl),
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  // Without a referrer, browsers would send no Origin with forms.
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex, nofollow',
})

/** Shows the errors of stores, as the command line does. */
const explainToModerator: ErrorRequestHandler = (error, _request, _response, next) => {
  if (error instanceof OperatorError) next(new ServiceError('invalid_request', sentenceOf(error)))
  // The path has percent signs that encode no text.
  else if (error instanceof URIError) next(notFound())
  else next(error)
}
