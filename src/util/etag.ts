import { hash } from 'node:crypto'
import { serialize } from './json.ts'

/** Strong validator (RFC 9110, section 8.8.3) of an answer, by its `data`; the rest of the envelope follows from that and the address. */
export const etagOf = (data: object) => contentEtag(serialize(data))

/** The same of what is sent as it is. */
export const contentEtag = (content: string | Buffer) => `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

/** Whether an If-None-Match header names the tag (RFC 9110, section 13.1.2): weakly compared, or it is `*` alone. */
export const matchesIfNoneMatch = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)

/** The tag of the same answer in a content coding: each representation has its own (RFC 9110, section 8.8.3.3). */
export const encodedEtag = (etag: string, coding: string) => `${etag.slice(0, -1)}-${coding}"`

/**
 * Whether an If-Match header holds (RFC 9110, section 13.1.1): one tag is the same, strongly compared, or it is `*` alone. The
 * tag of any coding will do: what it was read in makes no other app of it.
 */
export const satisfiesIfMatch = (ifMatch: string, etag: string): boolean =>
  ifMatch === '*' || ifMatch.split(',').some((tag) => tag.trim().replace(/-(?:br|gzip)"$/, '"') === etag)

/** Whether one tag of an If-Match header could hold for something: a strong one, in its quotes. */
export const hasStrongEtag = (ifMatch: string): boolean =>
  ifMatch.split(',').some((tag) => /^"[^"]*"$/.test(tag.trim()))
