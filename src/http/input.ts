import type { Request } from 'express'
import type { Context } from 'openapi-backend'
import type { Handlers, OperationId, Problem } from '../contract.ts'
import { firstOfEachField, illFormed, requestProblems } from '../problems.ts'

/** What openapi-backend is given of a request. The body joins it once the caller is known: JSON text, or an object or array. */
export type RawRequest = {
  method: string
  path: string
  query: Record<string, string | string[]>
  headers: Record<string, string | string[]>
  body?: string | object
}

/** HEAD is routed as GET; Node leaves the body out. */
export function rawRequest({ method, url, headers }: Request): RawRequest {
  // A request may name its target as a whole address (RFC 9112, section 3.2.2).
  const [path = '/', ...search] = url.replace(/^https?:\/\/[^/?]*/i, '').split('?')
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path: isDecodable(path) ? path : path.replaceAll('%', '%25'),
    query: queryOf(search.join('?')),
    // Node's type has undefined for headers that are not there; its object leaves them out.
    headers: headers as RawRequest['headers'],
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

/** Whether JSON is among what an Accept header takes (RFC 9110, section 12.5.1); parameters other than q say nothing of JSON. */
export function acceptsJson(accept: string | undefined): boolean {
  const ranges = (accept ?? '*/*').split(',').map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
  const range = ['application/json', 'application/*', '*/*']
    .map((type) => ranges.find(([name]) => name === type))
    .find((found) => found !== undefined)
  return range !== undefined && !range.some((part) => /^q=0(\.0*)?$/.test(part))
}

/** A parameter that is given several times becomes an array, which no schema here allows. */
function queryOf(search: string): RawRequest['query'] {
  const groups = Map.groupBy(new URLSearchParams(search), ([name]) => name)
  return Object.fromEntries(
    [...groups].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}

type ParameterObject = { name: string; in: string; schema?: { type?: string } }

// The document's references are resolved when openapi-backend has loaded it; its type does not know.
const parametersOf = ({ operation }: Context) => (operation.parameters ?? []) as ParameterObject[]

/** ajv takes `0x10`, `1e3` and `+5` for integers; the contract does not. */
function notPlainDecimal(context: Context, raw: RawRequest): Problem[] {
  return parametersOf(context)
    .filter(({ schema }) => schema?.type === 'integer')
    .flatMap(({ name, in: place }) => {
      const text = place === 'path' ? context.request.params[name] : raw.query[name]
      if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
      const message = Array.isArray(text) ? 'must be given once' : 'must be a whole number in plain decimal'
      return [{ in: place === 'path' ? ('path' as const) : ('query' as const), field: name, message }]
    })
}

/** Problems that ajv does not see, and it does: a place that is wrong in several ways is named once. */
export function problemsOf(context: Context, raw: RawRequest): Problem[] {
  const found = requestProblems(context.validation?.errors ?? []).map((problem) => ({
    ...problem,
    field: declaredName(context, problem),
  }))
  return firstOfEachField([...notPlainDecimal(context, raw), ...illFormed(raw.body), ...found])
}

/** Node gives header names in lower case; the document writes them as people do. */
const declaredName = (context: Context, { in: place, field }: Problem) =>
  parametersOf(context).find((parameter) => parameter.in === place && parameter.name.toLowerCase() === field)?.name ??
  field

/** Answers by the operation's handler. */
export function answerBy(handlers: Handlers) {
  // The handlers' type has every operation of the document, and is generated from it.
  return (context: Context, raw: RawRequest) =>
    handlers[context.operation.operationId as OperationId](inputOf(context, raw))
}

/** The handler's input. Typed as any: it was just validated against the schemas that the handlers' types are generated from. */
// biome-ignore lint/suspicious/noExplicitAny: see above
function inputOf(context: Context, raw: RawRequest): any {
  const { request, security } = context
  const named = (place: string, read: (parameter: ParameterObject) => unknown) =>
    Object.fromEntries(
      parametersOf(context)
        .filter((parameter) => parameter.in === place)
        .map((parameter) => [parameter.name, read(parameter)]),
    )
  return {
    caller: security.apiKey,
    // Path parameters stay text in openapi-backend.
    path: named('path', ({ name, schema }) =>
      schema?.type === 'integer' ? Number(request.params[name]) : request.params[name],
    ),
    query: request.query,
    header: named('header', ({ name }) => raw.headers[name.toLowerCase()]),
    body: raw.body,
  }
}
