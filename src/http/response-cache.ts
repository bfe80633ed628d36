import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { encodedEtag, matchesIfNoneMatch } from '../util/etag.ts'
import { type Coding, encoders, minEncodedLength, negotiateCoding } from './content-encoding.ts'
import { createLogContext, type OnResponse, observeResponse, type RequestLogContext } from './log.ts'
import { type RateLimits, rateLimitHeaders } from './rate-limits.ts'
import { countHosts } from './request.ts'
import { TaskQueue } from './task-queue.ts'

/** An answer of 200 as it goes over the wire, but for what each request has of its own. */
type Representation = { etag: string; headers: string[]; notModifiedHeaders: string[]; body: Buffer }

/** What its notes say it was. */
type Operation = Pick<RequestLogContext, 'operation' | 'route'>

/** The codings are made when they are first asked for, each once. */
type CachedResponse = Representation & {
  version: string
  operation: Operation
  encoded: Map<Coding, Promise<Representation> | Representation>
}

export type ResponseCacheOptions = {
  /** Path before `/apps`. */
  prefix: string
  /** Bytes that cached responses may take. */
  maxSize: number
  /** What version the data has now. */
  dataVersion: () => Promise<string>
  limits: RateLimits
  onResponse: OnResponse
  isDraining: () => boolean
}

/** Addresses of which it is known that they were asked for; an answer is kept from the second time on. */
const maxSeen = 10_000
/** Characters: what is longer is not kept. */
const maxTargetLength = 1000

/**
 * Answers anonymous reads that were answered before, while the data has the version that it had then. Each time the database is
 * asked for its version, so nothing is ever older than the last write that was acknowledged before the request came,
 * whoever wrote. Whatever is unusual about a request, it takes the whole way.
 */
export class ResponseCache {
  readonly #options: ResponseCacheOptions
  readonly #target: RegExp
  readonly #responses: LRUCache<string, CachedResponse>
  /** Of searches, which are dear to make, answers that were asked for once: apart, so that they push nothing else out. */
  readonly #firsts: LRUCache<string, CachedResponse>
  readonly #seen = new LRUCache<string, true>({ max: maxSeen })
  /** What is being answered for the first time in a version: who asks for the same meanwhile waits for it. */
  readonly #inFlight = new Map<string, InFlight>()
  readonly #inFlightByRequest = new WeakMap<IncomingMessage, InFlight>()
  readonly #version: () => Promise<string>
  readonly #queue = new TaskQueue()
  /** Reads that may be answered so: which were, and which took the whole way. */
  readonly counts = { hit: 0, missed: 0 }
  /** How many versions of the data there were. */
  versions = 0
  #lastVersion = ''

  constructor(options: ResponseCacheOptions) {
    this.#options = options
    this.#target = new RegExp(`^${options.prefix.replaceAll('.', '\\.')}/apps(?:/\\d+|\\?.*)?$`)
    const roomForFirsts = Math.ceil(options.maxSize / 4)
    this.#firsts = createLru(roomForFirsts, 1)
    // With room for the codings of the body, each of which is shorter.
    this.#responses = createLru(options.maxSize - roomForFirsts, 3)
    this.#version = shared(options.dataVersion)
  }

  /** In front of the listener that answers what is not kept. */
  wrap(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (!this.#isUsual(request)) return listener(request, response)
      const isFirst = !this.#isAskedAgain(request)
      if (isFirst && !search.test(request.url ?? '')) {
        this.counts.missed++
        return listener(request, response)
      }
      // The whole way says that a limit is exceeded.
      if (this.#options.limits.countRead(request)?.isExceeded) return listener(request, response)
      const logContext = createLogContext(request)
      this.#version().then(
        (version) => {
          if (version !== this.#lastVersion) {
            this.#lastVersion = version
            this.versions++
          }
          const target = request.url ?? ''
          this.#queue.add(target, () => this.#respond(version, request, response, logContext, isFirst, listener))
        },
        // The whole way says that the database cannot be asked.
        () => listener(request, response),
      )
    }
  }

