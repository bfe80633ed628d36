import type { Request } from 'express'
import type { Context } from 'openapi-backend'
import type { Problem } from '../contract.ts'
import { invalidRequest } from '../errors.ts'

/** What openapi-backend is given of a request. The body joins it once the caller is known. */
export type RawRequest = {
  method: string
  path: string
  query: Record<string, string | string[]>
  headers: Record<string, string | string[]>
  body?: object
}

/** HEAD is routed as GET; Node leaves the body out. Throws `invalid_request` for a path that cannot be decoded. */
export function rawRequest({ method, url, headers }: Request): RawRequest {
  const [path = '/', ...search] = url.split('?')
  demandDecodable(path)
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path,
    query: queryOf(search.join('?')),
    // Node's type has undefined for headers that are not there; its object leaves them out.
    headers: headers as RawRequest['headers'],
  }
}

function demandDecodable(path: string) {
  try {
    decodeURIComponent(path)
  } catch {
    throw invalidRequest([{ in: 'path', field: 'id', message: 'must be percent-encoded UTF-8' }])
  }
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
export function notPlainDecimal(context: Context, raw: RawRequest): Problem[] {
  return parametersOf(context)
    .filter(({ schema }) => schema?.type === 'integer')
    .flatMap(({ name, in: place }) => {
      const text = place === 'path' ? context.request.params[name] : raw.query[name]
      if (text === undefined || (typeof text === 'string' && /^(0|[1-9]\d*)$/.test(text))) return []
      const message = Array.isArray(text) ? 'must be given once' : 'must be a whole number in plain decimal'
      return [{ in: place === 'path' ? ('path' as const) : ('query' as const), field: name, message }]
    })
}

/** The handler's input. Typed as any: it was just validated against the schemas that the handlers' types are generated from. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export function inputOf(context: Context, raw: RawRequest): any {
  const { request, security } = context
  // Path parameters stay text in openapi-backend; all there are are integers. Node gives header names in lower case.
  const path = Object.entries(request.params).map(([name, text]) => [name, Number(text)])
  const header = parametersOf(context)
    .filter((parameter) => parameter.in === 'header')
    .map(({ name }) => [name, raw.headers[name.toLowerCase()]])
  return {
    caller: security.apiKey,
    path: Object.fromEntries(path),
    query: request.query,
    header: Object.fromEntries(header),
    body: raw.body,
  }
}
