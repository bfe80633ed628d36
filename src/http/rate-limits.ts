import { SocketAddress } from 'node:net'
import type { Response } from 'express'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import { ServiceError } from '../contract/errors.ts'
import { required } from '../util/helpers.ts'

/** Seconds. A window begins with the first request that counts. */
const windowLength = 60
/**
 * Developers or networks that a limit counts. If there are more, the least recently seen is
 * forgotten.
 */
const maxClients = 100_000

type RateLimitOptions = {
  name: string
  /** Requests in a window. */
  limit: number
  /** Begins the message of a 429. */
  message: string
  clientOf: (response: Response) => string | number
}

/** The requests of a client; `end` is by `performance.now()`. */
type Window = { used: number; end: number }

/**
 * Counts the requests of each client in a window. Each process counts for itself, by a monotonic
 * clock.
 */
class RateLimit {
  readonly #options: RateLimitOptions
  /** The option `max` would allocate room for all clients at once, 3 MB. */
  readonly #windows = new LRUCache<string | number, Window>({
    maxSize: maxClients,
    sizeCalculation: () => 1,
  })
  /** The number of refused requests. */
  refused = 0

  constructor(options: RateLimitOptions) {
    this.#options = options
  }

  /** Counts a request by its response. Throws `rate_limited` if its client had none left. */
  enforce(response: Response) {
    const client = this.#options.clientOf(response)
    const window = this.#currentWindow(client) ?? this.#newWindow(client)
    window.used++
    this.#addHeaders(response, window)
    if (window.used > this.#options.limit) throw this.#refuse(window)
  }

  #currentWindow(client: string | number): Window | undefined {
    const window = this.#windows.get(client)
    return window && window.end > performance.now() ? window : undefined
  }

  #newWindow(client: string | number): Window {
    const window = { used: 0, end: performance.now() + windowLength * 1000 }
    this.#windows.set(client, window)
    return window
  }

  /**
   * Adds the headers of draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4, after those of
   * other limits.
   */
  #addHeaders(response: Response, window: Window) {
    const { name, limit } = this.#options
    const left = Math.max(0, limit - window.used)
    response
      .appendHeader('RateLimit-Policy', `"${name}";q=${limit};w=${windowLength}`)
      .appendHeader('RateLimit', `"${name}";r=${left};t=${secondsUntil(window.end)}`)
  }

  #refuse(window: Window): ServiceError {
    this.refused++
    const retryAfter = secondsUntil(window.end)
    return new ServiceError(
      'rate_limited',
      `${this.#options.message}; try again in ${retryAfter} s.`,
      { retryAfter },
    )
  }
}

const secondsUntil = (time: number) => Math.ceil((time - performance.now()) / 1000)

export type RateLimitsConfig = Pick<Config, 'writeLimit' | 'refusedKeyLimit' | 'readLimit'>
export type RateLimits = Readonly<ReturnType<typeof createRateLimits>>

/** Reads and refused keys count by network, writes by developer. A limit of 0 is undefined. */
export function createRateLimits({ writeLimit, refusedKeyLimit, readLimit }: RateLimitsConfig) {
  const create = (options: RateLimitOptions) =>
    options.limit === 0 ? undefined : new RateLimit(options)
  return {
    writes: create({
      name: 'writes',
      limit: writeLimit,
      message: 'Too many writes with keys of this developer',
      clientOf: ({ context }) => required(context.caller, 'the caller of a write').developerId,
    }),
    'refused-keys': create({
      name: 'refused-keys',
      limit: refusedKeyLimit,
      message: 'Too many keys from this address were refused',
      clientOf: networkOf,
    }),
    reads: create({
      name: 'reads',
      limit: readLimit,
      message: 'Too many reads from this address',
      clientOf: networkOf,
    }),
  }
}

/** Characters, with brackets and a port. */
const maxAddressLength = '[0000:0000:0000:0000:0000:0000:255.255.255.255]:65535'.length

/**
 * The network that a request comes from, past trusted proxies: an IPv4 address, or the 56 bits of
 * IPv6 that one household or machine gets as a whole (RIPE-690, section 4.2).
 */
const networkOf = ({ req }: Response) =>
  // Without an address, the client has disconnected.
  networkOfAddress((req.ip ?? '').slice(0, maxAddressLength))

/** Text that is no address is taken as it is: a trusted proxy sent it. */
function networkOfAddress(forwarded: string): string {
  // Some proxies add the port, which puts IPv6 in brackets.
  const address = SocketAddress.parse(forwarded)?.address ?? forwarded
  if (!ipaddr.isValid(address)) return address
  // IPv4 mapped into IPv6 becomes IPv4.
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : ip.toByteArray().slice(0, 7).join(':')
}
