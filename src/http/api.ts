import { parse } from 'node:querystring'
import type { ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import type { Request, Response } from 'express'
import {
  type Request as ApiRequest,
  type Context,
  type Document,
  OpenAPIBackend,
  type Operation,
} from 'openapi-backend'
import { addCharacterRules } from '../contract/character-rules.ts'
import type { Caller, Handlers, Problem } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { maxAppSlugLength, slugPattern } from '../contract/field-rules.ts'
import { firstProblemPerField, requestProblems } from '../contract/problems.ts'
import { readBody } from './body.ts'
import { isPublic, parameterNames, parametersOf } from './document-operations.ts'
import { methodNotAllowed } from './error-response.ts'
import { invalidRequest } from './invalid-request.ts'
import type { RateLimits } from './rate-limits.ts'
import { type Reply, toReply } from './response.ts'
import { replaceRouter } from './router.ts'

/** The further arguments of hooks and handlers. */
type HookArguments = {
  /** The request as openapi-backend got it. The body is added when the key is known. */
  apiRequest: ApiRequest
  /** Express's. */
  request: Request
  response: Response
  /** Aborted when the client disconnects, or all clients that share the response do. */
  signal: AbortSignal
}

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

      postRoutingHandler({ operation }: Partial<Context>, { request, response }: HookArguments) {
        if (operation) beginOperation(operation, request, response, limits)
      },

      async postSecurityHandler(
        { security, operation },
        { apiRequest, request, response }: HookArguments,
      ) {
        // With optional security, openapi-backend would take a refused key for none.
        if (security.apiKey?.error) throw security.apiKey.error
        // The body of a stranger is not read.
        if (!security.authorized && !isPublic(operation)) return
        const caller: Caller | undefined = security.apiKey
        response.context.caller = caller
        if (caller && operation.method !== 'get') limits.writes?.enforce(response)
        if (operation.requestBody) apiRequest.body = await readBody(request, response)
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

      postResponseHandler: ({ response, operation }, { request }: HookArguments) =>
        response && toReply(response, operation, request),
    },

    securityHandlers: {
      async apiKey(_context, { request, response }: HookArguments): Promise<Caller | undefined> {
        const { authorization } = request.headers
        if (authorization === undefined) return undefined
        try {
          return await authenticate(bearerToken(authorization))
        } catch (error) {
          // Only refusals count: a valid key works at an address from which many wrong ones come.
          if (error instanceof ServiceError && error.details.refusedKey)
            limits['refused-keys']?.enforce(response)
          throw error
        }
      },
    },

    validate(context, { apiRequest }: HookArguments) {
      assertDecimals(context, apiRequest)
      return true
    },
  })
  await api.init()
  replaceRouter(api)
  return api
}

/**
 * Called for cache hits and misses. Names the operation in the log, and throws `rate_limited` and
 * `not_acceptable`.
 */
export function beginOperation(
  operation: Operation,
  { baseUrl, headers }: Request,
  response: Response,
  limits: RateLimits,
) {
  response.context.operation = operation.operationId
  response.context.route = baseUrl + operation.path
  if (operation.method === 'get') limits.reads?.enforce(response)
  assertAcceptsJson(headers.accept)
}

/** Calls the handler of a request's operation. The reply is undefined if there is no such path. */
export function callOperation(
  api: OpenAPIBackend,
  request: Request,
  response: Response,
  signal = request.signal,
): Promise<Reply | undefined> {
  const apiRequest = toApiRequest(request)
  const hookArguments: HookArguments = { apiRequest, request, response, signal }
  return api.handleRequest(apiRequest, hookArguments)
}

