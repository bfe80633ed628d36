import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { OpenAPIBackend } from 'openapi-backend'
import { measure, withTiming } from '../util/timing.ts'
import { type RateLimits, rateLimitHeaders } from './rate-limits.ts'
import { acceptsJson, findRepeatedHeaders, isPublic, parametersOf, parseHead, validateRequest } from './request.ts'
import { type Representation, sendRepresentation } from './response.ts'

type CachedResponse = {
  representation: Representation
  /** Names and values in turn, without those of the body and of a single request. */
  headers: string[]
  operation: string | undefined
  route: string | undefined
}

/** The response is undefined if the request failed or its client disconnected. */
type Entry = { version: string; response: Promise<CachedResponse | undefined> }

export type ResponseCacheOptions = {
  api: OpenAPIBackend
  /** Path before the operations' paths. */
  prefix: string
  /** Bytes. */
  maxSize: number
  /** The version that the data has now. */
  dataVersion: () => Promise<string>
  limits: RateLimits
}

/** Characters. Responses to longer URLs are not cached. */
const maxUrlLength = 1000

/**
 * Caches responses to anonymous reads, for as long as the data has the version they were made from. Each request asks the
 * database for the version, so no response is older than the last write acknowledged before the request, by whatever process.
 * Concurrent requests for one URL share one computation. Unusual requests bypass the cache.
 */
export class ResponseCache {
  readonly #api: OpenAPIBackend
  readonly #prefix: string
  readonly #limits: RateLimits
  readonly #urls: RegExp[]
  /** Header parameters, in lower case. */
  readonly #headerParameters: string[]
  readonly #entries: LRUCache<string, Entry>
  readonly #version: () => Promise<string>
  #lastVersion = ''
  /** Cacheable reads, by whether the cache had the response. */
  readonly counts = { hit: 0, missed: 0 }
  /** How many versions of the data requests have seen. */
  versions = 0

  constructor({ api, prefix, maxSize, dataVersion, limits }: ResponseCacheOptions) {
    this.#api = api
    this.#prefix = prefix
    this.#limits = limits
    const publicReads = api.getOperations().filter((operation) => operation.method === 'get' && isPublic(operation))
    this.#urls = publicReads.map(({ path }) => compileUrlPattern(prefix + path))
    this.#headerParameters = publicReads
      .flatMap(parametersOf)
      .filter((parameter) => parameter.in === 'header')
      .map(({ name }) => name.toLowerCase())
    // Until it is computed, an entry counts with its URL.
    this.#entries = new LRUCache({ maxSize, sizeCalculation: (_entry, url) => url.length })
    this.#version = coalesce(() => withTiming(undefined, dataVersion))
  }

  /** Responds from the cache, or through the listener, which calls `context.cache` with the response if it can be cached. */
  handle(request: IncomingMessage, response: ServerResponse, listener: RequestListener) {
    if (!this.#isCacheable(request)) return listener(request, response)
    const { context } = response
    context.readQuota = this.#limits.reads?.count(response)
    // The listener sends the 429.
    if (context.readQuota?.isExceeded) return listener(request, response)
    this.#respond(request, response, listener).catch((error: unknown) => {
      context.error = error
      response.destroy()
    })
  }

  /** Whether the response to this request can be shared, and the request passes the checks that every request must pass. */
  #isCacheable(request: IncomingMessage): boolean {
    const { method, url = '', headers, httpVersion } = request
    return (
      (method === 'GET' || method === 'HEAD') &&
      url.length <= maxUrlLength &&
      this.#urls.some((pattern) => pattern.test(url)) &&
      httpVersion === '1.1' &&
      headers.authorization === undefined &&
      headers.expect === undefined &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      findRepeatedHeaders(request).length === 0 &&
      acceptsJson(headers.accept) &&
      (this.#headerParameters.every((name) => headers[name] === undefined) || this.#isValid(request))
    )
  }

  #isValid(request: IncomingMessage): boolean {
    const head = parseHead(request, (request.url ?? '').slice(this.#prefix.length))
    const operation = this.#api.matchOperation(head)
    if (!operation) return false
    try {
      validateRequest(this.#api, operation, head)
      return true
    } catch {
      return false
    }
  }

  async #respond(request: IncomingMessage, response: ServerResponse, listener: RequestListener) {
    const { context } = response
    const url = request.url ?? ''
    // The listener sends the 503.
    const version = await measure('waiting', this.#version).catch(() => undefined)
    if (version === undefined) return listener(request, response)
    if (version !== this.#lastVersion) {
      this.#lastVersion = version
      this.versions++
    }
    const known = this.#entries.get(url)
    const isHit = known?.version === version
    const entry = isHit ? known : this.#compute(url, version, request, response, listener)
    const cached = await (isHit ? measure('waiting', () => entry.response) : entry.response)
    this.counts[isHit && cached ? 'hit' : 'missed']++
    if (!cached) return isHit ? listener(request, response) : undefined
    const { representation, headers, operation, route } = cached
    context.operation = operation
    context.route = route
    if (isHit) context.isCacheHit = true
    await sendRepresentation(
      request,
      response,
      representation,
      representation.codingFor(request.headers['accept-encoding']),
      [...headers, 'X-Request-Id', context.id, ...(context.readQuota ? rateLimitHeaders(context.readQuota) : [])],
    )
  }

  #compute(
    url: string,
    version: string,
    request: IncomingMessage,
    response: ServerResponse,
    listener: RequestListener,
  ): Entry {
    const { promise, resolve } = Promise.withResolvers<CachedResponse | undefined>()
    const entry = { version, response: promise }
    this.#entries.set(url, entry)
    const { context } = response
    const finish = (cached?: CachedResponse) => {
      resolve(cached)
      if (this.#entries.peek(url) !== entry) return
      if (cached) this.#entries.set(url, { ...entry }, { size: sizeOf(url, cached) })
      else this.#entries.delete(url)
    }
    context.cache = (representation) =>
      finish({ representation, headers: sharedHeaders(response), operation: context.operation, route: context.route })
    response.once('close', finish)
    listener(request, response)
    return entry
  }
}

/** Of a path such as `/apps/{id}`, with any query. */
const compileUrlPattern = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`)

/** Node has getRawHeaderNames since 15.4; its types lack it. */
type WithRawNames = ServerResponse & { getRawHeaderNames: () => string[] }

/** The headers that are the same in all responses to a URL. */
const sharedHeaders = (response: ServerResponse) =>
  (response as WithRawNames)
    .getRawHeaderNames()
    .filter((name) => !ownHeaders.has(name.toLowerCase()))
    .flatMap((name) => [name, String(response.getHeader(name))])

const ownHeaders = new Set(['x-request-id', 'ratelimit-policy', 'ratelimit', 'connection'])

/** Bytes, at most: strings may have two per character. */
const sizeOf = (url: string, { representation, headers }: CachedResponse) =>
  representation.maxSize + 2 * (url.length + headers.reduce((sum, text) => sum + text.length, 0))

/**
 * Calls that arrive while one is running share the next one, which begins after it: so each sees a result that was computed
 * after it arrived.
 */
function coalesce<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined

  function start(): Promise<T> {
    next = undefined
    const current = call().finally(() => {
      if (running === current) running = undefined
    })
    running = current
    return current
  }

  return () => {
    if (!running) return start()
    next ??= running.then(start, start)
    return next
  }
}
