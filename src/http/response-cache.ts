import { setImmediate } from 'node:timers/promises'
import type { Request } from 'express'
import { LRUCache } from 'lru-cache'
import type { Operation } from 'openapi-backend'
import { ServiceError } from '../contract/errors.ts'
import { isPublic, parameterNames } from './document-operations.ts'
import type { ReadReply } from './response.ts'

export type ResponseCache = ReturnType<typeof createResponseCache>

/** Characters. Requests with a longer URL or ETag bypass the cache. */
const maxLength = 1000

/**
 * Caches replies to anonymous reads until the version of the public data changes. Each request asks
 * the database for the version before it uses the cache, so no reply is older than the last write
 * that any process acknowledged before the request. Concurrent requests for one URL share one
 * computation.
 */
export function createResponseCache(
  operations: Operation[],
  maxSize: number,
  dataVersion: () => Promise<string>,
) {
  const publicReads = operations.filter(
    (operation) => operation.method === 'get' && isPublic(operation),
  )
  const urls = publicReads.map(({ path }) => urlPattern(path))
  // A header that an operation declares may change its response; If-None-Match only its status.
  const headerNames = parameterNames(publicReads, 'header').filter(
    (name) => name !== 'If-None-Match',
  )
  const entries = new LRUCache<string, ReadReply>({
    maxSize,
    // A string may have two bytes per character.
    sizeCalculation: ({ representation }, url) => representation.maxSize + 2 * url.length,
  })
  /** Computations in progress, for the version of the entries. */
  let pending = new Map<string, { reply: Promise<ReadReply>; clients: Clients }>()
  const currentVersion = coalesce(dataVersion)
  let entriesVersion = ''
  /**
   * Reads that the cache answered, those that it did not, and versions of the data that they have
   * seen.
   */
  const counts = { hit: 0, miss: 0, versions: 0 }

  return { counts, isCacheable, load }

  /** Whether clients can share the response to a request. */
  function isCacheable({ method, url, headers }: Request): boolean {
    return (
      (method === 'GET' || method === 'HEAD') &&
      url.length <= maxLength &&
      urls.some((pattern) => pattern.test(url)) &&
      headers.authorization === undefined &&
      (headers['if-none-match'] ?? '').length <= maxLength &&
      headerNames.every((name) => headers[name.toLowerCase()] === undefined)
    )
  }

  /**
   * The reply to a request: from the cache, from another request that computes it, or computed and
   * then cached. Throws what `compute` throws, here or for the other request. The signal that
   * `compute` gets is aborted when all clients that share it have disconnected.
   */
  async function load(
    { url, signal }: Pick<Request, 'url' | 'signal'>,
    compute: (signal: AbortSignal) => Promise<ReadReply>,
  ): Promise<ReadReply> {
    const version = await currentVersion().catch(() => undefined)
    // The database cannot be read now; the computation reports why.
    if (version === undefined) return compute(signal)
    if (version !== entriesVersion) {
      entries.clear()
      pending = new Map()
      entriesVersion = version
      counts.versions++
    }
    const cached = entries.get(url)
    if (cached) return cached
    const shared = pending.get(url)
    if (shared && !shared.clients.haveGone.aborted) {
      shared.clients.add(signal)
      try {
        return await shared.reply
      } catch (error) {
        // If the other request was refused, perhaps for its `Accept` header, this one may not be.
        if (!(error instanceof ServiceError) || error.code === 'unavailable') throw error
      }
    }
    counts.miss++
    const current = pending
    const clients = new Clients(signal)
    const computing = compute(clients.haveGone)
    pending.set(url, { reply: computing, clients })
    try {
      const reply = await computing
      if (current === pending) entries.set(url, reply)
      return reply
    } finally {
      current.delete(url)
    }
  }
}

/** The clients that share a computation. */
class Clients {
  readonly #controller = new AbortController()
  #count = 0

  constructor(signal: AbortSignal) {
    this.add(signal)
  }

  /** Aborted when the last of them has disconnected. */
  get haveGone(): AbortSignal {
    return this.#controller.signal
  }

  /** Adds the client whose disconnection aborts the signal. */
  add(signal: AbortSignal) {
    this.#count++
    const leave = () => {
      this.#count--
      if (this.#count === 0) this.#controller.abort()
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  }
}

/** A pattern for the URLs of an OpenAPI path template, with any query. */
const urlPattern = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`)

/**
 * Returns a function that runs `call` once at a time. Calls that arrive in one turn of the event
 * loop, or while one is running, share the next one, so each gets a result that was computed after
 * it arrived.
 */
function coalesce<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined
  return () => {
    next ??= Promise.all([running, setImmediate()]).then(() => {
      next = undefined
      const result = call()
      running = result.catch(() => {})
      return result
    })
    return next
  }
}
