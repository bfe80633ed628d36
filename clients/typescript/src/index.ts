import {
  type Calls,
  createCalls,
  type ErrorData,
  type Failure,
  type Init,
  type Result,
} from './calls.js'
import type { components, operations } from './openapi.js'

type Schemas = components['schemas']
export type App = Schemas['App']
export type AppChanges = Schemas['AppChanges']
export type AppSummary = Schemas['AppSummary']
export type CountedCategory = Schemas['CountedCategory']
export type NewApp = Schemas['NewApp']
export type OwnApp = Schemas['OwnApp']
export type ListQuery = NonNullable<operations['listApps']['parameters']['query']>
export type OwnListQuery = NonNullable<operations['listOwnApps']['parameters']['query']>
export type { ErrorData }

type Envelope = { success: boolean; message: string; data: object }

/**
 * An error response: its message, its status, and its data with `data.code`. If a request has several
 * problems, the message has a line for each further one, which a console would not show otherwise.
 */
export class AppsError extends Error {
  override readonly name = 'AppsError'
  readonly status: number
  readonly data: ErrorData
  /** For reports to the operators. */
  readonly requestId: string | null

  constructor(message: string, data: ErrorData, { status, headers }: Response) {
    super([message, ...furtherProblems(data)].join('\n'))
    this.status = status
    this.data = data
    this.requestId = headers.get('X-Request-Id')
  }
}

const furtherProblems = (data: ErrorData): string[] =>
  'errors' in data && data.errors
    ? data.errors.slice(1).map(({ in: part, field, message }) => `  ${field || part} ${message}`)
    : []

/**
 * No complete response arrived, also to the last retry. A write may have been performed; an update
 * or deletion that could not connect was not.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
}

/** Returns the data of a response; throws an AppsError if it is an error. */
export function dataOf<Success extends Envelope, Error extends Failure<ErrorData>>(
  result: Result<Success, Error>,
): Success['data'] {
  const { data, error, response } = result
  if (data !== undefined) return data.data
  // A proxy in front of the service does not use the envelope.
  if (error?.data?.code === undefined)
    throw new Error(`The service responded with status ${response.status}.`)
  throw new AppsError(error.message, error.data, response)
}

export type AppsClient = Calls & {
  /** All apps of a list; each page is requested when the iteration reaches it. */
  allApps: AllPages<ListQuery, AppSummary>
  /** The same for the apps of the key's developer, in every state. */
  allOwnApps: AllPages<OwnListQuery, OwnApp>
}

type AllPages<Query, App> = (
  query?: Omit<Query, 'page'>,
  options?: { signal?: AbortSignal },
) => AsyncGenerator<App, void>

export type Options = {
  /** Sends the requests, in place of the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
  /**
   * Sent with every request. Headers of a call replace them, and the key replaces `Authorization`.
   */
  headers?: RequestInit['headers']
  /**
   * How often a request is repeated: any after a 429, reads and creates if their outcome is
   * unknown. Default: 3.
   */
  retries?: number
  /** Milliseconds until a response must be complete. Default: 30,000. */
  timeout?: number
}

/**
 * Creates a client of the service at a base URL. Without a key it can only read what is public.
 * Throws a TypeError if the URL, the key or a header is invalid.
 */
export function createClient(baseUrl: string, key?: string, options: Options = {}): AppsClient {
  assertBaseUrl(baseUrl)
  const headers = new Headers(options.headers)
  if (key !== undefined) headers.set('Authorization', `Bearer ${key}`)
  const calls = createCalls(baseUrl, headers, (url, init) => fetchWithRetries(url, init, options))
  return {
    ...calls,
    allApps: (query = {}, fetchOptions = {}) =>
      allPages(query.limit, async (page) =>
        dataOf(
          await calls.GET('/apps', { params: { query: { ...query, ...page } }, ...fetchOptions }),
        ),
      ),
    allOwnApps: (query = {}, fetchOptions = {}) =>
      allPages(query.limit, async (page) =>
        dataOf(
          await calls.GET('/developer/apps', {
            params: { query: { ...query, ...page } },
            ...fetchOptions,
          }),
        ),
      ),
  }
}

async function* allPages<App>(
  limit = maxLimit,
  readPage: (page: { limit: number; page: number }) => Promise<{
    apps: App[]
    pagination: { total_pages: number }
  }>,
): AsyncGenerator<App, void> {
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { apps, pagination } = await readPage({ limit, page })
    pages = pagination.total_pages
    yield* apps
  }
}

