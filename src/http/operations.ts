import addFormats from 'ajv-formats'
import type { Request, RequestHandler, Response } from 'express'
import {
  type Request as ApiRequest,
  type Context,
  type Document,
  OpenAPIBackend,
} from 'openapi-backend'
import type { Caller, Handlers } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { addCharacterRules } from '../contract/validation.ts'
import { readBody } from './body.ts'
import { methodNotAllowed } from './error-response.ts'
import type { RateLimits } from './rate-limits.ts'
import {
  assertAcceptsJson,
  assertDecimals,
  headerParameters,
  invalidParts,
  isPublic,
  toApiRequest,
} from './request.ts'
import { sendReply, toReply } from './response.ts'
import type { ResponseCache } from './response-cache.ts'

/**
 * What hooks and handlers get besides openapi-backend's context: its request, to which the body is
 * added, and Express's.
 */
type Exchange = { input: ApiRequest; request: Request; response: Response }

/**
 * Registers the handlers with openapi-backend. The checks of each request are its hooks, here in
 * the order in which they run: route (404, 405), read limit (429), Accept (406), key (401, 429),
 * write limit (429), body (415, 413, 400), schema (400).
 */
export async function createApi(
  document: Document,
  authenticate: (key: string) => Promise<Caller>,
  handlers: Handlers,
  limits: RateLimits,
): Promise<OpenAPIBackend> {
  const api = new OpenAPIBackend({
    definition: document,
    strict: true,
    // The linter has validated the document and its schemas. Response validators are not used.
    quick: true,
    coerceTypes: true,
    ignoreTrailingSlashes: false,
    ajvOpts: { allErrors: true, useDefaults: true, verbose: true, validateSchema: false },
    customizeAjv: (ajv) => addCharacterRules(addFormats.default(ajv)),

    handlers: {
      ...toApiHandlers(handlers),

      // Express continues with its next step.
      notFound: () => undefined,

      methodNotAllowed({ request: { method, path } }) {
        const allow = allowedMethods(api, path)
        if (method !== 'options') throw methodNotAllowed(allow)
        return { status: 204, headers: { Allow: allow.join(', ') } }
      },

      postRoutingHandler({ operation }: Partial<Context>, { request, response }: Exchange) {
        if (!operation) return
        response.context.operation = operation.operationId
        response.context.route = request.baseUrl + operation.path
        if (operation.method === 'get')
          limits.reads?.enforce(limits.reads.count(response), response)
        assertAcceptsJson(request.headers.accept)
      },

      async postSecurityHandler({ security, operation }, { input, request, response }: Exchange) {
        // With optional security, openapi-backend would take a refused key for none.
        if (security.apiKey?.error) throw security.apiKey.error
        // The body of a stranger is not read.
        if (!security.authorized && !isPublic(operation)) return
        const caller: Caller | undefined = security.apiKey
        response.context.caller = caller
        if (caller && operation.method !== 'get')
          limits.writes?.enforce(limits.writes.count(response), response)
        if (operation.requestBody) input.body = await readBody(request, response)
      },

      unauthorizedHandler() {
        throw new ServiceError(
          'unauthorized',
          'This needs an API key; send it as Authorization: Bearer apps_….',
        )
      },

      validationFail({ validation, operation }) {
        throw invalidParts(operation, validation.errors ?? [])
      },

      postResponseHandler: ({ response, operation }, { request }: Exchange) =>
        response && toReply(response, operation, request),
    },

    securityHandlers: {
      async apiKey(_context, { request, response }: Exchange): Promise<Caller | undefined> {
        const { authorization } = request.headers
        if (authorization === undefined) return undefined
        const findOwner = async () => authenticate(bearerToken(authorization))
        const limit = limits['refused-keys']
        return limit ? limit.authenticate(authorization, response, findOwner) : findOwner()
      },
    },

    validate(context, { input }: Exchange) {
      assertDecimals(context, input)
      return true
    },
  })
  await api.init()
  // Otherwise its router lists them twice for each request, which takes 14 of its 32 µs for an app.
  const operations = api.getOperations()
  api.router.getOperations = () => operations
  return api
}

/** The handlers as openapi-backend calls them: with its context in place of the input. */
const toApiHandlers = (handlers: Handlers) =>
  Object.fromEntries(
    Object.entries(handlers).map(([operationId, handler]) => [
      operationId,
      (
        { request, validation, security, operation }: Context,
        { request: { signal } }: Exchange,
      ) => {
        // Any, because the handlers' types are generated from the schemas by which it has been
        // validated.
        // biome-ignore lint/suspicious/noExplicitAny: see above
        const input: any = {
          caller: security.apiKey,
          path: validation.coerced?.params,
          query: request.query,
          header: headerParameters(operation, request.headers),
          body: request.requestBody,
          signal,
        }
        return handler(input)
      },
    ]),
  )

/** The step that answers requests to operations: from the response cache, or by openapi-backend. */
export const handleOperations =
  (api: OpenAPIBackend, limits: RateLimits, cache: ResponseCache | undefined): RequestHandler =>
  async (request, response, next) => {
    const handle = () => {
      const input = toApiRequest(request)
      return api.handleRequest(input, { input, request, response } satisfies Exchange)
    }
    if (!cache?.isCacheable(request)) return sendReply(request, response, await handle(), next)
    const { reply, isHit } = await cache.load(request.url, handle)
    if (isHit) {
      const { operationId, path } = reply.operation
      Object.assign(response.context, { operation: operationId, route: request.baseUrl + path })
      limits.reads?.enforce(limits.reads.count(response), response)
      assertAcceptsJson(request.headers.accept)
      response.context.isCacheHit = true
      cache.counts.hit++
    }
    return sendReply(request, response, reply, next)
  }

/** RFC 6750, section 2.1. Another scheme is not a refused key (section 3.1). */
function bearerToken(header: string): string {
  const token = /^Bearer +(?<token>\S+)$/i.exec(header)?.groups?.token
  if (token !== undefined) return token
  const message = 'The Authorization header must be: Bearer, a space and an API key.'
  throw new ServiceError(
    'unauthorized',
    message,
    /^Bearer\b/i.test(header) ? { refusedKey: true } : {},
  )
}

/** The methods of a path, including HEAD and OPTIONS. */
const allowedMethods = (api: OpenAPIBackend, path: string): string[] => [
  ...['get', 'post', 'put', 'patch', 'delete']
    .filter((method) => api.matchOperation({ method, path, headers: {} }))
    .flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])),
  'OPTIONS',
]
