import type { components, paths } from './openapi.js'

/**
 * Calls the document's operations by method and path; parameters, bodies and results have the types
 * of the operation.
 */
export type Calls = { [Method in MethodName as Uppercase<Method>]: Call<Method> }

type MethodName = 'get' | 'post' | 'put' | 'delete'
type Call<Method extends MethodName> = <Path extends PathOf<Method>>(
  path: Path,
  ...options: OptionalIfEmpty<OptionsOf<paths[Path][Method]>>
) => Promise<ResultOf<paths[Path][Method]>>

type PathOf<Method extends MethodName> = {
  [Path in keyof paths]: paths[Path][Method] extends object ? Path : never
}[keyof paths]
type OptionalIfEmpty<Options> =
  Partial<Options> extends Options ? [options?: Options] : [options: Options]

type FetchOptions = Omit<RequestInit, 'method' | 'body'>
type OptionsOf<Operation> = FetchOptions & ParametersOf<Operation> & RequestBodyOf<Operation>
type ParametersOf<Operation> = Operation extends { parameters: infer Parameters }
  ? Partial<Parameters> extends Parameters
    ? { params?: Parameters }
    : { params: Parameters }
  : unknown
type RequestBodyOf<Operation> = Operation extends { requestBody: infer Body }
  ? { body: Json<Body> }
  : unknown

/** `data` or `error` is the body of the response. */
export type Result<Data, Error> =
  | { data: Data; error?: never; response: Response }
  | { data?: never; error: Error; response: Response }

export type Failure<Data> = { success: false; message: string; data: Data }

type ResultOf<Operation> = Result<
  Extract<ResponseBodyOf<Operation>, { success: true }>,
  Failure<ByCode<Extract<ResponseBodyOf<Operation>, { success: false }>['data']>>
>
type ResponseBodyOf<Operation> = Operation extends { responses: infer Responses }
  ? Json<Responses[keyof Responses]>
  : never
type Json<Content> = Content extends { content: { 'application/json': infer Body } } ? Body : never

type Schemas = components['schemas']
type ErrorSchemas = Extract<Schemas[keyof Schemas], { code: string }>

/** The data of any error, by its `code`. */
export type ErrorData = ByCode<ErrorSchemas>

/**
 * A union with a member for each code, so that a comparison of `code` tells which fields there are.
 * A schema of several codes has fields that are optional because only one of the codes has them;
 * the schema of that code alone requires them.
 */
type ByCode<Data extends ErrorSchemas> = Data extends unknown
  ? { [Code in Data['code']]: SchemaOf<Code, Data> }[Data['code']]
  : never
type SchemaOf<Code, Data> = [Extract<ErrorSchemas, { code: Code }>] extends [never]
  ? Data & { code: Code }
  : Extract<ErrorSchemas, { code: Code }>

type Values = Record<string, string | number | boolean | null | undefined>
type AnyOptions = FetchOptions & {
  params?: { path?: Values; query?: Values; header?: Values }
  body?: unknown
}

/** A request as `fetch` takes it. Its body is text, so it can be sent again. */
export type Init = FetchOptions & { method: string; headers: Headers; body?: string }

/** `headers` are sent with each request, unless a call has others. */
export function createCalls(
  baseUrl: string,
  headers: Headers,
  send: (url: string, init: Init) => Promise<Response>,
): Calls {
  const call =
    (method: string) =>
    async (path: string, options: AnyOptions = {}) =>
      readResult(
        await send(
          baseUrl.replace(/\/$/, '') + pathOf(path, options),
          initOf(method, headers, options),
        ),
      )
  return { GET: call('GET'), POST: call('POST'), PUT: call('PUT'), DELETE: call('DELETE') }
}

function pathOf(template: string, { params: { path = {}, query = {} } = {} }: AnyOptions): string {
  const filled = template.replace(/\{(\w+)\}/g, (whole, name) =>
    encodeURIComponent(path[name] ?? whole),
  )
  const search = new URLSearchParams(definedEntries(query)).toString()
  return search === '' ? filled : `${filled}?${search}`
}

function initOf(
  method: string,
  commonHeaders: Headers,
  { params: { header = {} } = {}, body, ...options }: AnyOptions,
): Init {
  const headers = new Headers(commonHeaders)
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  for (const [name, value] of [...new Headers(options.headers), ...definedEntries(header)])
    headers.set(name, value)
  return { ...options, method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
}

const definedEntries = (values: Values) =>
  Object.entries(values).flatMap(([name, value]): [string, string][] =>
    value == null ? [] : [[name, String(value)]],
  )

/** The service's JSON has the document's types, which tests of the service check. */
async function readResult(response: Response) {
  const text = await response.text()
  if (response.ok) return { data: text === '' ? undefined : JSON.parse(text), response }
  return { error: parseError(text), response }
}

/** An error of a proxy may be no JSON. */
function parseError(text: string) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