  /**
   * Keeps and sends the answer to a request of which the version was known before its rows were read, and says so; others are
   * passed over. But for those of the body, its headers are set.
   */
  store(
    request: IncomingMessage,
    response: ServerResponse,
    etag: string,
    body: Buffer,
    logContext: RequestLogContext,
  ): boolean {
    const inFlight = this.#inFlightByRequest.get(request)
    if (!inFlight) return false
    const common = (response as WithRawNames)
      .getRawHeaderNames()
      .filter((name) => !own.has(name.toLowerCase()))
      .flatMap((name) => [name, String(response.getHeader(name))])
    const { target, version, isFirst, settle } = inFlight
    const { operation, route } = logContext
    const cached = {
      ...representation(common, etag, body),
      version,
      operation: { operation, route },
      encoded: new Map(),
    }
    const responses = isFirst ? this.#firsts : this.#responses
    responses.set(target, cached)
    settle()
    // As it is, at first: most are never asked for again.
    this.#send(cached, request, response, logContext, isFirst ? undefined : codingOf(request))
    return true
  }

  #isUsual({ method, url = '', headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
    return (
      (method === 'GET' || method === 'HEAD') &&
      url.length <= maxTargetLength &&
      this.#target.test(url) &&
      httpVersion === '1.1' &&
      headers.authorization === undefined &&
      (headers.accept === undefined || usualAccept.test(headers.accept)) &&
      headers.expect === undefined &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      // Another number of them is refused, or HTTP/1.0's, on the whole way.
      countHosts(rawHeaders) === 1 &&
      !this.#options.isDraining()
    )
  }

  #isAskedAgain({ url = '' }: IncomingMessage): boolean {
    if (this.#seen.get(url)) return true
    this.#seen.set(url, true)
    return false
  }

  #respond(
    version: string,
    request: IncomingMessage,
    response: ServerResponse,
    logContext: RequestLogContext,
    isFirst: boolean,
    listener: RequestListener,
  ) {
    const target = request.url ?? ''
    const cached = this.#cachedFor(target)
    if (cached?.version === version) return this.#sendCached(cached, request, response, logContext)
    const inFlight = this.#inFlight.get(target)
    if (inFlight?.version !== version) return this.#forward(version, request, response, isFirst, listener)
    inFlight.settled.then(() => {
      const settled = this.#cachedFor(target)
      if (settled?.version === version) this.#sendCached(settled, request, response, logContext)
      else listener(request, response)
    })
  }

  #cachedFor(target: string): CachedResponse | undefined {
    const first = this.#firsts.get(target)
    if (first) {
      this.#firsts.delete(target)
      this.#responses.set(target, first)
    }
    return this.#responses.get(target)
  }

  #forward(
    version: string,
    request: IncomingMessage,
    response: ServerResponse,
    isFirst: boolean,
    listener: RequestListener,
  ) {
    this.counts.missed++
    const target = request.url ?? ''
    const { promise: settled, resolve } = Promise.withResolvers<void>()
    const inFlight = {
      target,
      version,
      isFirst,
      settled,
      settle: () => {
        if (this.#inFlight.get(target) === inFlight) this.#inFlight.delete(target)
        resolve()
      },
    }
    this.#inFlight.set(target, inFlight)
    this.#inFlightByRequest.set(request, inFlight)
    // Where it was answered otherwise, or not at all, since its client is gone.
    response.once('close', inFlight.settle)
    listener(request, response)
  }

  /** What is not answered by Express is told of here. */
  #sendCached(
    cached: CachedResponse,
    request: IncomingMessage,
    response: ServerResponse,
    logContext: RequestLogContext,
  ) {
    this.counts.hit++
    logContext.isCacheHit = true
    // For the version of the data, and for whoever made this answer.
    logContext.timing = { waiting: performance.now() - logContext.started, sql: 0 }
    logContext.operation = cached.operation.operation
    logContext.route = cached.operation.route
    observeResponse(request, response, logContext, this.#options.onResponse)
    this.#send(cached, request, response, logContext, codingOf(request))
  }

  #send(
    cached: CachedResponse,
    request: IncomingMessage,
    response: ServerResponse,
    logContext: RequestLogContext,
    coding: Coding | undefined,
  ) {
    const { id } = logContext
    const quota = this.#options.limits.countRead(request)
    const quotaHeaders = quota ? rateLimitHeaders(quota) : []
    const send = ({ etag, headers, notModifiedHeaders, body }: Representation) => {
      const ifNoneMatch = request.headers['if-none-match']
      if (ifNoneMatch !== undefined && matchesIfNoneMatch(ifNoneMatch, etag)) {
        response.writeHead(304, [...notModifiedHeaders, 'X-Request-Id', id, ...quotaHeaders]).end()
      } else {
        logContext.bytes = body.length
        response.writeHead(200, [...headers, 'X-Request-Id', id, ...quotaHeaders])
        response.end(request.method === 'HEAD' ? undefined : body)
      }
    }
    const chosen = encodedAs(cached, coding)
    if (chosen instanceof Promise) chosen.then(send)
    else send(chosen)
  }
}

