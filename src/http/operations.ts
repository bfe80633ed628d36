import type { Request, RequestHandler } from 'express'
import type { Operation } from 'openapi-backend'
import { ServiceError } from '../contract/errors.ts'
import type { RateLimits } from './rate-limits.ts'

type Parameter = { name: string; in: string; schema?: { type?: string } }

/** What the document declares about an operation, and what follows from it for each request. */
export type OperationFacts = Readonly<{
  /** The operationId. */
  id: string
  /** The operation as openapi-backend has it. */
  declaration: Operation
  /** The path's template, with the prefix. */
  route: string
  /** Matches paths without the prefix, with a group for each parameter. */
  pattern: RegExp
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

/** The parts of a request's target. */
export type Target = Readonly<{
  /** Without the prefix. Percent signs that encode no text are encoded. */
  path: string
  /** Without the question mark. */
  search: string
  /** The operation that has the path and the method; undefined if there is none. */
  operation: OperationFacts | undefined
  /** The path's parameters, percent-encoded. */
  pathParameters: Readonly<Record<string, string>>
}>

/** Computes the facts of the operations that openapi-backend has read from the document. */
export const describeOperations = (
  operations: readonly Operation[],
  prefix: string,
): OperationFacts[] =>
  operations.map((declaration) => {
    const { method, path, operationId = '', security = [] } = declaration
    // openapi-backend has resolved the document's references; its type does not say so.
    const parameters = (declaration.parameters ?? []) as Parameter[]
    const namesIn = (place: string) =>
      parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
    return {
      id: operationId,
      declaration,
      route: prefix + path,
      pattern: pathPattern(path),
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
  })

/** The pattern of an OpenAPI path template, with a group for each parameter. */
// recheck-ignore: each group stops at the next slash, and Node limits the request line to 16 KiB.
const pathPattern = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)

/**
 * The step that finds the operation of a request, which the log and the next steps need. Throws
 * `rate_limited` if it is a read over the limit, and `not_acceptable`. Other requests go on.
 */
export const findOperation =
  (operations: readonly OperationFacts[], limits: RateLimits): RequestHandler =>
  (request, response, next) => {
    const target = readTarget(operations, request)
    response.context.target = target
    if (target.operation?.isRead) limits.reads?.enforce(response)
    if (target.operation) assertAcceptsJson(request.headers.accept)
    next()
  }

/** Reads a request's target, which may be an absolute URL (RFC 9112, section 3.2.2). */
export function readTarget(
  operations: readonly OperationFacts[],
  { method, url }: Pick<Request, 'method' | 'url'>,
): Target {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const end = target.indexOf('?')
  const [text, search] = end < 0 ? [target, ''] : [target.slice(0, end), target.slice(end + 1)]
  // As openapi-backend does.
  const path = (isDecodable(text) ? text : text.replaceAll('%', '%25')).trim()
  const declaredMethod = method === 'HEAD' ? 'get' : method.toLowerCase()
  for (const operation of operations) {
    if (operation.declaration.method !== declaredMethod) continue
    const match = operation.pattern.exec(path)
    if (match) return { path, search, operation, pathParameters: match.groups ?? {} }
  }
  return { path, search, operation: undefined, pathParameters: {} }
}

/** If the percent signs encode no text, the path is taken literally. */
function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true
  try {
    return decodeURIComponent(path) !== undefined
  } catch {
    return false
  }
}

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
