import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import { codedTag, matches } from '../util/etag.ts'
import { type Coding, coded, codingFor, shortest } from './content-encoding.ts'
import { type Notes, notesOf, type OnAnswered, tellOf } from './log.ts'
import { type Limits, standingHeaders } from './rate-limits.ts'
import { hostsIn } from './request.ts'
import { Turns } from './task-queue.ts'

/** An answer of 200 as it goes over the wire, but for what each request has of its own. */
type Representation = { etag: string; headers: string[]; notModifiedHeaders: string[]; body: Buffer }

/** What its notes say it was. */
type Operation = Pick<Notes, 'operation' | 'route'>

/** The codings are made when they are first asked for, each once. */
type KeptAnswer = Representation & {
  version: string
  operation: Operation
  coded: Map<Coding, Promise<Representation> | Representation>
}

export type KeptAnswersOptions = {
  /** Path before `/apps`. */
  prefix: string
  /** Bytes that kept answers may take. */
  maxSize: number
  /** What version the data has now. */
  version: () => Promise<string>
  limits: Limits
  onAnswered: OnAnswered
  isDraining: () => boolean
}

/** Addresses of which it is known that they were asked for; an answer is kept from the second time on. */
const mostSeen = 10_000
/** Characters: what is longer is not kept. */
const longestTarget = 1000

/**
 * Answers anonymous reads that were answered before, while the data has the version that it had then. Each time the database is
 * asked for its version, so nothing is ever older than the last write that was acknowledged before the request came,
 * whoever wrote. Whatever is unusual about a request, it takes the whole way.
 */
export class KeptAnswers {
  readonly #options: KeptAnswersOptions
  readonly #target: RegExp
  readonly #answers: LRUCache<string, KeptAnswer>
  /** Of searches, which are dear to make, answers that were asked for once: apart, so that they push nothing else out. */
  readonly #firsts: LRUCache<string, KeptAnswer>
  readonly #seen = new LRUCache<string, true>({ max: mostSeen })
  /** What is being answered for the first time in a version: who asks for the same meanwhile waits for it. */
  readonly #flights = new Map<string, Flight>()
  readonly #flightOf = new WeakMap<IncomingMessage, Flight>()
  readonly #version: () => Promise<string>
  readonly #turns = new Turns()
  /** Reads that may be answered so: which were, and which took the whole way. */
  readonly counts = { hit: 0, missed: 0 }
  /** How many versions of the data there were. */
  versions = 0
  #lastVersion = ''

  constructor(options: KeptAnswersOptions) {
    this.#options = options
    this.#target = new RegExp(`^${options.prefix.replaceAll('.', '\\.')}/apps(?:/\\d+|\\?.*)?$`)
    const roomForFirsts = Math.ceil(options.maxSize / 4)
    this.#firsts = answersUpTo(roomForFirsts, 1)
    // With room for the codings of the body, each of which is shorter.
    this.#answers = answersUpTo(options.maxSize - roomForFirsts, 3)
    this.#version = shared(options.version)
  }

