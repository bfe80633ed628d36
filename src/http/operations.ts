import type { Request, RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import type { OpenAPIBackend, Operation } from 'openapi-backend'
import { ServiceError } from '../contract/errors.ts'
import type { RateLimits } from './rate-limits.ts'

type Parameter = { name: string; in: string; schema?: { type?: string } }

/** What follows for each request from an operation's declaration in the document. */
export type OperationFacts = Readonly<{
  /** The operationId. */
  id: string
  /** The path's template, with the prefix. */
  route: string
  /** GET, which also answers HEAD. */
  isRead: boolean
  /** Takes requests without a key. */
  isPublic: boolean
  parameters: readonly Parameter[]
  /** Path and query parameters that are integers. */
  integers: readonly Parameter[]
  /** Names of query parameters. */
  query: readonly string[]
  /** Names of header parameters, as the document spells them. */
  headers: readonly string[]
}>

/** Computes the facts of an operation that openapi-backend has read from the document. */
export function describeOperation(operation: Operation, prefix: string): OperationFacts {
  const { method, path, operationId = '', security = [] } = operation
  // openapi-backend has resolved the document's references; its type does not say so.
  const parameters = (operation.parameters ?? []) as Parameter[]
  const namesIn = (place: string) =>
    parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
  return {
    id: operationId,
    route: prefix + path,
    isRead: method === 'get',
    isPublic:
      security.length === 0 ||
      security.some((requirement) => Object.keys(requirement).length === 0),
    parameters,
    integers: parameters.filter(
      (parameter) => parameter.in !== 'header' && parameter.schema?.type === 'integer',
    ),
    query: namesIn('query'),
    headers: namesIn('header'),
  }
}

/**
 * The step that finds the operation of a request, which the log and the next steps need. Throws
 * `rate_limited` if it is a read over the limit, and `not_acceptable`. Other requests go on.
 */
export function findOperation(
  api: OpenAPIBackend,
  operations: readonly OperationFacts[],
  limits: RateLimits,
): RequestHandler {
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  // openapi-backend compiles the patterns of all paths at each call. Clients choose the keys, so
  // their number and length are bounded.
  const known = new LRUCache<string, OperationFacts>({
    max: 1000,
    maxEntrySize: 100,
    sizeCalculation: (_operation, key) => key.length,
  })
  const find = ({ method, path: sent }: Target) => {
    // All ids share a key; no declared path has a digit.
    const path = sent.replace(/\d+/g, '0')
    const key = `${method} ${path}`
    const remembered = known.get(key)
    if (remembered) return remembered
    const found = api.matchOperation({ method, path, headers: {} })
    const operation = byId.get(found?.operationId ?? '')
    known.set(key, operation)
    return operation
  }

  return (request, response, next) => {
    const target = readTarget(request)
    const operation = find(target)
    response.context.target = target
    response.context.operation = operation
    if (operation?.isRead) limits.reads?.enforce(response)
    if (operation && !acceptsJson(request.headers.accept))
      throw new ServiceError('not_acceptable', 'Responses are JSON; accept application/json.')
    next()
  }
}

/** The parts of a request's target. The search has no question mark. */
export type Target = Readonly<{ method: string; path: string; search: string }>

/**
 * A request's method and target as openapi-backend takes them: it knows neither HEAD nor absolute
 * URLs (RFC 9112, section 3.2.2), and fails on percent signs that encode no text.
 */
export function readTarget({ method, url }: Pick<Request, 'method' | 'url'>): Target {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const end = target.indexOf('?')
  const [path, search] = end < 0 ? [target, ''] : [target.slice(0, end), target.slice(end + 1)]
  return {
    // Node leaves the body out of the response to HEAD.
    method: method === 'HEAD' ? 'GET' : method,
    path: isDecodable(path) ? path : path.replaceAll('%', '%25'),
    search,
  }
}

function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== undefined
  } catch {
    return false
  }
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
