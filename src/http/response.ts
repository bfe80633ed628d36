import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import type { ResponseBody } from '../contract/contract.ts'
import { Bulkhead } from '../util/bulkhead.ts'
import { required } from '../util/helpers.ts'

/** Serializes, tags and sends what handlers return, with conditional requests and compression. */

/** What handlers return. */
export type HandlerResponse = {
  status: number
  headers: Record<string, string | number>
  body?: ResponseBody<unknown>
}

const jsonType = 'application/json; charset=utf-8'

/** The JSON of a success, as it is sent. */
const serialize = ({ message, data }: ResponseBody<unknown>) =>
  JSON.stringify({ success: true, message, data })

/** The response to a read. */
export function representationOf(
  { headers, body }: HandlerResponse,
  { headers: { authorization } }: Request,
): Representation {
  const json = serialize(required(body, 'the body of a read'))
  // Encoded into a separate buffer: a small Buffer in the cache would keep its whole pool alive.
  return new Representation(jsonType, Buffer.from(new TextEncoder().encode(json).buffer), {
    // Caches revalidate at each use, and never share a response between callers.
    'Cache-Control': authorization === undefined ? 'public, no-cache' : 'private, no-cache',
    Vary: 'Authorization, Accept-Encoding',
    ...headers,
  })
}

/** Sends the response to a write, or to OPTIONS. */
export function sendResponse(response: Response, { status, headers, body }: HandlerResponse): void {
  response.status(status).set({ 'Cache-Control': 'no-store', ...headers })
  if (body) response.type(jsonType).send(Buffer.from(serialize(body)))
  else response.end()
}

/**
 * Content codings (RFC 9110, section 8.4.1) in which responses are sent, the one with the shortest
 * result first.
 */
const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]
type Compression = Exclude<Coding, 'identity'>

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

