import { hash } from 'node:crypto'

/** A T as JSON in UTF-8. The symbol exists for the compiler only, which tells the JSON of different types apart by it. */
export type Json<T> = Buffer & { readonly [typeOf]: T }
declare const typeOf: unique symbol

export const toJson = <T>(value: T) => Buffer.from(JSON.stringify(value)) as Json<T>

export const parseJson = <T>(json: Json<T>): T => JSON.parse(json.toString())

/** The JSON of an object, from the JSON of its fields. */
export function joinJson<T extends object>(fields: { [Name in keyof T]: Json<T[Name]> }): Json<T> {
  const parts = Object.entries<Buffer>(fields).flatMap(([name, json], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}"${name}":`),
    json,
  ])
  return Buffer.concat([...parts, Buffer.from('}')]) as Json<T>
}

/** The body of a success. Its `data` is serialized once: the ETag is the hash of it, and http/ sends it as it is. */
export type ResponseBody<Data> = { message: string; data: Json<Data> }

/** A strong validator (RFC 9110, section 8.8.3) of a text: the first 162 bits of its SHA-256. */
export const etagOf = (content: string | Buffer) => `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

/** Content codings (RFC 9110, section 8.4.1) in which responses are sent, the one with the shortest result first. */
export const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/** The tag of the same response in a content coding: each representation has its own (RFC 9110, section 8.8.3.3). */
export const encodedEtag = (etag: string, coding: Coding) =>
  coding === 'identity' ? etag : `${etag.slice(0, -1)}-${coding}"`

const splitTags = (header: string) => header.split(',').map((tag) => tag.trim())

/** The content coding whose ETag is in `tags`; if several are, `preferred` first. */
const findCodingByTag = (tags: string[], etag: string, preferred: Coding = 'identity'): Coding | undefined =>
  [preferred, ...codings].find((coding) => tags.includes(encodedEtag(etag, coding)))

/**
 * The coding of the response that an If-None-Match header names (RFC 9110, section 13.1.2): the client has the response in this
 * coding, whatever coding it prefers now. Undefined if the header names none. Tags are compared weakly; a lone `*` names any.
 */
export const findUnchangedCoding = (ifNoneMatch: string, etag: string, preferred: Coding): Coding | undefined =>
  ifNoneMatch === '*'
    ? preferred
    : findCodingByTag(
        splitTags(ifNoneMatch).map((tag) => tag.replace(/^W\//, '')),
        etag,
        preferred,
      )

/**
 * Whether an If-Match header holds (RFC 9110, section 13.1.1): it is a lone `*`, or one of its tags names the response in any
 * coding. Tags are compared strongly.
 */
export const satisfiesIfMatch = (ifMatch: string, etag: string): boolean =>
  ifMatch === '*' || findCodingByTag(splitTags(ifMatch), etag) !== undefined

/** Whether an If-Match header has a quoted strong tag. Other tags never match. */
export const hasStrongEtag = (ifMatch: string): boolean => splitTags(ifMatch).some((tag) => /^"[^"]*"$/.test(tag))