/** The handlers as openapi-backend calls them: with its context in place of the input. */
const toApiHandlers = (handlers: Handlers) =>
  Object.fromEntries(
    Object.entries(handlers).map(([operationId, handler]) => [
      operationId,
      ({ request, validation, security, operation }: Context, { signal }: HookArguments) => {
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

/**
 * A request in the form that openapi-backend takes, without its body. HEAD is handled as GET; Node
 * leaves the body out.
 */
export function toApiRequest({
  method,
  url,
  headers,
}: Pick<Request, 'method' | 'url' | 'headers'>): ApiRequest {
  // The target may be an absolute URL (RFC 9112, section 3.2.2).
  const [path = '/', ...search] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?')
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path: isDecodable(path) ? path : path.replaceAll('%', '%25'),
    // A repeated parameter becomes an array, which no schema here allows.
    query: parse(search.join('?'), '&', '=', { maxKeys: maxParameters + 1 }) as Values,
    // The types have undefined for what is missing; the objects leave it out.
    headers: headers as Values,
  }
}

/** If the percent signs encode no text, the path is taken literally. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== undefined
  } catch {
    return false
  }
}

type Values = Record<string, string | string[]>

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

/** Throws `not_acceptable` if an Accept header refuses JSON. */
function assertAcceptsJson(accept: string | undefined) {
  if (!acceptsJson(accept))
    throw new ServiceError('not_acceptable', 'Responses are JSON; accept application/json.')
}

/**
 * Whether an Accept header takes JSON (RFC 9110, section 12.5.1); parameters other than q do not
 * apply to JSON.
 */
function acceptsJson(accept = ''): boolean {
  const ranges = accept
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
    .filter(([name]) => name !== '')
  // A list without elements states no preference.
  if (ranges.length === 0) return true
  const range = ['application/json', 'application/*', '*/*']
    .map((type) => ranges.find(([name]) => name === type))
    .find((found) => found !== undefined)
  return range !== undefined && !range.some((part) => /^q=0(\.0*)?$/.test(part))
}

/**
 * More than any operation has. Describing each of very many unknown ones would block the event
 * loop.
 */
const maxParameters = 500

/** The header parameters of an operation, by their names in the document. */
const headerParameters = (operation: Operation, headers: Values) =>
  Object.fromEntries(
    parameterNames([operation], 'header').map((name) => [name, headers[name.toLowerCase()]]),
  )

/**
 * ajv takes `0x10`, `1e3` and `+5` for integers; the document does not. A keyword of ajv would get
 * the number instead of the text. Throws `invalid_request` with all problems of the request if it
 * has such a number, or very many parameters.
 */
function assertDecimals({ api, operation, request }: Context, apiRequest: ApiRequest) {
  const { params, query } = request
  if (Object.keys(query).length > maxParameters)
    throw invalidRequest([
      { in: 'query', field: '', message: `must have at most ${maxParameters} parameters` },
    ])
  const problems = parametersOf(operation)
    .filter(({ schema }) => schema?.type === 'integer')
    .flatMap(({ name, in: place }): Problem[] => {
      const text = place === 'path' ? params[name] : query[name]
      if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
      if (place === 'path') return [{ in: 'path', field: name, message: idMessage(text) }]
      const message = Array.isArray(text) ? 'must be given once' : decimalMessage
      return [{ in: 'query', field: name, message }]
    })
  if (problems.length > 0)
    throw invalidParts(operation, api.validateRequest(apiRequest, operation).errors ?? [], problems)
}

const decimalMessage = 'must be a whole number in plain decimal'

/** The problem of an id that is no number. Callers may take the slug for it. */
function idMessage(text: string): string {
  const slug = text.toLowerCase()
  if (slug.length > maxAppSlugLength || !slugPattern.test(slug) || !/\D/.test(slug))
    return decimalMessage
  return `${decimalMessage}; GET /apps?slug=${slug} finds an approved app by its slug`
}

/** `invalid_request` with the errors that ajv found, after other problems. */
function invalidParts(
  operation: Operation,
  errors: ErrorObject[],
  others: Problem[] = [],
): ServiceError {
  // Node gives header names in lower case; problems name them as the document does.
  const declaredName = ({ in: place, field }: Problem) =>
    parametersOf(operation).find(
      (parameter) => parameter.in === place && parameter.name.toLowerCase() === field,
    )?.name
  const found = requestProblems(errors).map((problem) => ({
    ...problem,
    field: declaredName(problem) ?? problem.field,
  }))
  return invalidRequest(firstProblemPerField([...others, ...found]))
}
