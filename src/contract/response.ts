import { hash } from 'node:crypto'

/** The body of a success, without the envelope's `success`. */
export type ResponseBody<Data> = { message: string; data: Data }

/** The JSON of a success, as it is sent. */
export const serialize = ({ message, data }: ResponseBody<unknown>) =>
  JSON.stringify({ success: true, message, data })

/** A strong validator (RFC 9110, section 8.8.3) of a text: the first 162 bits of its SHA-256. */
export const etagOf = (content: string | Buffer) =>
  `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

/**
 * Content codings (RFC 9110, section 8.4.1) in which responses are sent, the one with the shortest
 * result first.
 */
export const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/**
 * The tag of the same response in a content coding: each representation has its own (RFC 9110,
 * section 8.8.3.3).
 */
export const encodedEtag = (etag: string, coding: Coding) =>
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
