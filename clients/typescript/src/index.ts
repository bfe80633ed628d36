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

/** What the service refused, and why: `data.code`, and what else comes with that. */
export class AppsError<Data extends { code: string } = { code: string }> extends Error {
  override readonly name = 'AppsError'
  readonly status: number
  readonly data: Data
  /** To be told to the operators. */
  readonly requestId: string | null

  constructor(message: string, data: Data, { status, headers }: Response) {
    super(message)
    this.status = status
    this.data = data
    this.requestId = headers.get('X-Request-Id')
  }
}

/** The data of an answer; throws an AppsError where the service refused. */
export function dataOf<Success extends Envelope, Error extends Failure>(
  result: Result<Success, Error>,
): Success['data'] {
  const { data, error, response } = result
  if (data !== undefined) return data.data
  // A proxy before the service answers in no envelope.
  if (error?.data?.code === undefined) throw new Error(`The service answered ${response.status}.`)
  throw new AppsError(error.message, error.data, response)
}

export type AppsClient = Client<paths> & {
  /** The apps of all pages, each page asked for when it is reached. */
  allApps: (query?: Omit<ListQuery, 'page'>) => AsyncGenerator<AppSummary, void>
}

export type Options = {
  /** How often a request is sent again that was answered 429 or 503; 3 by itself. */
  retries?: number
}

/** A client of the service at an address; without a key it reads. */
export function createClient(baseUrl: string, key?: string, { retries = 3 }: Options = {}): AppsClient {
  const client = createFetchClient<paths>({
    baseUrl,
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    fetch: (request) => fetchPatiently(request, retries),
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

/** Nothing was done where the answer is 429, nor where it is 503; both say how long to wait. */
async function fetchPatiently(request: Request, retries: number): Promise<Response> {
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
