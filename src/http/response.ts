import type { IncomingMessage, ServerResponse } from 'node:http'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import { type Coding, codings, encodedEtag, findUnchangedCoding } from '../contract/response.ts'
import { Bulkhead } from '../db/bulkhead.ts'

/** Sends 200 and 304 responses to reads, cached or not: content negotiation, compression, conditional requests. */

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

const encoders = {
  // Level 5 of 11: the levels above take ten times as long and save a tenth.
  br: (body: Buffer) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => zip(body),
}
type Compression = keyof typeof encoders

/** Each running encoder has some 300 KB. */
const encoding = new Bulkhead({ concurrency: availableParallelism(), queueLimit: 500, queueTimeout: 500 })

/** Bytes. Bodies up to this length are sent unencoded. */
const minEncodedLength = 1024

/** The 200 response to a read. A body is encoded when a coding is first requested, and kept for later requests. */
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

  /** Bytes of memory, at most: a body for each coding, strings of two bytes per character, and a kilobyte of objects. */
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

  /** The body in a coding. Rejects if many others are being encoded; the next request tries again. */
  encode(coding: Compression): Promise<Buffer> {
    const known = this.#encoded.get(coding)
    if (known) return known
    const encoded = encoding.run(() => encoders[coding](this.body))
    this.#encoded.set(coding, encoded)
    encoded.catch(() => this.#encoded.delete(coding))
    return encoded
  }
}

/**
 * Sends a 200, or a 304 if the client has the response in any coding. `headers` are sent besides those of the
 * representation, names and values in turn.
 */
export async function sendRepresentation(
  request: IncomingMessage,
  response: ServerResponse,
  representation: Representation,
  coding: Coding,
  headers: readonly string[] = [],
) {
  const { etag, body, type } = representation
  const ifNoneMatch = request.headers['if-none-match']
  const unchanged = ifNoneMatch === undefined ? undefined : findUnchangedCoding(ifNoneMatch, etag, coding)
  if (unchanged !== undefined) {
    response.writeHead(304, [...headers, ...representation.headers, ...codingHeaders(etag, unchanged)]).end()
    return
  }
  const encoded = coding === 'identity' ? undefined : await representation.encode(coding).catch(() => undefined)
  const content = encoded ?? body
  // For the log.
  response.context.bodyLength = content.length
  response.writeHead(200, [
    ...headers,
    ...representation.headers,
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
 * Codings by Accept-Encoding header. Clients send few different values, and parsing one takes longer than sending a
 * cached response.
 */
const negotiatedCodings = new LRUCache<string, Coding>({ max: 1000, memoMethod: negotiateCoding })

/** The best coding that an Accept-Encoding header accepts (RFC 9110, section 12.5.3). */
function negotiateCoding(acceptEncoding: string): Coding {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }) as Negotiator & WithPreference
  const [name] = negotiator.encodings([...codings], { preferred: ['br', 'gzip'] })
  return codings.find((coding) => coding === name) ?? 'identity'
}

/** negotiator has the second parameter since 1.0; its types lack it. */
type WithPreference = { encodings: (available: string[], options: { preferred: string[] }) => string[] }