/** The most apps that a page can have. */
const maxLimit = 100

/**
 * Otherwise each request would fail, and be repeated. In a browser, the URL can be relative to the
 * page.
 */
function assertBaseUrl(baseUrl: string) {
  try {
    if (/^https?:/.test(new Request(baseUrl).url)) return
  } catch {
    // It is no URL, or has a user name or password.
  }
  throw new TypeError(
    `Invalid base URL "${baseUrl}"; it must begin with http:// or https:// ` +
      'and have no user name or password.',
  )
}

/**
 * Repeats reads, and creates with the same Idempotency-Key, if their outcome is unknown. Repeats
 * other requests only if the service refused them without an effect.
 */
async function fetchWithRetries(url: string, init: Init, options: Options): Promise<Response> {
  if (init.method === 'POST' && !init.headers.has('Idempotency-Key'))
    init.headers.set('Idempotency-Key', crypto.randomUUID())
  for (let left = options.retries ?? 3; ; left--) {
    const result = await fetchOnce(url, init, options)
    if (left > 0 && isRepeatable(init, result)) await wait(millisecondsToWait(result), init.signal)
    else if (result instanceof ConnectionError) throw result
    else return result
  }
}

/** Reads the whole response, so that a connection that is lost meanwhile is noticed here. */
async function fetchOnce(
  url: string,
  init: Init,
  { fetch = globalThis.fetch, timeout = 30_000 }: Options,
): Promise<Response | ConnectionError> {
  const deadline = AbortSignal.timeout(timeout)
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline
  try {
    const response = await fetch(url, { ...init, signal })
    const body = await response.arrayBuffer()
    return new Response(body.byteLength > 0 ? body : null, response)
  } catch (cause) {
    if (init.signal?.aborted) throw cause
    const reason = deadline.aborted ? `no response within ${timeout} ms` : describeFailure(cause)
    return new ConnectionError(`${init.method} ${url}: ${reason}`, { cause })
  }
}

/**
 * Errors of Node name the failed system call or have a code. Those of other runtimes have only a
 * message.
 */
type FetchError = { message: string; syscall?: string; code?: string }

function describeFailure(error: unknown): string {
  const errors = causesOf(error)
  const reasons = errors.map(({ message }) => message).join(', ')
  if (errors.every(isFailureToConnect)) return `could not connect (${reasons})`
  return `${errors.some(isLoss) ? 'the connection was lost' : 'no complete response'} (${reasons})`
}

/** Several if each address of a host failed. */
function causesOf(error: unknown): FetchError[] {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const causes: unknown[] = cause instanceof AggregateError ? cause.errors : [cause]
  return causes.map((one) => (one instanceof Error ? one : { message: String(one) }))
}

const isFailureToConnect = ({ syscall = '', code }: FetchError) =>
  ['connect', 'getaddrinfo'].includes(syscall) || code === 'UND_ERR_CONNECT_TIMEOUT'

const isLoss = ({ code = '' }: FetchError) =>
  ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code)

/**
 * Statuses of requests that may have been performed, or not. A 408 or 502 can also come from a
 * proxy.
 */
const unknownOutcomes = [408, 502, 503, 504]

function isRepeatable({ method, headers }: Init, result: Response | ConnectionError): boolean {
  const isSafe = method === 'GET' || headers.has('Idempotency-Key')
  if (result instanceof ConnectionError) return isSafe
  return result.status === 429 || (isSafe && unknownOutcomes.includes(result.status))
}

/** As long as `Retry-After` says, but at least a second and at most a minute. */
function millisecondsToWait(result: Response | ConnectionError): number {
  const seconds = result instanceof ConnectionError ? 1 : retryAfter(result.headers) || 1
  return Math.min(Math.max(seconds, 1), 60) * 1000
}

/**
 * In seconds; NaN if it is neither seconds nor a date (RFC 9110, section 10.2.3). A date is compared
 * with the response's own `Date`, so that only the server's clock counts. Web pages cannot read
 * that.
 */
function retryAfter(headers: Headers): number {
  const value = headers.get('Retry-After') ?? ''
  const seconds = Number(value)
  if (!Number.isNaN(seconds)) return seconds
  return (Date.parse(value) - (Date.parse(headers.get('Date') ?? '') || Date.now())) / 1000
}

function wait(milliseconds: number, signal: Init['signal']): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
