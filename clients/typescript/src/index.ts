import { type Calls, createCalls, type ErrorData, type Failure, type Result } from './calls.js'
import type { components, operations } from './openapi.js'

type Schemas = components['schemas']
export type App = Schemas['App']
export type AppChanges = Schemas['AppChanges']
export type AppSummary = Schemas['AppSummary']
export type NewApp = Schemas['NewApp']
export type ListQuery = NonNullable<operations['listApps']['parameters']['query']>
export type { ErrorData }

type Envelope = { success: boolean; message: string; data: object }

/** An error response: its message, its status, and its data with `data.code`. */
export class AppsError extends Error {
  override readonly name = 'AppsError'
  readonly status: number
  readonly data: ErrorData
  /** For reports to the operators. */
  readonly requestId: string | null

  constructor(message: string, data: ErrorData, { status, headers }: Response) {
    super(message)
    this.status = status
    this.data = data
    this.requestId = headers.get('X-Request-Id')
  }
}

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
  allApps: (
    query?: Omit<ListQuery, 'page'>,
    options?: { signal?: AbortSignal },
  ) => AsyncGenerator<AppSummary, void>
}

export type Options = {
  /**
   * How often a request is repeated: any after a 429, reads and creates if their outcome is
   * unknown. Default: 3.
   */
  retries?: number
  /** Milliseconds until a response must be complete. Default: 30,000. */
  timeout?: number
}

/**
 * Creates a client of the service at a base URL. Without a key it can only read. Throws a TypeError
 * if the URL is invalid.
 */
export function createClient(
  baseUrl: string,
  key?: string,
  { retries = 3, timeout = 30_000 }: Options = {},
): AppsClient {
  assertBaseUrl(baseUrl)
  const headers: Record<string, string> =
    key === undefined ? {} : { Authorization: `Bearer ${key}` }
  const calls = createCalls(baseUrl, headers, (request) =>
    fetchWithRetries(request, retries, timeout),
  )
  async function* allApps(
    query: Omit<ListQuery, 'page'> = {},
    options: { signal?: AbortSignal } = {},
  ) {
    const { limit = maxLimit } = query
    for (let page = 1, pages = 1; page <= pages; page++) {
      const params = { query: { ...query, limit, page } }
      const { apps, pagination } = dataOf(await calls.GET('/apps', { params, ...options }))
      pages = pagination.total_pages
      yield* apps
    }
  }
  return { ...calls, allApps }
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
async function fetchWithRetries(
  request: Request,
  retries: number,
  timeout: number,
): Promise<Response> {
  if (request.method === 'POST' && !request.headers.has('Idempotency-Key'))
    request.headers.set('Idempotency-Key', crypto.randomUUID())
  for (let left = retries; ; left--) {
    const result = await fetchOnce(request.clone(), timeout)
    if (left > 0 && isRepeatable(request, result))
      await wait(millisecondsToWait(result), request.signal)
    else if (result instanceof ConnectionError) throw result
    else return result
  }
}

/** Reads the whole response, so that a connection that is lost meanwhile is noticed here. */
async function fetchOnce(request: Request, timeout: number): Promise<Response | ConnectionError> {
  const deadline = AbortSignal.timeout(timeout)
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, deadline]) })
    const body = await response.arrayBuffer()
    return new Response(body.byteLength > 0 ? body : null, response)
  } catch (cause) {
    if (request.signal.aborted) throw cause
    const reason = deadline.aborted ? `no response within ${timeout} ms` : describeFailure(cause)
    return new ConnectionError(`${request.method} ${request.url}: ${reason}`, { cause })
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

function isRepeatable({ method, headers }: Request, result: Response | ConnectionError): boolean {
  const isSafe = method === 'GET' || headers.has('Idempotency-Key')
  if (result instanceof ConnectionError) return isSafe
  return result.status === 429 || (isSafe && unknownOutcomes.includes(result.status))
}

/** A server that names a longer time is not waited for longer. */
const maxSeconds = 60

/** As long as `Retry-After` says, otherwise a second. */
function millisecondsToWait(result: Response | ConnectionError): number {
  const seconds =
    result instanceof ConnectionError ? 1 : Number(result.headers.get('Retry-After')) || 1
  return Math.min(seconds, maxSeconds) * 1000
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
