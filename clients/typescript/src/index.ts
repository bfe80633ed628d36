import createFetchClient, { type Client } from 'openapi-fetch'
import type { components, operations, paths } from './openapi.js'

type Schemas = components['schemas']
export type App = Schemas['App']
export type AppChanges = Schemas['AppChanges']
export type AppSummary = Schemas['AppSummary']
export type NewApp = Schemas['NewApp']
export type ListQuery = NonNullable<operations['listApps']['parameters']['query']>

type Envelope = { success: boolean; message: string; data: object }
type Failure = { success: false; message: string; data: { code: string } }
type Result<Data, Error> =
  | { data: Data; error?: never; response: Response }
  | { data?: never; error: Error; response: Response }

/** An error response: its message, its status, and its data with `data.code`. */
export class AppsError<Data extends { code: string } = { code: string }> extends Error {
  override readonly name = 'AppsError'
  readonly status: number
  readonly data: Data
  /** For reports to the operators. */
  readonly requestId: string | null

  constructor(message: string, data: Data, { status, headers }: Response) {
    super(message)
    this.status = status
    this.data = data
    this.requestId = headers.get('X-Request-Id')
  }
}

/** Returns the data of a response; throws an AppsError if it is an error. */
export function dataOf<Success extends Envelope, Error extends Failure>(
  result: Result<Success, Error>,
): Success['data'] {
  const { data, error, response } = result
  if (data !== undefined) return data.data
  // A proxy in front of the service does not use the envelope.
  if (error?.data?.code === undefined) throw new Error(`The service responded with status ${response.status}.`)
  throw new AppsError(error.message, error.data, response)
}

export type AppsClient = Client<paths> & {
  /** All apps of a list; each page is requested when the iteration reaches it. */
  allApps: (query?: Omit<ListQuery, 'page'>) => AsyncGenerator<AppSummary, void>
}

export type Options = {
  /** How often a request is repeated after a 429 or 503. Default: 3. */
  retries?: number
}

/** Creates a client of the service at a base URL. Without a key it can only read. */
export function createClient(baseUrl: string, key?: string, { retries = 3 }: Options = {}): AppsClient {
  const client = createFetchClient<paths>({
    baseUrl,
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    fetch: (request) => fetchWithRetries(request, retries),
  })
  async function* allApps(query: Omit<ListQuery, 'page'> = {}) {
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { apps, pagination } = dataOf(await client.GET('/apps', { params: { query: { ...query, page } } }))
      pages = pagination.total_pages
      yield* apps
    }
  }
  return { ...client, allApps }
}

/** Repeats requests that got a 429 or 503: the service did nothing yet, and `Retry-After` says how long to wait. */
async function fetchWithRetries(request: Request, retries: number): Promise<Response> {
  for (let left = retries; ; left--) {
    const response = await fetch(request.clone())
    const seconds = Number(response.headers.get('Retry-After'))
    if (![429, 503].includes(response.status) || !(seconds > 0) || left === 0) return response
    await response.body?.cancel()
    await wait(seconds * 1000, request.signal)
  }
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