const encoders = {
  // Level 5 of 11: the levels above take ten times as long and save a tenth.
  br: (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => zip(body),
}

/** Each running encoder has some 300 KB. */
const encoding = new Bulkhead({
  concurrency: availableParallelism(),
  queueLimit: 500,
  queueTimeout: 500,
})

/** Bytes. Bodies up to this length are sent unencoded. */
const minEncodedLength = 1024

/**
 * The 200 response to a read. A body is encoded when a coding is first requested, and kept for
 * later requests.
 */
export class Representation {
  /** Content-Type. */
  readonly type: string
  /** Unencoded. */
  readonly body: Buffer
  /** Of the unencoded body. */
  readonly etag: string
  /** Further headers. */
  readonly headers: HandlerResponse['headers']
  readonly #encoded = new Map<Compression, Promise<Buffer>>()

  constructor(type: string, body: Buffer, headers: HandlerResponse['headers']) {
    this.type = type
    this.body = body
    this.etag = etagOf(body)
    this.headers = headers
  }

  /**
   * Bytes of memory, at most: a body for each coding, headers of two bytes per character, and a
   * kilobyte of objects.
   */
  get maxSize(): number {
    const copies = this.body.length > minEncodedLength ? codings.length : 1
    return this.body.length * copies + 2 * JSON.stringify(this.headers).length + 1024
  }

  /** The coding to send to a client with this Accept-Encoding header. */
  codingFor(acceptEncoding: string | string[] | undefined): Coding {
    return acceptEncoding === undefined || this.body.length <= minEncodedLength
      ? 'identity'
      : negotiatedCodings.memo(String(acceptEncoding))
  }

  /**
   * The body in a coding. Rejects if many others are being encoded; the next request tries again.
   */
  encode(coding: Compression): Promise<Buffer> {
    const known = this.#encoded.get(coding)
    if (known) return known
    const encoded = encoding.run(() => encoders[coding](this.body))
    this.#encoded.set(coding, encoded)
    encoded.catch(() => this.#encoded.delete(coding))
    return encoded
  }
}

/** Sends a 200, or a 304 if the client has the response in any coding. */
export async function sendRepresentation(
  request: Request,
  response: Response,
  representation: Representation,
): Promise<void> {
  const { etag, body, type, headers } = representation
  const {
    authorization,
    'accept-encoding': acceptEncoding,
    'if-none-match': ifNoneMatch,
  } = request.headers
  // Lengths of compressed responses to a key could leak content.
  const coding = authorization === undefined ? representation.codingFor(acceptEncoding) : 'identity'
  const unchanged =
    ifNoneMatch === undefined ? undefined : findUnchangedCoding(ifNoneMatch, etag, coding)
  if (unchanged !== undefined) {
    response.writeHead(304, { ...headers, ...codingHeaders(etag, unchanged) }).end()
    return
  }
  // If the body cannot be encoded soon, it is sent as it is.
  const encoded =
    coding === 'identity' ? undefined : await representation.encode(coding).catch(() => undefined)
  const content = encoded ?? body
  response.writeHead(200, {
    ...headers,
    ...codingHeaders(etag, encoded ? coding : 'identity'),
    'Content-Type': type,
    'Content-Length': content.length,
  })
  response.end(request.method === 'HEAD' ? undefined : content)
}

const codingHeaders = (etag: string, coding: Coding) => ({
  ETag: encodedEtag(etag, coding),
  ...(coding !== 'identity' && { 'Content-Encoding': coding }),
})

/**
 * Codings by Accept-Encoding header. Clients send few different values, and parsing one takes
 * longer than sending a cached response.
 */
const negotiatedCodings = new LRUCache<string, Coding>({ max: 1000, memoMethod: negotiateCoding })

/** The best coding that an Accept-Encoding header accepts (RFC 9110, section 12.5.3). */
function negotiateCoding(acceptEncoding: string): Coding {
  const negotiator = new Negotiator({
    headers: { 'accept-encoding': acceptEncoding },
  }) as Negotiator & WithPreference
  const [name] = negotiator.encodings([...codings], { preferred: ['br', 'gzip'] })
  return codings.find((coding) => coding === name) ?? 'identity'
}

/** negotiator has the second parameter since 1.0; its types lack it. */
type WithPreference = {
  encodings: (available: string[], options: { preferred: string[] }) => string[]
}

/** A strong validator (RFC 9110, section 8.8.3): the first 162 bits of the content's SHA-256. */
export const etagOf = (content: string | Buffer): string =>
  `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

/** The ETag of the response that has this body. */
export const etagOfResponse = (body: ResponseBody<unknown>): string => etagOf(serialize(body))

/**
 * The tag of the same response in a content coding: each representation has its own (RFC 9110,
 * section 8.8.3.3).
 */
export const encodedEtag = (etag: string, coding: Coding): string =>
  coding === 'identity' ? etag : `${etag.slice(0, -1)}-${coding}"`

const splitTags = (header: string) => header.split(',').map((tag) => tag.trim())

/**
 * The coding of the response that an If-None-Match header names (RFC 9110, section 13.1.2): the
 * client has the response in this coding, whatever coding it prefers now. Undefined if the header
 * names none. Tags are compared weakly; a lone `*` names any.
 */
export function findUnchangedCoding(
  ifNoneMatch: string,
  etag: string,
  preferred: Coding,
): Coding | undefined {
  if (ifNoneMatch === '*') return preferred
  const tags = splitTags(ifNoneMatch).map((tag) => tag.replace(/^W\//, ''))
  return [preferred, ...codings].find((coding) => tags.includes(encodedEtag(etag, coding)))
}

/**
 * Whether an If-Match header holds (RFC 9110, section 13.1.1): it is a lone `*`, or one of its tags
 * names the response in any coding. Tags are compared strongly. Proxies that compress append
 * codings of their own, such as `-zstd`.
 */
export function satisfiesIfMatch(ifMatch: string, etag: string): boolean {
  const prefix = `${etag.slice(0, -1)}-`
  const isCurrent = (tag: string) =>
    tag === etag || (tag.startsWith(prefix) && /^"[^"]*\w"$/.test(tag))
  return ifMatch === '*' || splitTags(ifMatch).some(isCurrent)
}

/** The strongest tag of an If-Match header; only strong tags can match. */
export function strongestTag(ifMatch: string): 'strong' | 'weak' | 'none' {
  const tags = splitTags(ifMatch)
  if (tags.some((tag) => /^"[^"]*"$/.test(tag))) return 'strong'
  return tags.some((tag) => /^W\/"[^"]*"$/.test(tag)) ? 'weak' : 'none'
}