const createLru = (maxSize: number, bodies: number) =>
  new LRUCache<string, CachedResponse>({
    maxSize,
    sizeCalculation: ({ body, headers }, target) => bodies * body.length + 4 * target.length + 100 * headers.length,
  })

const codingOf = ({ headers }: IncomingMessage) => negotiateCoding(headers['accept-encoding'])

function representation(common: string[], etag: string, body: Buffer, coding?: Coding): Representation {
  const notModifiedHeaders = [...common, 'ETag', etag, ...(coding ? ['Content-Encoding', coding] : [])]
  const ofBody = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length)]
  return { etag, headers: [...notModifiedHeaders, ...ofBody], notModifiedHeaders, body }
}

function encodedAs(cached: CachedResponse, coding: Coding | undefined): Representation | Promise<Representation> {
  if (coding === undefined || cached.body.length <= minEncodedLength) return cached
  const known = cached.encoded.get(coding)
  if (known) return known
  const making = encoders[coding](cached.body).then((body) => {
    // Without the tag, which ends them.
    const common = cached.notModifiedHeaders.slice(0, -2)
    const made = representation(common, encodedEtag(cached.etag, coding), body, coding)
    cached.encoded.set(coding, made)
    return made
  })
  // As it is, where the coding fails: for want of memory.
  const safe = making.catch(() => cached)
  cached.encoded.set(coding, safe)
  return safe
}

/** Its target is as it was sent: Express takes the prefix off. */
type InFlight = { target: string; version: string; isFirst: boolean; settled: Promise<void>; settle: () => void }

/** Node has it since 15.4, as headers are written; its types lack it. */
type WithRawNames = ServerResponse & { getRawHeaderNames: () => string[] }

/** What an answer has of its own. */
const own = new Set([
  ...['x-request-id', 'ratelimit-policy', 'ratelimit', 'date', 'connection', 'keep-alive'],
  ...['etag', 'content-type', 'content-length'],
])

const search = /[?&]search=/

const usualAccept = /^(?:\*\/\*|application\/json)$/

/** One asking under way, and one that begins after it for all who came meanwhile: each is told what holds after it came. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  let waiting: Promise<T> | undefined

  function begin(): Promise<T> {
    const asking = ask()
    const done = () => {
      if (underWay === asking) underWay = undefined
    }
    underWay = asking
    asking.then(done, done)
    return asking
  }
  const beginAfterwards = () => {
    waiting = undefined
    return begin()
  }

  return () => {
    if (!underWay) return begin()
    waiting ??= underWay.then(beginAfterwards, beginAfterwards)
    return waiting
  }
}
