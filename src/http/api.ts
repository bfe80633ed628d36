import addFormats from 'ajv-formats'
import type { Request, RequestHandler, Response } from 'express'
import { type Context, type Document, OpenAPIBackend, type Operation, type ParsedRequest } from 'openapi-backend'
import type { Caller } from '../contract/contract.ts'
import { invalidRequest, notFound, ServiceError } from '../contract/errors.ts'
import { matchesIfNoneMatch } from '../util/etag.ts'
import { serialize } from '../util/json.ts'
import { readBody } from './body.ts'
import type { RequestLogContext } from './log.ts'
import type { RateLimits } from './rate-limits.ts'
import { methodNotAllowed, sendOptions } from './read-only-route.ts'
import { acceptsJson, findExtraProblems, mergeProblems, parseHead, type RequestHead, withBody } from './request.ts'

type Envelope = { success: boolean; message: string; data: object }

export type Usage = Readonly<{
  pools: readonly Readonly<{ name: string; used: number; idle: number; waiting: number }>[]
  /** Transactions that were written since the beginning. */
  writes: number
  /** How much the database has sent away since then, by kind. */
  shed: Readonly<Record<string, number>>
}>

/** What answers requests: the catalogue, or a mock of it. */
export type ServiceBackend = {
  /** The caller whose key it is; throws `unauthorized`. */
  authenticate: (key: string) => Promise<Caller>
  /**
   * Answers a request that is authenticated and valid. What http/ adds to every answer is not among the headers; a status
   * without a body has none. The signal is aborted when the caller is gone.
   */
  handle: (context: Context, signal: AbortSignal) => Promise<{ status: number; headers: object; body?: Envelope }>
  /** Throws `unavailable` while it cannot answer. */
  assertReady: () => Promise<void>
  /** What version the data has that answers come from. Where it is not told, no answer is kept. */
  dataVersion?: () => Promise<string>
  /** How busy the database is. */
  usage?: () => Usage
  /** What is due from time to time, so that it goes on answering quickly. */
  maintain?: (signal: AbortSignal) => Promise<void>
}

/** Called with each answer of 200 to a read: its headers, but for those of the body, are set. True where it has sent it. */
export type OnRead = (
  request: Request,
  response: Response,
  etag: string,
  content: Buffer,
  logContext: RequestLogContext,
) => boolean

/**
 * openapi-backend as router, validator and register of what answers each operation. Every request is held against the document
 * in this order: route (404, 405), limit of reads (429), accept (406), key (401, 429), limit of writes (429), body (415, 413, 400),
 * schema (400). Its own pipeline has no place for a body that is read only when the caller is known.
 */
export async function createApi(
  document: Document,
  { authenticate, handle }: ServiceBackend,
  limits: RateLimits,
  onRead?: OnRead,
): Promise<RequestHandler> {
  const api = await loadDocument(document)
  for (const { operationId = '' } of api.getOperations()) api.register(operationId, handle)

  return async (request, response) => {
    const head = parseHead(request)
    const operation = api.matchOperation(head)
    const { logContext } = response.locals
    if (!operation) {
      const allow = allowedMethods(api, head)
      if (allow.length === 0) throw notFound()
      if (head.method !== 'OPTIONS') throw methodNotAllowed(allow)
      return sendOptions(response, allow)
    }
    logContext.operation = operation.operationId
    logContext.route = request.baseUrl + operation.path
    const isRead = head.method === 'GET'
    if (isRead) limits.limitRead(request, response)
    if (!acceptsJson(request.headers.accept)) throw notAcceptable()
    const { authorization } = request.headers
    const caller = await limits.limitRefusedKeys(request, response, () => findCaller(operation, authorization))
    logContext.caller = caller
    if (!isRead && caller) limits.limitWrite(caller, response)
    const raw = operation.requestBody ? withBody(head, await readBody(request, response)) : head
    const parsed = api.router.parseRequest(raw, operation)
    const extraProblems = findExtraProblems(operation, parsed)
    const validation = api.validateRequest(raw, operation)
    const problems = mergeProblems(operation, extraProblems, validation.errors ?? [])
    if (problems.length > 0) throw invalidRequest(problems)

    const valid = { ...parsed, ...validation.coerced }
    const context = { api, operation, request: valid, validation, security: { apiKey: caller }, response: undefined }
    const reply = await api.handlers[operation.operationId ?? '']?.(context, request.signal)
    const isSuccessfulRead = isRead && reply.status < 400
    response.statusCode = reply.status
    response.setHeaders(
      new Map(Object.entries({ ...(isSuccessfulRead ? readCacheHeaders(request) : noStore), ...reply.headers })),
    )
    if (reply.body === undefined) return response.end()
    const content = serializeEnvelope(reply.body)
    const etag = isSuccessfulRead ? String(reply.headers.ETag) : undefined
    if (etag !== undefined && onRead?.(request, response, etag, content, logContext)) return
    sendJson(request, response, etag, content)
  }

  /** Whose key it is; undefined where there is none, and the document demands none. */
  async function findCaller({ security = [] }: Operation, authorization: string | undefined) {
    const takesKey = security.some((requirement) => 'apiKey' in requirement)
    const caller = takesKey && authorization !== undefined ? await authenticate(bearerToken(authorization)) : undefined
    const isMet = (requirement: object) =>
      Object.keys(requirement).every((scheme) => scheme === 'apiKey' && caller !== undefined)
    if (security.length > 0 && !security.some(isMet)) {
      throw new ServiceError('unauthorized', 'This needs an API key; send it as Authorization: Bearer apps_….')
    }
    return caller
  }
}

