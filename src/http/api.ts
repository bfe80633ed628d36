import addFormats from 'ajv-formats'
import type { Request, RequestHandler, Response } from 'express'
import { type Context, type Document, OpenAPIBackend } from 'openapi-backend'
import type { Caller } from '../actor.ts'
import { invalidRequest, notFound, ServiceError } from '../errors.ts'
import { readBody } from './body.ts'
import { methodNotAllowed, sendOptions } from './get-only.ts'
import { acceptsJson, problemsOf, type RawRequest, rawRequest } from './input.ts'

/** What answers requests: the catalogue, or a mock of it. */
export type Responder = {
  /** The caller whose key it is; throws `unauthorized`. */
  authenticate: (key: string) => Promise<Caller>
  /** Answers a request that is authenticated and valid. */
  respond: (context: Context, raw: RawRequest) => Promise<Reply>
  /** Throws `unavailable` while it cannot answer. */
  demandReady: () => Promise<void>
}

/** What http/ adds to every answer is not among its headers; a status without a body has none. */
export type Reply = { status: number; headers: object; body?: object }

/**
 * openapi-backend as router, authenticator and validator; every request goes through it in this order: route (404, 405),
 * accept (406), key (401), body (415, 413, 400), schema (400), reply.
 */
export async function createApi(document: Document, { authenticate, respond }: Responder): Promise<RequestHandler> {
  const api = new OpenAPIBackend({
    definition: document,
    strict: true,
    // Not at each start: the linter has validated the document, and no validator of responses is ever called.
    quick: true,
    coerceTypes: true,
    ignoreTrailingSlashes: false,
    ajvOpts: { allErrors: true, useDefaults: true, verbose: true },
    customizeAjv: (ajv) => addFormats.default(ajv),
    handlers: {
      notFound: () => {
        throw notFound()
      },
      methodNotAllowed: (_context, _request, _response, raw: RawRequest) => {
        throw methodNotAllowed(allowedMethods(api, raw))
      },
      postRoutingHandler: ({ operation }: Context, request: Request) => {
        if (operation && !acceptsJson(request.headers.accept)) throw notAcceptable()
      },
      postSecurityHandler: async (
        { operation, security }: Context,
        request: Request,
        response: Response,
        raw: RawRequest,
      ) => {
        // openapi-backend takes a failed optional key for none at all, and a database that is down for a bad key.
        if (security.apiKey?.error) throw security.apiKey.error
        if (!security.authorized || !operation.requestBody) return
        const body = await readBody(request, response)
        // openapi-backend takes a value that is no object for text that it has yet to parse.
        if (body !== undefined) raw.body = typeof body === 'object' && body !== null ? body : JSON.stringify(body)
      },
      unauthorizedHandler: () => {
        throw new ServiceError('unauthorized', 'This needs an API key; send it as Authorization: Bearer apps_….')
      },
      validationFail: (context: Context, _request, _response, raw: RawRequest) => {
        throw invalidRequest(problemsOf(context, raw))
      },
    },
    securityHandlers: {
      apiKey: (_context, request: Request) => {
        const header = request.headers.authorization
        return header === undefined ? undefined : authenticate(bearerToken(header))
      },
    },
  })
  await api.init()
  api.validator.preCompileRequestValidators()
  const operations = api.getOperations()
  for (const { operationId = '' } of operations) {
    api.register(operationId, (context: Context, _request, _response, raw: RawRequest) => {
      const problems = problemsOf(context, raw)
      if (problems.length > 0) throw invalidRequest(problems)
      return respond(context, raw)
    })
  }
  // The router flattens the whole document again at each of several look-ups a request; it does not change.
  api.router.getOperations = () => operations

  return async (request, response) => {
    const raw = rawRequest(request)
    if (raw.method === 'OPTIONS') {
      const allow = allowedMethods(api, raw)
      if (allow.length === 0) throw notFound()
      return sendOptions(response, allow)
    }
    const reply: Reply = await api.handleRequest(raw, request, response, raw)
    const isRead = raw.method === 'GET' && reply.status < 400
    response.set(isRead ? readCaching(request) : { 'Cache-Control': 'no-store' })
    // Express answers 304 by itself where If-None-Match holds the ETag.
    response.status(reply.status).set(reply.headers).json(reply.body)
  }
}

/** Revalidated at each use, and never shared between callers. */
const readCaching = (request: Request) => ({
  'Cache-Control': request.headers.authorization === undefined ? 'public, no-cache' : 'private, no-cache',
  Vary: 'Authorization',
})

/** RFC 6750, section 2.1; another scheme is no key that could be refused (section 3.1). */
function bearerToken(header: string): string {
  const token = /^Bearer +(?<token>\S+)$/i.exec(header)?.groups?.token
  if (token !== undefined) return token
  const message = 'The Authorization header must be: Bearer, a space and an API key.'
  throw new ServiceError('unauthorized', message, /^Bearer\b/i.test(header) ? { refusedKey: true } : {})
}

const notAcceptable = () => new ServiceError('not_acceptable', 'Answers are application/json; accept that.')

/** The methods of a path, HEAD and OPTIONS with them; none where there is no such path. */
function allowedMethods(api: OpenAPIBackend, raw: RawRequest): string[] {
  const own = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => api.matchOperation({ ...raw, method }))
  return own.length === 0
    ? []
    : [...own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}
