import { setImmediate } from 'node:timers/promises'
import type { Request, RequestHandler, Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { OpenAPIBackend } from 'openapi-backend'
import { required } from '../util/helpers.ts'
import { callOperation } from './api.ts'
import type { OperationFacts } from './operations.ts'
import {
  type Representation,
  representationOf,
  sendRepresentation,
  sendResponse,
} from './response.ts'

/**
 * The step that answers requests to operations: reads from the cache, if there is one and they may
 * be shared; all others by a call of the operation. Other paths go on.
 */
export const answerOperations =
  (api: OpenAPIBackend, cache: ResponseCache | undefined): RequestHandler =>
  async (request, response, next) => {
    const { operation } = response.context
    if (!operation?.isRead) {
      const result = await callOperation(api, request, response, request.signal)
      return result ? sendResponse(response, result) : next()
    }
    const read = async (signal: AbortSignal) => {
      const result = await callOperation(api, request, response, signal)
      return representationOf(required(result, 'the response to a read'), request)
    }
    const representation =
      cache && isShareable(operation, request)
        ? await cache.load(request, response, read)
        : await read(request.signal)
    return sendRepresentation(request, response, representation)
  }

/**
 * Characters. Requests with a longer URL or ETag bypass the cache. The document refuses longer ETags,
 * and clients that share a response must not share that refusal.
 */
const maxLength = 1000

/** Whether clients can share the response to a read. */
const isShareable = ({ isPublic, headers: names }: OperationFacts, { url, headers }: Request) =>
  isPublic &&
  url.length <= maxLength &&
  headers.authorization === undefined &&
  (headers['if-none-match'] ?? '').length <= maxLength &&
  // A header that an operation declares may change its response; If-None-Match only its status.
  names.every((name) => name === 'If-None-Match' || headers[name.toLowerCase()] === undefined)

type SharedRequest = Pick<Request, 'url' | 'signal'>

/** A computation in progress, and the clients that share it. */
type Pending = { representation: Promise<Representation>; clients: Clients }

/**
 * Caches responses to anonymous reads until the version of the public data changes. Each request
 * asks the database for the version before it uses the cache, so no response is older than the last
 * write that any process acknowledged before the request. Concurrent requests for one URL share one
 * computation.
 */
export class ResponseCache {
  readonly #entries: LRUCache<string, Representation>
  /** Computations in progress, for the version of the entries. */
  #pending = new Map<string, Pending>()
  readonly #currentVersion: () => Promise<string>
  #entriesVersion = ''
  /**
   * Reads that the cache answered, those that it did not, and versions of the data that they have
   * seen.
   */
  readonly counts = { hit: 0, miss: 0, versions: 0 }

  /** `maxSize` is in bytes. */
  constructor(maxSize: number, dataVersion: () => Promise<string>) {
    this.#currentVersion = coalesce(dataVersion)
    this.#entries = new LRUCache({ maxSize })
  }

  /**
   * The response to a request: from the cache, from another request that computes it, or computed
   * and then cached. Throws what `compute` throws, here or for the other request: requests for one
   * URL differ in nothing that a handler sees. The signal that `compute` gets is aborted when all
   * clients that share it have disconnected. A hit must not read the request's signal: Node makes
   * one at the first read, which would be most of a hit's garbage.
   */
  async load(
    request: SharedRequest,
    { context }: Pick<Response, 'context'>,
    compute: (signal: AbortSignal) => Promise<Representation>,
  ): Promise<Representation> {
    const version = await this.#currentVersion().catch(() => undefined)
    // The database cannot be read now; the computation reports why.
    if (version === undefined) return compute(request.signal)
    if (version !== this.#entriesVersion) this.#clear(version)
    const known = this.#entries.get(request.url) ?? this.#join(request)
    if (!known) return this.#compute(request, compute)
    const representation = await known
    context.isCacheHit = true
    this.counts.hit++
    return representation
  }

  #clear(version: string) {
    this.#entries.clear()
    this.#pending = new Map()
    this.#entriesVersion = version
    this.counts.versions++
  }

  /** The computation of another request, if there is one that goes on. */
  #join({ url, signal }: SharedRequest): Promise<Representation> | undefined {
    const pending = this.#pending.get(url)
    if (!pending || pending.clients.haveGone.aborted) return undefined
    pending.clients.add(signal)
    return pending.representation
  }

  async #compute(
    { url, signal }: SharedRequest,
    compute: (signal: AbortSignal) => Promise<Representation>,
  ): Promise<Representation> {
    this.counts.miss++
    const pending = this.#pending
    const clients = new Clients(signal)
    const computing = compute(clients.haveGone)
    pending.set(url, { representation: computing, clients })
    try {
      const representation = await computing
      // Another version has not begun meanwhile.
      if (pending === this.#pending)
        // A string may have two bytes per character.
        this.#entries.set(url, representation, { size: representation.maxSize + 2 * url.length })
      return representation
    } finally {
      pending.delete(url)
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
