import type { IncomingMessage } from 'node:http'
import { parse } from 'node:querystring'
import type { OpenAPIBackend, Operation } from 'openapi-backend'
import type { Problem } from '../contract/contract.ts'
import { httpVersionNotSupported, invalidRequest, ServiceError } from '../contract/errors.ts'
import { firstProblemPerField, requestProblems } from '../contract/validation.ts'
import { required } from '../util/helpers.ts'

/** A request without its body, in the form that openapi-backend takes. */
export type RequestHead = {
  method: string
  path: string
  query: Record<string, string | string[]>
  headers: Record<string, string | string[]>
}

/** HEAD is routed as GET; Node leaves the body out. */
export function parseHead(
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  url: string,
): RequestHead {
  // The target may be an absolute URL (RFC 9112, section 3.2.2).
  const [path = '/', ...search] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?')
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path: isDecodable(path) ? path : path.replaceAll('%', '%25'),
    // A repeated parameter becomes an array, which no schema here allows.
    query: parse(search.join('?'), '&', '=', { maxKeys: maxParameters + 1 }) as RequestHead['query'],
    // The types have undefined for what is missing; the objects leave it out.
    headers: headers as RequestHead['headers'],
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

/** Throws `http_version_not_supported` or `not_implemented` for what Node's parser passes on. */
export function assertSupported({ httpVersionMajor, headers }: IncomingMessage) {
  if (httpVersionMajor !== 1) throw httpVersionNotSupported()
  if (!/^(?:chunked)?$/i.test(headers['transfer-encoding'] ?? ''))
    throw new ServiceError('not_implemented', 'The only supported Transfer-Encoding is chunked.')
}

/**
 * Problems with Host and Authorization. A request has one valid Host (RFC 9112, section 3.2; none in HTTP/1.0), which Node
 * would check outside the envelope. It has one Authorization at most: another reader of the same request might take the other.
 */
export function findHeaderProblems({ rawHeaders, headers, httpVersion }: IncomingMessage): Problem[] {
  // Node's object has only the first of these headers.
  const names = rawHeaders.filter((_text, index) => index % 2 === 0).map((name) => name.toLowerCase())
  const count = (name: string) => names.filter((other) => other === name).length
  const problemOf = (field: string, message: string) => ({ in: 'header' as const, field, message })
  const hosts = count('host')
  const problems = []
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0')) problems.push(problemOf('Host', 'must be given once'))
  else if (!hostPattern.test(headers.host ?? ''))
    problems.push(problemOf('Host', 'must be a host name or address, and may have a port'))
  if (count('authorization') > 1) problems.push(problemOf('Authorization', 'must be given once'))
  return problems
}

/** RFC 9110, section 7.2, and RFC 3986, section 3.2.2. */
const hostPattern = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\w.~!$&'()*+,;=:]+\])(?::\d*)?$/

/** Whether an Accept header takes JSON (RFC 9110, section 12.5.1); parameters other than q do not apply to JSON. */
export function acceptsJson(accept = ''): boolean {
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

/** More than any operation has. Describing each of very many unknown ones would block the event loop. */
const maxParameters = 500

/** A pattern for the URLs of an OpenAPI path template, with any query. Its groups are the path's parameters. */
export const urlPattern = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/?]+)')}(?:\\?|$)`)

export type Router = ReturnType<typeof createRouter>
type Route = NonNullable<ReturnType<Router>>

/** Returns a function that finds a request's operation and path parameters. openapi-backend compiles every path anew for each. */
export function createRouter(api: OpenAPIBackend) {
  const isTemplate = ({ path }: Operation) => path.includes('{')
  // Of two paths that match, the one without parameters applies (OpenAPI 3.0.4, "Path Templating Matching").
  const routes = api
    .getOperations()
    .toSorted((one, other) => Number(isTemplate(one)) - Number(isTemplate(other)))
    .map((operation) => ({ method: operation.method.toUpperCase(), pattern: urlPattern(operation.path), operation }))
  return ({ method, path }: Pick<RequestHead, 'method' | 'path'>) => {
    for (const route of routes) {
      const match = route.method === method && route.pattern.exec(path)
      if (match) return { operation: route.operation, parameters: match.groups ?? {} }
    }
  }
}

/**
 * The request in the form that handlers take, with its parameters coerced and defaults filled in. Throws `invalid_request` with
 * all problems. Runs openapi-backend's validators, but not its `validateRequest`, which parses the request and compiles the path
 * anew. Returns any: the handlers' types are generated from the schemas of these validators.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
export function parseInput(api: OpenAPIBackend, route: Route, head: RequestHead, body?: unknown): any {
  const { operation, parameters } = route
  const { query, headers } = head
  const path = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, decodeURIComponent(value)]))
  if (Object.keys(query).length > maxParameters) {
    throw invalidRequest([{ in: 'query', field: '', message: `must have at most ${maxParameters} parameters` }])
  }
  const nonDecimals = findNonDecimals(operation, path, query)
  const operationId = required(operation.operationId, 'the operationId')
  const validators = required(
    api.validator.getRequestValidatorsForOperation(operationId),
    `the validators of ${operationId}`,
  )
  const errors = validators.flatMap((validate) => {
    // Coerces the parameters in place.
    validate({ path, query, header: headers, ...(body !== undefined && { requestBody: body }) })
    return validate.errors ?? []
  })
  if (nonDecimals.length > 0 || errors.length > 0) {
    const found = requestProblems(errors).map((problem) => ({ ...problem, field: declaredName(operation, problem) }))
    throw invalidRequest(firstProblemPerField([...nonDecimals, ...found]))
  }
  const declared = parameterNames([operation], 'header')
  const header = Object.fromEntries(declared.map((name) => [name, headers[name.toLowerCase()]]))
  return { path, query, header, body }
}

type ParameterObject = { name: string; in: string; schema?: { type?: string } }

// openapi-backend has resolved the document's references; its type does not say so.
const parametersOf = ({ parameters = [] }: Operation) => parameters as ParameterObject[]

export const parameterNames = (operations: Operation[], place: 'query' | 'header'): string[] =>
  operations.flatMap(parametersOf).flatMap((parameter) => (parameter.in === place ? [parameter.name] : []))

/** Whether the operation takes anonymous requests: it has no security requirement, or an empty one. */
export const isPublic = ({ security = [] }: Operation) =>
  security.length === 0 || security.some((requirement) => Object.keys(requirement).length === 0)

type Values = Readonly<Record<string, string | string[]>>

/** ajv takes `0x10`, `1e3` and `+5` for integers; the document does not. */
function findNonDecimals(operation: Operation, path: Values, query: Values): Problem[] {
  return parametersOf(operation)
    .filter(({ schema }) => schema?.type === 'integer')
    .flatMap(({ name, in: place }) => {
      const text = place === 'path' ? path[name] : query[name]
      if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
      const message = Array.isArray(text) ? 'must be given once' : 'must be a whole number in plain decimal'
      return [{ in: place === 'path' ? ('path' as const) : ('query' as const), field: name, message }]
    })
}

/** Node gives header names in lower case; problems name them as the document does. */
const declaredName = (operation: Operation, { in: place, field }: Problem) =>
  parametersOf(operation).find((parameter) => parameter.in === place && parameter.name.toLowerCase() === field)?.name ??
  field
