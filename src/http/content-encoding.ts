import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'

/** Content codings (RFC 9110, section 8.4.1) that answers are sent in, the one that makes them shortest first. */
const codings = ['br', 'gzip'] as const
export type Coding = (typeof codings)[number]

/** Bytes: what is no longer than this stays as it is. */
export const minEncodedLength = 1024

/** Few clients have an Accept-Encoding of their own, and reading one costs more than sending a cached response. */
const chosen = new LRUCache<string, { coding: Coding | undefined }>({ max: 1000 })

/** The coding that an Accept-Encoding header prefers; undefined for none (RFC 9110, section 12.5.3). */
export function negotiateCoding(acceptEncoding: string | string[] | undefined): Coding | undefined {
  if (acceptEncoding === undefined) return undefined
  const header = String(acceptEncoding)
  const known = chosen.get(header)
  if (known) return known.coding
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } }) as Negotiator & Preferring
  const [name] = negotiator.encodings([...codings, 'identity'], { preferred: codings })
  const coding = codings.find((one) => one === name)
  chosen.set(header, { coding })
  return coding
}

/** negotiator has it since 1.0; its types lack it. */
type Preferring = { encodings: (available: string[], options: { preferred: readonly string[] }) => string[] }

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

export const encoders: Record<Coding, (body: Buffer) => Promise<Buffer>> = {
  // 5 of 11: beyond it takes ten times as long for a tenth less.
  br: (body) => brotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body) => zip(body),
}