  /** In front of the listener that answers what is not kept. */
  before(listener: RequestListener): RequestListener {
    return (request, response) => {
      if (!this.#isUsual(request)) return listener(request, response)
      const isFirst = !this.#isAskedAgain(request)
      if (isFirst && !search.test(request.url ?? '')) {
        this.counts.missed++
        return listener(request, response)
      }
      // The whole way says that a limit is exceeded.
      if (this.#options.limits.ofRead(request)?.isExceeded) return listener(request, response)
      const notes = notesOf(request)
      this.#version().then(
        (version) => {
          if (version !== this.#lastVersion) {
            this.#lastVersion = version
            this.versions++
          }
          const target = request.url ?? ''
          this.#turns.add(target, () => this.#answer(version, request, response, notes, isFirst, listener))
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
  take(request: IncomingMessage, response: ServerResponse, etag: string, body: Buffer, notes: Notes): boolean {
    const flight = this.#flightOf.get(request)
    if (!flight) return false
    const common = (response as WithRawNames)
      .getRawHeaderNames()
      .filter((name) => !own.has(name.toLowerCase()))
      .flatMap((name) => [name, String(response.getHeader(name))])
    const { target, version, isFirst, land } = flight
    const { operation, route } = notes
    const kept = { ...representation(common, etag, body), version, operation: { operation, route }, coded: new Map() }
    const answers = isFirst ? this.#firsts : this.#answers
    answers.set(target, kept)
    land()
    // As it is, at first: most are never asked for again.
    this.#send(kept, request, response, notes, isFirst ? undefined : codingOf(request))
    return true
  }

  #isUsual({ method, url = '', headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
    return (
      (method === 'GET' || method === 'HEAD') &&
      url.length <= longestTarget &&
      this.#target.test(url) &&
      httpVersion === '1.1' &&
      headers.authorization === undefined &&
      (headers.accept === undefined || usualAccept.test(headers.accept)) &&
      headers.expect === undefined &&
      headers['content-length'] === undefined &&
      headers['transfer-encoding'] === undefined &&
      // Another number of them is refused, or HTTP/1.0's, on the whole way.
      hostsIn(rawHeaders) === 1 &&
      !this.#options.isDraining()
    )
  }

  #isAskedAgain({ url = '' }: IncomingMessage): boolean {
    if (this.#seen.get(url)) return true
    this.#seen.set(url, true)
    return false
  }

  #answer(
    version: string,
    request: IncomingMessage,
    response: ServerResponse,
    notes: Notes,
    isFirst: boolean,
    listener: RequestListener,
  ) {
    const target = request.url ?? ''
    const kept = this.#keptOf(target)
    if (kept?.version === version) return this.#sendKept(kept, request, response, notes)
    const flight = this.#flights.get(target)
    if (flight?.version !== version) return this.#fly(version, request, response, isFirst, listener)
    flight.landed.then(() => {
      const landed = this.#keptOf(target)
      if (landed?.version === version) this.#sendKept(landed, request, response, notes)
      else listener(request, response)
    })
  }

  #keptOf(target: string): KeptAnswer | undefined {
    const first = this.#firsts.get(target)
    if (first) {
      this.#firsts.delete(target)
      this.#answers.set(target, first)
    }
    return this.#answers.get(target)
  }

  #fly(
    version: string,
    request: IncomingMessage,
    response: ServerResponse,
    isFirst: boolean,
    listener: RequestListener,
  ) {
    this.counts.missed++
    const target = request.url ?? ''
    const { promise: landed, resolve } = Promise.withResolvers<void>()
    const flight = {
      target,
      version,
      isFirst,
      landed,
      land: () => {
        if (this.#flights.get(target) === flight) this.#flights.delete(target)
        resolve()
      },
    }
    this.#flights.set(target, flight)
    this.#flightOf.set(request, flight)
    // Where it was answered otherwise, or not at all, since its client is gone.
    response.once('close', flight.land)
    listener(request, response)
  }

  /** What is not answered by Express is told of here. */
  #sendKept(kept: KeptAnswer, request: IncomingMessage, response: ServerResponse, notes: Notes) {
    this.counts.hit++
    notes.isKept = true
    // For the version of the data, and for whoever made this answer.
    notes.spent = { waiting: performance.now() - notes.started, sql: 0 }
    notes.operation = kept.operation.operation
    notes.route = kept.operation.route
    tellOf(request, response, notes, this.#options.onAnswered)
    this.#send(kept, request, response, notes, codingOf(request))
  }

  #send(
    kept: KeptAnswer,
    request: IncomingMessage,
    response: ServerResponse,
    notes: Notes,
    coding: Coding | undefined,
  ) {
    const { id } = notes
    const standing = this.#options.limits.ofRead(request)
    const its = standing ? standingHeaders(standing) : []
    const send = ({ etag, headers, notModifiedHeaders, body }: Representation) => {
      const ifNoneMatch = request.headers['if-none-match']
      if (ifNoneMatch !== undefined && matches(ifNoneMatch, etag)) {
        response.writeHead(304, [...notModifiedHeaders, 'X-Request-Id', id, ...its]).end()
      } else {
        notes.bytes = body.length
        response.writeHead(200, [...headers, 'X-Request-Id', id, ...its])
        response.end(request.method === 'HEAD' ? undefined : body)
      }
    }
    const chosen = inCoding(kept, coding)
    if (chosen instanceof Promise) chosen.then(send)
    else send(chosen)
  }
}

const answersUpTo = (maxSize: number, bodies: number) =>
  new LRUCache<string, KeptAnswer>({
    maxSize,
    sizeCalculation: ({ body, headers }, target) => bodies * body.length + 4 * target.length + 100 * headers.length,
  })

const codingOf = ({ headers }: IncomingMessage) => codingFor(headers['accept-encoding'])

function representation(common: string[], etag: string, body: Buffer, coding?: Coding): Representation {
  const notModifiedHeaders = [...common, 'ETag', etag, ...(coding ? ['Content-Encoding', coding] : [])]
  const ofBody = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length)]
  return { etag, headers: [...notModifiedHeaders, ...ofBody], notModifiedHeaders, body }
}

function inCoding(kept: KeptAnswer, coding: Coding | undefined): Representation | Promise<Representation> {
  if (coding === undefined || kept.body.length <= shortest) return kept
  const known = kept.coded.get(coding)
  if (known) return known
  const making = coded[coding](kept.body).then((body) => {
    // Without the tag, which ends them.
    const common = kept.notModifiedHeaders.slice(0, -2)
    const made = representation(common, codedTag(kept.etag, coding), body, coding)
    kept.coded.set(coding, made)
    return made
  })
  // As it is, where the coding fails: for want of memory.
  const safe = making.catch(() => kept)
  kept.coded.set(coding, safe)
  return safe
}

/** Its target is as it was sent: Express takes the prefix off. */
type Flight = { target: string; version: string; isFirst: boolean; landed: Promise<void>; land: () => void }

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
