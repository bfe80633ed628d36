import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import type { Caller } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { createNetworkResolver } from './client-network.ts'

/** Seconds that a quota is for. They begin with the first request that counts. */
const windowSeconds = 60
/** Developers, or networks, whose requests are counted; of more, those that came last longest ago begin anew. */
const maxTracked = 100_000
/** Keys of which it is known when they were accepted. */
const maxAcceptedKeys = 10_000

/** How somebody stands by a limit; the texts are of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4. */
export type Quota = Readonly<{ policy: string; service: string; seconds: number; isExceeded: boolean }>

/** Counts requests within this process, by a clock that nobody sets. */
class RateLimit {
  readonly #name: string
  readonly #maxRequests: number
  readonly #policy: string
  readonly #excess: string
  /** By `max` it would take the room of all, 3 MB, before anybody is counted. */
  readonly #counts = new LRUCache<string | number, { used: number; until: number }>({
    maxSize: maxTracked,
    sizeCalculation: () => 1,
  })
  /** How many requests it has refused. */
  refused = 0

  /** `excess` says in words what there was too much of. */
  constructor(name: string, maxRequests: number, excess: string) {
    this.#name = name
    this.#maxRequests = maxRequests
    this.#policy = `"${name}";q=${maxRequests};w=${windowSeconds}`
    this.#excess = excess
  }

  count(whose: string | number): Quota {
    const now = performance.now()
    let count = this.#counts.get(whose)
    if (!count || count.until <= now) {
      count = { used: 0, until: now + windowSeconds * 1000 }
      this.#counts.set(whose, count)
    }
    count.used++
    return this.#quotaFor(count.used, count.until - now)
  }

  /** What one more would find who has nothing left; undefined of all others. Counts nothing. */
  exhaustedQuota(whose: string | number): Quota | undefined {
    const now = performance.now()
    const count = this.#counts.get(whose)
    if (!count || count.until <= now || count.used < this.#maxRequests) return undefined
    return this.#quotaFor(this.#maxRequests + 1, count.until - now)
  }

  /** Tells an answer how it stands, and throws `rate_limited` where that is beyond the limit. */
  enforce(quota: Quota, response: ServerResponse) {
    addRateLimitHeaders(quota, response)
    if (!quota.isExceeded) return
    this.refused++
    const { seconds: retryAfter } = quota
    throw new ServiceError('rate_limited', `${this.#excess}; try again in ${retryAfter} s.`, { retryAfter })
  }

  #quotaFor(used: number, milliseconds: number): Quota {
    const seconds = Math.ceil(milliseconds / 1000)
    return {
      policy: this.#policy,
      service: `"${this.#name}";r=${Math.max(0, this.#maxRequests - used)};t=${seconds}`,
      seconds,
      isExceeded: used > this.#maxRequests,
    }
  }
}

declare module 'node:http' {
  interface IncomingMessage {
    /** Where it was counted as a read: a WeakMap would cost a cached response as much as the counting does. */
    readQuota?: Quota
  }
}

/** As header names and values in turn. */
export const rateLimitHeaders = ({ policy, service }: Quota) => ['RateLimit-Policy', policy, 'RateLimit', service]

/** A request may be counted by several limits. */
function addRateLimitHeaders({ policy, service }: Quota, response: ServerResponse) {
  const append = (name: string, item: string) => {
    const before = response.getHeader(name)
    response.setHeader(name, before === undefined ? item : `${before}, ${item}`)
  }
  append('RateLimit-Policy', policy)
  append('RateLimit', service)
}

export type RateLimitsConfig = Pick<Config, 'writeLimit' | 'refusedKeyLimit' | 'readLimit' | 'trustProxy'>

/**
 * How often somebody may ask. This process counts alone: several servers let through as much each. A limit of 0 is none.
 * Whatever is counted tells its answer how its sender stands, and is refused with `rate_limited` beyond the limit.
 */
export class RateLimits {
  readonly #writes: RateLimit | undefined
  readonly #refusedKeys: RateLimit | undefined
  readonly #reads: RateLimit | undefined
  readonly #networkOf: (request: IncomingMessage) => string
  /** By the key's hash, so that what is remembered is no secret, the time until which it counts for accepted. */
  readonly #accepted = new LRUCache<string, number>({ max: maxAcceptedKeys })

  constructor({ writeLimit, refusedKeyLimit, readLimit, trustProxy }: RateLimitsConfig) {
    const limit = (...[name, maxRequests, excess]: ConstructorParameters<typeof RateLimit>) =>
      maxRequests === 0 ? undefined : new RateLimit(name, maxRequests, excess)
    this.#writes = limit('writes', writeLimit, 'Too many writes with keys of this developer')
    this.#refusedKeys = limit('refused-keys', refusedKeyLimit, 'Too many keys from this address were refused')
    this.#reads = limit('reads', readLimit, 'Too many reads from this address')
    this.#networkOf = createNetworkResolver(trustProxy)
  }

  /** How many requests were refused, by the name of the limit. */
  get refused(): Record<string, number> {
    return {
      writes: this.#writes?.refused ?? 0,
      'refused-keys': this.#refusedKeys?.refused ?? 0,
      reads: this.#reads?.refused ?? 0,
    }
  }

  /** Counts a read, by its address and once, however often it is asked; undefined where reads have no limit. */
  countRead(request: IncomingMessage): Quota | undefined {
    if (!this.#reads) return undefined
    request.readQuota ??= this.#reads.count(this.#networkOf(request))
    return request.readQuota
  }

  limitRead(request: IncomingMessage, response: ServerResponse) {
    const quota = this.countRead(request)
    if (quota) this.#reads?.enforce(quota, response)
  }

  /** By the developer, whichever of their keys it comes with. */
  limitWrite({ developerId }: Caller, response: ServerResponse) {
    this.#writes?.enforce(this.#writes.count(developerId), response)
  }

  /**
   * Has the key of a request looked at, and counts it by its address where it is refused. From an address with too many of
   * them, a key is looked at only if it was accepted within the last minute: so those who share the address go on.
   */
  async limitRefusedKeys<T>(
    request: IncomingMessage,
    response: ServerResponse,
    authenticate: () => Promise<T>,
  ): Promise<T> {
    const limit = this.#refusedKeys
    const { authorization } = request.headers
    if (!limit || authorization === undefined) return authenticate()
    const network = this.#networkOf(request)
    const key = hash('sha256', authorization)
    const isKnown = performance.now() < (this.#accepted.get(key) ?? 0)
    const exhausted = isKnown ? undefined : limit.exhaustedQuota(network)
    if (exhausted) limit.enforce(exhausted, response)
    try {
      const caller = await authenticate()
      this.#accepted.set(key, performance.now() + windowSeconds * 1000)
      return caller
    } catch (error) {
      if (error instanceof ServiceError && error.details.refusedKey) {
        this.#accepted.delete(key)
        addRateLimitHeaders(limit.count(network), response)
      }
      throw error
    }
  }
}
