import type { ErrorObject } from 'ajv'
import type { Request } from 'express'
import type { Context, Operation, ParsedRequest } from 'openapi-backend'
import type { Handlers, OperationId, Problem } from '../contract/contract.ts'
import { invalidRequest } from '../contract/errors.ts'
import { firstProblemPerField, requestProblems, textProblems } from '../contract/validation.ts'

/** A request without its body, as openapi-backend takes it. */
export type RequestHead = {
  method: string
  path: string
  query: Record<string, string | string[]>
  headers: Record<string, string | string[]>
}
type RawRequest = RequestHead & { body?: string | object }

/** HEAD is routed as GET; Node leaves the body out. */
export function parseHead({ method, url, headers }: Pick<Request, 'method' | 'url' | 'headers'>): RequestHead {
  // A request may name its target as a whole address (RFC 9112, section 3.2.2).
  const [path = '/', ...search] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?')
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path: isDecodable(path) ? path : path.replaceAll('%', '%25'),
    query: parseQuery(search.join('?')),
    // Node's type has undefined for headers that are not there; its object leaves them out.
    headers: headers as RequestHead['headers'],
  }
}

/** Where percent signs stand for no text, the path is taken as it is written. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== undefined
  } catch {
    return false
  }
}

/** How many Host headers there are (RFC 9112, section 3.2 asks for one): Node's object has the first alone. */
export const countHosts = (rawHeaders: string[]) => countHeader(rawHeaders, 'Host', 'host')

/** The same of Authorization, of which a request has one at most (RFC 9110, section 5.3). */
export const countAuthorizations = (rawHeaders: string[]) => countHeader(rawHeaders, 'Authorization', 'authorization')

/** A header's name as it is usually written, and in small letters. */
function countHeader(rawHeaders: string[], usualCase: string, lowerCase: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name === usualCase || name?.toLowerCase() === lowerCase) count++
  }
  return count
}

/** Whether JSON is among what an Accept header takes (RFC 9110, section 12.5.1); parameters other than q say nothing of JSON. */
export function acceptsJson(accept: string | undefined): boolean {
  const ranges = (accept ?? '*/*').split(',').map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
  const range = ['application/json', 'application/*', '*/*']
    .map((type) => ranges.find(([name]) => name === type))
    .find((found) => found !== undefined)
  return range !== undefined && !range.some((part) => /^q=0(\.0*)?$/.test(part))
}

/** More than any operation has; of very many, naming each that is unknown would keep the event loop busy. */
const maxParameters = 500

/** A parameter that is given several times becomes an array, which no schema here allows. */
function parseQuery(search: string): RequestHead['query'] {
  if (search === '') return {}
  const few = search.split('&', maxParameters + 1).join('&')
  const groups = Map.groupBy(new URLSearchParams(few), ([name]) => name)
  return Object.fromEntries(
    [...groups].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}

/** openapi-backend takes a value that is no object for text that it has yet to parse. */
export function withBody(head: RequestHead, body: unknown): RawRequest {
  if (body === undefined) return head
  return { ...head, body: typeof body === 'object' && body !== null ? body : JSON.stringify(body) }
}

type ParameterObject = { name: string; in: string; schema?: { type?: string } }

// The document's references are resolved when openapi-backend has loaded it; its type does not know.
const parametersOf = ({ parameters = [] }: Operation) => parameters as ParameterObject[]

/** What ajv does not see, in a request as it was sent. Throws where there is more than is looked at. */
export function findExtraProblems(operation: Operation, parsed: ParsedRequest): Problem[] {
  if (Object.keys(parsed.query).length > maxParameters) {
    throw invalidRequest([{ in: 'query', field: '', message: `must have at most ${maxParameters} parameters` }])
  }
  return [...findNonDecimals(operation, parsed), ...textProblems(parsed.body)]
}

/** With what ajv found. A place that is wrong in several ways is named once. */
export function mergeProblems(operation: Operation, extraProblems: Problem[], errors: ErrorObject[]): Problem[] {
  if (errors.length === 0) return extraProblems
  const found = requestProblems(errors).map((problem) => ({ ...problem, field: declaredName(operation, problem) }))
  return firstProblemPerField([...extraProblems, ...found])
}

/** ajv takes `0x10`, `1e3` and `+5` for integers; the contract does not. */
function findNonDecimals(operation: Operation, { params, query }: ParsedRequest): Problem[] {
  return parametersOf(operation)
    .filter(({ schema }) => schema?.type === 'integer')
    .flatMap(({ name, in: place }) => {
      const text = place === 'path' ? params[name] : query[name]
      if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
      const message = Array.isArray(text) ? 'must be given once' : 'must be a whole number in plain decimal'
      return [{ in: place === 'path' ? ('path' as const) : ('query' as const), field: name, message }]
    })
}

/** Node gives header names in lower case; the document writes them as people do. */
const declaredName = (operation: Operation, { in: place, field }: Problem) =>
  parametersOf(operation).find((parameter) => parameter.in === place && parameter.name.toLowerCase() === field)?.name ??
  field

/** Answers by the operation's handler. */
export function dispatchTo(handlers: Handlers) {
  // The handlers' type has every operation of the document, and is generated from it.
  return (context: Context, signal: AbortSignal) =>
    handlers[context.operation.operationId as OperationId](toHandlerInput(context, signal))
}

/** The handler's. Typed as any: it was just validated against the schemas that the handlers' types are generated from. */
// biome-ignore lint/suspicious/noExplicitAny: see above
function toHandlerInput({ operation, request, security }: Context, signal: AbortSignal): any {
  const declared = parametersOf(operation).filter((parameter) => parameter.in === 'header')
  const header = Object.fromEntries(declared.map(({ name }) => [name, request.headers[name.toLowerCase()]]))
  return { caller: security.apiKey, path: request.params, query: request.query, header, body: request.body, signal }
}
