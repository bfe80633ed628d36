import type { Request } from 'express'
import { LRUCache } from 'lru-cache'
import type { Operation } from 'openapi-backend'
import { coalesce } from '../util/helpers.ts'
import { isPublic, parameterNames } from './operations.ts'
import type { Reply } from './response.ts'

export type ResponseCache = ReturnType<typeof createResponseCache>

/** A cached reply, or one that is still being computed. */
type Entry = Promise<Reply | undefined>

type Loaded = { isHit: true; reply: CacheableReply } | { isHit: false; reply: Reply | undefined }
type CacheableReply = Extract<Reply, { representation: unknown }>

const isCacheableReply = (reply: Reply | undefined): reply is CacheableReply =>
  reply !== undefined && 'representation' in reply

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
  // Others than If-None-Match could change the response.
  const headerNames = parameterNames(publicReads, 'header').filter(
    (name) => name !== 'If-None-Match',
  )
  // An entry that is being computed counts with its URL.
  const entries = new LRUCache<string, Entry>({
    maxSize,
    sizeCalculation: (_entry, url) => url.length,
  })
  const currentVersion = coalesce(dataVersion)
  let entriesVersion = ''
  /**
   * Reads that the cache answered, those that it did not, and versions of the data that they have
   * seen.
   */
  const counts = { hit: 0, miss: 0, versions: 0 }

  return { counts, isCacheable, load }

  /** Whether clients can share the response. */
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
   * The reply for a URL: from the cache, or computed and then cached. Throws what `compute` throws.
   */
  async function load(url: string, compute: () => Entry): Promise<Loaded> {
    const version = await currentVersion().catch(() => undefined)
    // The database cannot be read now; the computation reports why.
    if (version === undefined) return { isHit: false, reply: await compute() }
    if (version !== entriesVersion) {
      entries.clear()
      entriesVersion = version
      counts.versions++
    }
    const known = entries.get(url)
    // If the computation of another request fails, perhaps because its client disconnected, this
    // request computes its own.
    const reply = known && (await known.catch(() => undefined))
    if (isCacheableReply(reply)) return { isHit: true, reply }
    counts.miss++
    return { isHit: false, reply: await (known ? compute() : computeAndStore(url, compute)) }
  }

  async function computeAndStore(url: string, compute: () => Entry): Entry {
    const entry = compute()
    entries.set(url, entry)
    // Not if the version has changed meanwhile.
    const isCurrent = () => entries.peek(url) === entry
    try {
      const reply = await entry
      if (!isCurrent()) return reply
      // A string may have two bytes per character.
      if (isCacheableReply(reply))
        entries.set(url, Promise.resolve(reply), {
          size: reply.representation.maxSize + 2 * url.length,
        })
      else entries.delete(url)
      return reply
    } catch (error) {
      if (isCurrent()) entries.delete(url)
      throw error
    }
  }
}

/** A pattern for the URLs of an OpenAPI path template, with any query. */
const urlPattern = (path: string) =>
  new RegExp(`^${path.replaceAll(/[^{}/\w]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`)
