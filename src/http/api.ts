import { parse } from 'node:querystring'
import type { ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import type { Request, Response } from 'express'
import {
  type Request as ApiRequest,
  type Context,
  type Document,
  OpenAPIBackend,
} from 'openapi-backend'
import { assertMayWrite } from '../accounts/keys.ts'
import { addCharacterRules } from '../contract/character-rules.ts'
import type { Caller, Handlers, Problem } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { maxAppSlugLength, slugPattern } from '../contract/field-rules.ts'
import { firstProblemPerField, requestProblems } from '../contract/problems.ts'
import { required } from '../util/helpers.ts'
import { readBody } from './body.ts'
import { methodNotAllowed } from './error-response.ts'
import { invalidRequest } from './invalid-request.ts'
import type { OperationFacts } from './operations.ts'
import type { RateLimits } from './rate-limits.ts'
import type { HandlerResponse } from './response.ts'

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
 * Registers the handlers with openapi-backend. The checks of each request are its hooks, in this
 * order: `notFound` or `methodNotAllowed` (404, 405), `apiKey` (401, 429), `postSecurityHandler`
 * (403, write limit 429, body 415, 413, 400), `unauthorizedHandler` (401), `validate` and
 * `validationFail` (400).
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

    handlers: {
      ...toApiHandlers(handlers),

      // Express continues with its next step.
      notFound: () => undefined,

      methodNotAllowed({ request: { method, path } }): HandlerResponse {
        const allow = allowedMethods(api, path)
        if (method !== 'options') throw methodNotAllowed(allow)
        return { status: 204, headers: { Allow: allow.join(', ') } }
      },

      async postSecurityHandler(
        { security, operation: { requestBody }, request: { params } },
        { apiRequest, request, response }: HookArguments,
      ) {
        // With optional security, openapi-backend would take a refused key for none.
        if (security.apiKey?.error) throw security.apiKey.error
        const { isPublic, isRead } = operationOf(response)
        // unauthorizedHandler refuses the request, whatever its body.
        if (!security.authorized && !isPublic) return
        const caller: Caller | undefined = security.apiKey
        response.context.caller = caller
        if (caller && !isRead) {
          assertMayWrite(caller, params.id)
          limits.writes?.enforce(response)
        }
        if (requestBody) apiRequest.body = await readBody(request, response)
      },

      unauthorizedHandler() {
        throw new ServiceError(
          'unauthorized',
          'This operation needs an API key; send it as Authorization: Bearer apps_….',
        )
      },

      validationFail({ validation }, { response }: HookArguments) {
        throw invalidParts(operationOf(response), validation.errors ?? [])
      },
    },

    validate(context, { apiRequest, response }: HookArguments) {
      assertDecimals(context, operationOf(response), apiRequest)
      return true
    },
  })
  await api.init()
  // The document stays as it is. Listing its operations at each match, as openapi-backend does,
  // takes a fifth of the time of a read by id.
  const operations = api.router.getOperations()
  api.router.getOperations = () => operations
  return api
}

/**
 * Calls the handler of a request's operation. Returns undefined if there is no such path. Throws
 * what the hooks and the handler throw.
 */
export function callOperation(
  api: OpenAPIBackend,
  request: Request,
  response: Response,
  signal: AbortSignal,
): Promise<HandlerResponse | undefined> {
  const { operation } = response.context
  const { method, path, search } = required(response.context.target, 'the target of the request')
  const apiRequest: ApiRequest = {
    method,
    path,
    // A repeated parameter becomes an array, which no schema here allows. openapi-backend would cut
    // a text at its second question mark.
    query: parse(search, '&', '=', { maxKeys: maxParameters + 1 }) as Values,
    // openapi-backend copies them several times, which takes a tenth of the time of a create. It
    // needs these alone. The type has undefined for what is missing.
    headers: {
      'Content-Type': request.headers['content-type'],
      ...(operation && headerParameters(operation, request.headers)),
    } as Values,
  }
  const hookArguments: HookArguments = { apiRequest, request, response, signal }
  return api.handleRequest(apiRequest, hookArguments)
}

type Values = Record<string, string | string[]>

/** The facts of the operation that a hook is called for. */
const operationOf = ({ context: { operation } }: Response): OperationFacts =>
  required(operation, 'the operation')

/** The handlers as openapi-backend calls them: with its context in place of the input. */
const toApiHandlers = (handlers: Handlers) =>
  Object.fromEntries(
    Object.entries(handlers).map(([operationId, handler]) => [
      operationId,
      ({ request, validation, security }: Context, { response, signal }: HookArguments) => {
        // Any, because the handlers' types are generated from the schemas by which it has been
        // validated.
        // biome-ignore lint/suspicious/noExplicitAny: see above
        const input: any = {
          caller: security.apiKey,
          path: validation.coerced?.params,
          query: request.query,
          header: headerParameters(operationOf(response), request.headers),
          body: request.requestBody,
          signal,
        }
        return handler(input)
      },
    ]),
  )

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

/**
 * More than any operation has. Describing each of very many unknown ones would block the event
 * loop.
 */
const maxParameters = 500

/** The header parameters of an operation, by their names in the document. */
const headerParameters = ({ headers: names }: OperationFacts, headers: Partial<Values>) =>
  Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]]))

/**
 * ajv takes `0x10`, `1e3` and `+5` for integers; the document does not. A keyword of ajv would get
 * the number instead of the text. Throws `invalid_request` with all problems of the request if it
 * has such a number, or very many parameters.
 */
function assertDecimals(
  { api, operation, request: { params, query } }: Context,
  facts: OperationFacts,
  apiRequest: ApiRequest,
) {
  if (Object.keys(query).length > maxParameters)
    throw invalidRequest([
      { in: 'query', field: '', message: `must have at most ${maxParameters} parameters` },
    ])
  const problems = facts.integers.flatMap(({ name, in: place }): Problem[] => {
    const text = place === 'path' ? params[name] : query[name]
    if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
    if (place === 'path') return [{ in: 'path', field: name, message: idMessage(text) }]
    const message = Array.isArray(text) ? 'must be given once' : decimalMessage
    return [{ in: 'query', field: name, message }]
  })
  if (problems.length > 0)
    throw invalidParts(facts, api.validateRequest(apiRequest, operation).errors ?? [], problems)
}

const decimalMessage = 'must be a whole number in decimal digits'

/** The problem of an id that is no number. Callers may take the slug for it. */
function idMessage(text: string): string {
  const slug = text.toLowerCase()
  if (slug.length > maxAppSlugLength || !slugPattern.test(slug) || !/\D/.test(slug))
    return decimalMessage
  return `${decimalMessage}; GET /apps?slug=${slug} finds an approved app by its slug`
}

/** `invalid_request` with the errors that ajv found, after other problems. */
function invalidParts(
  { parameters }: OperationFacts,
  errors: ErrorObject[],
  others: Problem[] = [],
): ServiceError {
  // Node gives header names in lower case; problems name them as the document does.
  const declaredName = ({ in: place, field }: Problem) =>
    parameters.find((parameter) => parameter.in === place && parameter.name.toLowerCase() === field)
      ?.name
  const found = requestProblems(errors).map((problem) => ({
    ...problem,
    field: declaredName(problem) ?? problem.field,
  }))
  return invalidRequest(firstProblemPerField([...others, ...found]))
}
