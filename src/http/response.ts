import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { NextFunction, Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import type { Operation } from 'openapi-backend'
import {
  type Coding,
  codings,
  encodedEtag,
  etagOf,
  findUnchangedCoding,
  type ResponseBody,
  serialize,
} from '../contract/response.ts'
import { Bulkhead } from '../db/bulkhead.ts'
import { required } from '../util/helpers.ts'

/** Serializes, tags and sends what handlers return, with conditional requests and compression. */

/** What handlers and hooks return. */
type HandlerResponse = {
  status: number
  headers: Record<string, string>
  body?: ResponseBody<unknown>
}

/** A response that is ready to be sent. Reads can be cached. */
export type Reply =
  | { operation: Operation; representation: Representation }
  | { status: number; headers: Record<string, string>; content: Buffer | undefined }

const jsonType = 'application/json; charset=utf-8'

/** `operation` is undefined for OPTIONS. */
export function toReply(
  { status, headers, body }: HandlerResponse,
  operation: Operation | undefined,
  { headers: { authorization } }: Request,
): Reply {
  // Encoded into a separate buffer: a small Buffer in the cache would keep its whole pool alive.
  const content = body && Buffer.from(new TextEncoder().encode(serialize(body)).buffer)
  if (operation?.method !== 'get')
    return { status, headers: { 'Cache-Control': 'no-store', ...headers }, content }
  const read = required(content, `the body of ${operation.operationId}`)
  const cacheHeaders = {
    // Caches revalidate at each use, and never share a response between callers.
    'Cache-Control': authorization === undefined ? 'public, no-cache' : 'private, no-cache',
    Vary: 'Authorization, Accept-Encoding',
  }
  return {
    operation,
    representation: new Representation(jsonType, etagOf(read), read, {
      ...cacheHeaders,
      ...headers,
    }),
  }
}

/** Sends a reply. Without one, calls `next`. */
export async function sendReply(
  request: Request,
  response: Response,
  reply: Reply | undefined,
  next: NextFunction,
) {
  if (!reply) return next()
  if ('representation' in reply) return sendRepresentation(request, response, reply.representation)
  response.status(reply.status).set(reply.headers)
  if (reply.content) response.type(jsonType).send(reply.content)
  else response.end()
}

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

const encoders = {
  // Level 5 of 11: the levels above take ten times as long and save a tenth.
  br: (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => zip(body),
}
type Compression = keyof typeof encoders

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
  /** Of the unencoded body. */
  readonly etag: string
  /** Unencoded. */
  readonly body: Buffer
  /** Further headers, names and values in turn. */
  readonly headers: readonly string[]
  readonly #encoded = new Map<Compression, Promise<Buffer>>()

  constructor(type: string, etag: string, body: Buffer, headers: Record<string, string>) {
    this.type = type
    this.etag = etag
    this.body = body
    this.headers = Object.entries(headers).flat()
  }

  /**
   * Bytes of memory, at most: a body for each coding, strings of two bytes per character, and a
   * kilobyte of objects.
   */
  get maxSize(): number {
    const length = this.body.length * (this.body.length > minEncodedLength ? codings.length : 1)
    return this.headers.reduce((size, text) => size + 2 * text.length, length + 1024)
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
) {
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
    response.writeHead(304, [...headers, ...codingHeaders(etag, unchanged)]).end()
    return
  }
  // If the body cannot be encoded soon, it is sent as it is.
  const encoded =
    coding === 'identity' ? undefined : await representation.encode(coding).catch(() => undefined)
  const content = encoded ?? body
  response.writeHead(200, [
    ...headers,
    ...codingHeaders(etag, encoded ? coding : 'identity'),
    'Content-Type',
    type,
    'Content-Length',
    String(content.length),
  ])
  response.end(request.method === 'HEAD' ? undefined : content)
}

const codingHeaders = (etag: string, coding: Coding) => [
  'ETag',
  encodedEtag(etag, coding),
  ...(coding === 'identity' ? [] : ['Content-Encoding', coding]),
]

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
