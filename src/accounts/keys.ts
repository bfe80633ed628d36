import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import base from 'base-x'

/**
 * An API key is `apps_` + key id + `_` + 32 random bytes in base62 + a checksum, so that a key is known for one wherever
 * it turns up, and a mistyped one is told without asking the database.
 */
const keyPattern = /^apps_(?<id>[0-9a-z]{12})_(?<secret>[0-9A-Za-z]{43})(?<checksum>[0-9A-Za-z]{6})$/

export type NewKey = { id: string; key: string; sha256: string }

export function generateKey(): NewKey {
  const id = Array.from({ length: 12 }, () => alphabet.charAt(randomInt(36))).join('')
  const body = `apps_${id}_${base62.encode(randomBytes(32)).padStart(43, '0')}`
  const key = body + checksumOf(body)
  return { id, key, sha256: hash('sha256', key) }
}

/** The id within a well-formed key; undefined for any other text. */
export function parseKeyId(text: string): string | undefined {
  const match = keyPattern.exec(text)
  return match && checksumOf(text.slice(0, -6)) === text.slice(-6) ? match.groups?.id : undefined
}

/** The id that an operator means by it alone, by it with `apps_` before, or by the whole key. */
export const parseKeyIdOrPrefix = (text: string) => parseKeyId(text) ?? /^(?:apps_)?([0-9a-z]{12})$/.exec(text)?.[1]

/** The key as it is spoken of: its beginning, which is no secret. */
export const keyPrefix = (id: string) => `apps_${id}`

export type KeyState = 'active' | 'expired' | 'revoked'

export function keyState(key: { revoked_at: string | null; expires_at: string }, now: number): KeyState {
  if (key.revoked_at) return 'revoked'
  return Date.parse(key.expires_at) <= now ? 'expired' : 'active'
}

/** In time that does not depend on where they differ. */
export const isSameKey = (key: string, sha256: string) =>
  timingSafeEqual(Buffer.from(hash('sha256', key)), Buffer.from(sha256))

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const base62 = base(alphabet)

function checksumOf(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return base62.encode(bytes).padStart(6, '0')
}