async function loadDocument(document: Document): Promise<OpenAPIBackend> {
  const api = new OpenAPIBackend({
    definition: document,
    strict: true,
    // Neither the document nor its schemas are validated at each start: the linter has. No validator of responses is ever called.
    quick: true,
    coerceTypes: true,
    ignoreTrailingSlashes: false,
    ajvOpts: { allErrors: true, useDefaults: true, verbose: true, validateSchema: false },
    customizeAjv: (ajv) => addFormats.default(ajv),
  })
  await api.init()
  api.validator.preCompileRequestValidators()
  // The router flattens the whole document and builds each path's pattern again at each request; neither changes.
  const operations = api.getOperations()
  const routes = operations.map((operation) => ({ operation, pattern: compilePathTemplate(operation.path) }))
  api.router.getOperations = () => operations
  api.matchOperation = ({ method, path }) =>
    routes.find(({ operation, pattern }) => operation.method === method.toLowerCase() && pattern.test(path))?.operation
  // The validator would parse again what was parsed before; and it puts numbers in the place of texts.
  const parsed = new WeakMap<object, ParsedRequest>()
  const parse = api.router.parseRequest.bind(api.router)
  api.router.parseRequest = (request, operation) => {
    const known = parsed.get(request)
    if (known) return known
    const made = parse(request, operation)
    parsed.set(request, made)
    return made
  }
  return api
}

/** Of paths such as `/apps/{id}`; none of them is met by what meets another. */
const compilePathTemplate = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`)

/** Not by Express, which would look through the headers for what is known here, and copy the text. */
function sendJson(request: Request, response: Response, etag: string | undefined, content: Buffer) {
  const ifNoneMatch = request.headers['if-none-match']
  if (etag !== undefined && ifNoneMatch !== undefined && matchesIfNoneMatch(ifNoneMatch, etag)) {
    response.writeHead(304).end()
    return
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Content-Length', content.length)
  response.end(request.method === 'HEAD' ? undefined : content)
}

const serializeEnvelope = ({ success, message, data }: Envelope) =>
  Buffer.concat([
    Buffer.from(`{"success":${success},"message":${JSON.stringify(message)},"data":`),
    serialize(data),
    envelopeEnd,
  ])

const envelopeEnd = Buffer.from('}')

const noStore = { 'Cache-Control': 'no-store' }

/** Revalidated at each use, and never shared between callers. */
const readCacheHeaders = (request: Request) => ({
  'Cache-Control': request.headers.authorization === undefined ? 'public, no-cache' : 'private, no-cache',
  Vary: 'Authorization, Accept-Encoding',
})

/** RFC 6750, section 2.1; another scheme is no key that could be refused (section 3.1). */
function bearerToken(header: string): string {
  const token = /^Bearer +(?<token>\S+)$/i.exec(header)?.groups?.token
  if (token !== undefined) return token
  const message = 'The Authorization header must be: Bearer, a space and an API key.'
  throw new ServiceError('unauthorized', message, /^Bearer\b/i.test(header) ? { refusedKey: true } : {})
}

const notAcceptable = () => new ServiceError('not_acceptable', 'Responses are JSON; accept application/json.')

/** The methods of a path, HEAD and OPTIONS with them; none where there is no such path. */
function allowedMethods(api: OpenAPIBackend, head: RequestHead): string[] {
  const own = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => api.matchOperation({ ...head, method }))
  return own.length === 0
    ? []
    : [...own.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}
