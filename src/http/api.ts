import addFormats from 'ajv-formats'
import type { Request, RequestHandler, Response } from 'express'
import { type Document, OpenAPIBackend, type Operation } from 'openapi-backend'
import type { Caller, Handlers, OperationId } from '../contract/contract.ts'
import { notFound, ServiceError } from '../contract/errors.ts'
import type { ResponseBody } from '../contract/response.ts'
import { addCharacterRules } from '../contract/validation.ts'
import type { Usage } from '../db/database.ts'
import { required } from '../util/helpers.ts'
import { readBody } from './body.ts'
import { methodNotAllowed, sendOptions } from './error-response.ts'
import type { RateLimits } from './rate-limits.ts'
import { acceptsJson, isPublic, parseHead, parseInput, type Router } from './request.ts'
import { Representation, sendRepresentation } from './response.ts'

/** The operations and the state that http/ needs. */
export type ServiceBackend = {
  /** The caller whose key it is; throws `unauthorized`. */
  authenticate: (key: string) => Promise<Caller>
  /** They get authenticated and valid requests; http/ adds the common headers. */
  handlers: Handlers
  /** Throws `unavailable` while it cannot handle requests. */
  assertReady: () => Promise<void>
  /** The version that the data has now. */
  dataVersion: () => Promise<string>
  /** How busy the database is. */
  usage: () => Usage
}

type OperationResponse = { status: number; headers: Record<string, string>; body: ResponseBody<unknown> }

/** Compiles the document's validators. */
export async function loadApi(document: Document): Promise<OpenAPIBackend> {
  const api = new OpenAPIBackend({
    definition: document,
    strict: true,
    // The linter has validated the document and its schemas. Response validators are not used.
    quick: true,
    coerceTypes: true,
    ignoreTrailingSlashes: false,
    ajvOpts: { allErrors: true, useDefaults: true, verbose: true, validateSchema: false },
    customizeAjv: (ajv) => addCharacterRules(addFormats.default(ajv)),
  })
  await api.init()
  api.validator.preCompileRequestValidators()
  return api
}

/**
 * Checks each request in this order: route (404, 405), read limit (429), Accept (406), key (401, 429), write limit (429), body
 * (415, 413, 400), schema (400). openapi-backend's own pipeline cannot read the body after it has authenticated the caller.
 */
export function createApi(
  api: OpenAPIBackend,
  findRoute: Router,
  { authenticate, handlers }: ServiceBackend,
  limits: RateLimits,
): RequestHandler {
  return async (request, response) => {
    const { context } = response
    const head = parseHead(request, request.url)
    const route = findRoute(head)
    if (!route) {
      const allow = allowedMethods(findRoute, head.path)
      if (allow.length === 0) throw notFound()
      if (head.method !== 'OPTIONS') throw methodNotAllowed(allow)
      return sendOptions(response, allow)
    }
    const { operation } = route
    context.operation = operation.operationId
    context.route = request.baseUrl + operation.path
    const isRead = head.method === 'GET'
    if (isRead) limits.reads?.enforce(context.readQuota ?? limits.reads.count(response), response)
    if (!acceptsJson(request.headers.accept))
      throw new ServiceError('not_acceptable', 'Responses are JSON; accept application/json.')
    context.caller = await findCaller(operation, request, response)
    if (!isRead && context.caller) limits.writes?.enforce(limits.writes.count(response), response)
    const sent = operation.requestBody && (await readBody(request, response))
    const input = { ...parseInput(api, route, head, sent), caller: context.caller, signal: request.signal }
    // The handlers' type has every operation of the document, and is generated from it.
    const { status, headers, body }: OperationResponse = await handlers[operation.operationId as OperationId](input)
    if (!isRead) {
      response.status(status).set({ 'Cache-Control': 'no-store', ...headers })
      return response.type('json').send(serialize(body))
    }
    const { ETag, ...others } = { ...readCacheHeaders(request), ...headers }
    const etag = required(ETag, `the ETag of ${operation.operationId}`)
    const representation = new Representation(jsonType, etag, serialize(body), others)
    if (context.cache) context.cache(representation)
    else await sendRepresentation(request, response, representation, 'identity')
  }

  /** The developer whose key was sent; undefined if none was sent and the operation needs none. */
  async function findCaller(operation: Operation, request: Request, response: Response) {
    const { authorization } = request.headers
    const takesKey = operation.security?.some((requirement) => 'apiKey' in requirement)
    if (takesKey && authorization !== undefined) {
      const findOwner = async () => authenticate(bearerToken(authorization))
      const limit = limits['refused-keys']
      return limit ? limit.authenticate(authorization, response, findOwner) : findOwner()
    }
    if (!isPublic(operation))
      throw new ServiceError('unauthorized', 'This needs an API key; send it as Authorization: Bearer apps_….')
    return undefined
  }
}

const jsonType = 'application/json; charset=utf-8'

const serialize = ({ message, data }: ResponseBody<unknown>) => {
  const start = Buffer.from(`{"success":true,"message":${JSON.stringify(message)},"data":`)
  // Copied, because small Buffers share their memory: a body in the cache would keep all of it.
  return Buffer.from(new Uint8Array(Buffer.concat([start, data, Buffer.from('}')])).buffer)
}

/** Caches revalidate at each use, and never share a response between callers. */
const readCacheHeaders = (request: Request): Record<string, string> => ({
  'Cache-Control': request.headers.authorization === undefined ? 'public, no-cache' : 'private, no-cache',
  Vary: 'Authorization, Accept-Encoding',
})

/** RFC 6750, section 2.1. Another scheme is not a refused key (section 3.1). */
function bearerToken(header: string): string {
  const token = /^Bearer +(?<token>\S+)$/i.exec(header)?.groups?.token
  if (token !== undefined) return token
  const message = 'The Authorization header must be: Bearer, a space and an API key.'
  throw new ServiceError('unauthorized', message, /^Bearer\b/i.test(header) ? { refusedKey: true } : {})
}

/** The methods of a path, including HEAD and OPTIONS; none if there is no such path. */
function allowedMethods(findRoute: Router, path: string): string[] {
  const own = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => findRoute({ method, path }))
  return own.length === 0
    ? []
    : [...own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}
