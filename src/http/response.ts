import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import { type Coding, codings, encodedEtag, findUnchangedCoding } from '../contract/response.ts'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

const encoders: Record<Coding, (body: Buffer) => Promise<Buffer>> = {
  // Level 5 of 11: the levels above take ten times as long and save a tenth.
  br: (body) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body) => zip(body),
  identity: async (body) => body,
}

/** Bytes. Shorter bodies are sent unencoded. */
const minEncodedLength = 1024

/** The 200 response to a read. Each encoded body is made when it is first requested, and kept. */
export class Representation {
  readonly type: string
  readonly etag: string
  readonly body: Buffer
  /** Further headers, names and values in turn. */
  readonly headers: readonly string[]
  readonly #encoded = new Map<Coding, Promise<Buffer>>()

  constructor(type: string, etag: string, body: Buffer, headers: Record<string, string>) {
    this.type = type
    this.etag = etag
    this.body = body
    this.headers = Object.entries(headers).flat()
  }

  /** Bytes that it takes at most, with an encoded body for each coding. Strings may have two bytes per character. */
  get maxSize(): number {
    const length = this.body.length * (this.body.length > minEncodedLength ? codings.length : 1)
    return this.headers.reduce((size, text) => size + 2 * text.length, length)
  }

  /** The coding to send to a client with this Accept-Encoding header. */
  codingFor(acceptEncoding: string | string[] | undefined): Coding {
    return acceptEncoding === undefined || this.body.length <= minEncodedLength
      ? 'identity'
      : negotiated.memo(String(acceptEncoding))
  }

  encode(coding: Coding): Promise<Buffer> {
    const known = this.#encoded.get(coding)
    if (known) return known
    const encoded = encoders[coding](this.body)
    this.#encoded.set(coding, encoded)
    encoded.catch(() => this.#encoded.delete(coding))
    return encoded
  }
}

/** Sends a 200, or a 304 if the client has the response in any coding. `headers` are further ones, names and values in turn. */
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
  const content = coding === 'identity' ? body : await representation.encode(coding)
  response.context.bodyLength = content.length
  response.writeHead(200, [
    ...headers,
    ...representation.headers,
    ...codingHeaders(etag, coding),
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

/** By Accept-Encoding. Clients send few different values, and parsing one takes longer than sending a cached response. */
const negotiated = new LRUCache<string, Coding>({ max: 1000, memoMethod: negotiateCoding })

/** RFC 9110, section 12.5.3. */
function negotiateCoding(acceptEncoding: string): Coding {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } }) as Negotiator & WithPreference
  const [name] = negotiator.encodings([...codings], { preferred: ['br', 'gzip'] })
  return codings.find((coding) => coding === name) ?? 'identity'
}

/** negotiator has the second parameter since 1.0; its types lack it. */
type WithPreference = { encodings: (available: string[], options: { preferred: string[] }) => string[] }
