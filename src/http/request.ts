import type { IncomingMessage } from 'node:http'
import { parse } from 'node:querystring'
import type { ErrorObject } from 'ajv'
import type { Request } from 'express'
import type { Request as ApiRequest, Context, Operation } from 'openapi-backend'
import type { Problem } from '../contract/contract.ts'
import { httpVersionNotSupported, invalidRequest, ServiceError } from '../contract/errors.ts'
import { firstProblemPerField, requestProblems } from '../contract/validation.ts'

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

/** Throws `http_version_not_supported` or `not_implemented` for what Node's parser passes on. */
export function assertSupported({ httpVersionMajor, headers }: IncomingMessage) {
  if (httpVersionMajor !== 1) throw httpVersionNotSupported()
  if (!/^(?:chunked)?$/i.test(headers['transfer-encoding'] ?? ''))
    throw new ServiceError('not_implemented', 'The only supported Transfer-Encoding is chunked.')
}

/**
 * Problems with Host and Authorization. A request has one valid Host (RFC 9112, section 3.2; none
 * in HTTP/1.0), which Node would check outside the envelope. It has one Authorization at most:
 * another reader of the same request might take the other.
 */
export function findHeaderProblems({
  rawHeaders,
  headers,
  httpVersion,
}: IncomingMessage): Problem[] {
  // Node's object has only the first of these headers.
  const names = rawHeaders
    .filter((_text, index) => index % 2 === 0)
    .map((name) => name.toLowerCase())
  const count = (name: string) => names.filter((other) => other === name).length
  const problemOf = (field: string, message: string) => ({ in: 'header' as const, field, message })
  const hosts = count('host')
  const problems = []
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0'))
    problems.push(problemOf('Host', 'must be given once'))
  else if (!hostPattern.test(headers.host ?? ''))
    problems.push(problemOf('Host', 'must be a host name or address, and may have a port'))
  if (count('authorization') > 1) problems.push(problemOf('Authorization', 'must be given once'))
  return problems
}

/** RFC 9110, section 7.2, and RFC 3986, section 3.2.2. */
const hostPattern = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\w.~!$&'()*+,;=:]+\])(?::\d*)?$/

/** Throws `not_acceptable` if an Accept header refuses JSON. */
export function assertAcceptsJson(accept: string | undefined) {
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

type ParameterObject = { name: string; in: string; schema?: { type?: string } }

// openapi-backend has resolved the document's references; its type does not say so.
const parametersOf = ({ parameters = [] }: Operation) => parameters as ParameterObject[]

export const parameterNames = (operations: Operation[], place: 'query' | 'header'): string[] =>
  operations
    .flatMap(parametersOf)
    .flatMap((parameter) => (parameter.in === place ? [parameter.name] : []))

/**
 * Whether the operation takes anonymous requests: it has no security requirement, or an empty one.
 */
export const isPublic = ({ security = [] }: Operation) =>
  security.length === 0 || security.some((requirement) => Object.keys(requirement).length === 0)

type Values = Record<string, string | string[]>

/** The header parameters of an operation, by their names in the document. */
export const headerParameters = (operation: Operation, headers: Values) =>
  Object.fromEntries(
    parameterNames([operation], 'header').map((name) => [name, headers[name.toLowerCase()]]),
  )

/**
 * ajv takes `0x10`, `1e3` and `+5` for integers; the document does not. Throws `invalid_request`
 * with all problems of the request if it has such a number, or very many parameters.
 */
export function assertDecimals({ api, operation, request }: Context, input: ApiRequest) {
  const { params, query } = request
  if (Object.keys(query).length > maxParameters)
    throw invalidRequest([
      { in: 'query', field: '', message: `must have at most ${maxParameters} parameters` },
    ])
  const problems = parametersOf(operation)
    .filter(({ schema }) => schema?.type === 'integer')
    .flatMap(({ name, in: place }) => {
      const text = place === 'path' ? params[name] : query[name]
      if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
      const message = Array.isArray(text)
        ? 'must be given once'
        : 'must be a whole number in plain decimal'
      return [
        { in: place === 'path' ? ('path' as const) : ('query' as const), field: name, message },
      ]
    })
  if (problems.length > 0)
    throw invalidParts(operation, api.validateRequest(input, operation).errors ?? [], problems)
}

/** `invalid_request` with the errors that ajv found, after other problems. */
export function invalidParts(
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
