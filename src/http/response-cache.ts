import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { OpenAPIBackend } from 'openapi-backend'
import type { Config } from '../config.ts'
import { coalesce, measure, withTiming } from '../util/helpers.ts'
import type { ServiceBackend } from './api.ts'
import type { RequestContext } from './log.ts'
import { type RateLimits, rateLimitHeaders } from './rate-limits.ts'
import { acceptsJson, findHeaderProblems, isPublic, parameterNames, urlPattern } from './request.ts'
import { type Representation, sendRepresentation } from './response.ts'

type CachedResponse = { representation: Representation } & Pick<RequestContext, 'operation' | 'route'>

/** Undefined if the request failed or its client disconnected. */
type Entry = Promise<CachedResponse | undefined>

export type ResponseCache = ReturnType<typeof createResponseCache>

/** Characters. Requests with a longer URL or ETag bypass the cache. */
const maxLength = 1000

/**
 * Caches responses to anonymous reads until the version of the public data changes. Each request asks the database for the
 * version before it uses the cache, so no response is older than the last write that any process acknowledged before the
 * request. Concurrent requests for one URL share one computation. Unusual requests bypass the cache.
 */
export function createResponseCache(
  api: OpenAPIBackend,
  { prefix, cacheSize: maxSize }: Pick<Config, 'prefix' | 'cacheSize'>,
  { dataVersion }: Pick<ServiceBackend, 'dataVersion'>,
  limits: RateLimits,
  headers: Record<string, string>,
) {
  const publicReads = api.getOperations().filter((operation) => operation.method === 'get' && isPublic(operation))
  const urls = publicReads.map(({ path }) => urlPattern(prefix + path))
  // Others than If-None-Match could change the response.
  const headerParameters = parameterNames(publicReads, 'header').filter((name) => name !== 'If-None-Match')
  const commonHeaders = Object.entries(headers).flat()
  // An entry that is being computed counts with its URL.
  const entries = new LRUCache<string, Entry>({ maxSize, sizeCalculation: (_entry, url) => url.length })
  const currentVersion = coalesce(() => withTiming(undefined, dataVersion))
  let entriesVersion = ''
  /** Cacheable requests, by whether the cache had the response, and versions of the data that they have seen. */
  const counts = { hit: 0, miss: 0, versions: 0 }

  return { handle, counts }

  /** Responds to a read from the cache, or has the listener respond, which passes a response that can be cached to `context.cache`. */
  function handle(request: IncomingMessage, response: ServerResponse, listener: RequestListener) {
    if (!isCacheable(request)) return listener(request, response)
    const { context } = response
    context.readQuota = limits.reads?.count(response)
    // The listener sends the 429.
    if (context.readQuota?.isExceeded) return listener(request, response)
    respond(request, response, listener).catch((error: unknown) => {
      context.error = error
      response.destroy()
    })
  }

  /** Whether clients can share the response, and the request passes the checks that every request must pass. */
  function isCacheable(request: IncomingMessage): boolean {
    const { url = '', headers, httpVersion } = request
    return (
      url.length <= maxLength &&
      urls.some((pattern) => pattern.test(url)) &&
      httpVersion === '1.1' &&
      headers.authorization === undefined &&
      headers.expect === undefined &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      findHeaderProblems(request).length === 0 &&
      acceptsJson(headers.accept) &&
      (headers['if-none-match'] ?? '').length <= maxLength &&
      headerParameters.every((name) => headers[name.toLowerCase()] === undefined)
    )
  }

  async function respond(request: IncomingMessage, response: ServerResponse, listener: RequestListener) {
    const { context } = response
    const version = await measure('waiting', currentVersion).catch(() => undefined)
    // The listener sends the 503. After a disconnect, others would wait for a response that no longer comes.
    if (version === undefined || response.destroyed) return listener(request, response)
    if (version !== entriesVersion) {
      entries.clear()
      entriesVersion = version
      counts.versions++
    }
    const known = entries.get(context.url)
    const cached = await (known ? measure('waiting', () => known) : compute(request, response, listener))
    counts[known && cached ? 'hit' : 'miss']++
    if (!cached) return known ? listener(request, response) : undefined
    const { representation, operation, route } = cached
    const coding = representation.codingFor(request.headers['accept-encoding'])
    // The listener has set the other headers of its response.
    if (!known) return sendRepresentation(request, response, representation, coding)
    Object.assign(context, { operation, route, isCacheHit: true })
    const quotaHeaders = context.readQuota ? rateLimitHeaders(context.readQuota) : []
    const headers = [...commonHeaders, 'X-Request-Id', context.id, ...quotaHeaders]
    await sendRepresentation(request, response, representation, coding, headers)
  }

  /** Adds an entry, and has the listener compute its response. The entry goes if it cannot be cached. */
  function compute(request: IncomingMessage, response: ServerResponse, listener: RequestListener): Entry {
    const { context } = response
    const { url } = context
    const { promise, resolve } = Promise.withResolvers<CachedResponse | undefined>()
    entries.set(url, promise)
    context.cache = (representation) => {
      const cached = { representation, operation: context.operation, route: context.route }
      resolve(cached)
      // Not if the version has changed meanwhile. A string may have two bytes per character.
      const size = representation.maxSize + 2 * url.length
      if (entries.peek(url) === promise) entries.set(url, Promise.resolve(cached), { size })
    }
    response.once('close', () => {
      resolve(undefined)
      if (entries.peek(url) === promise) entries.delete(url)
    })
    listener(request, response)
    return promise
  }
}
