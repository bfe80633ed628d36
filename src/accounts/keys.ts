import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import base from 'base-x'
import type { Caller } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { ApiKeyRow } from '../db/tables.ts'

const hour = 60 * 60 * 1000

/**
 * Returns a function that finds the caller of an API key, and throws `unauthorized` with the reason
 * if there is none.
 */
export function authenticator(database: Database): (key: string) => Promise<Caller> {
  const recording = new Set<string>()

  return async (key) => {
    const id = parseKeyId(key)
    if (!id) throw unauthorized('This is not an API key; check that it was copied completely.')
    const [row] = await database.read(({ select }) =>
      select<ApiKeyRow>('select * from api_keys where id = ?', [id]),
    )
    if (!row || !isSameKey(key, row.sha256)) throw unauthorized('This API key is not known.')
    const now = Date.now()
    const state = keyState(row, now)
    if (state === 'revoked') throw unauthorized('This API key was revoked.')
    if (state === 'expired') throw unauthorized(`This API key expired at ${row.expires_at}.`)
    // At most once an hour, and the request does not wait for it.
    if (!row.last_used_at || Date.parse(row.last_used_at) <= now - hour) void recordUse(id, now)
    return { developerId: row.developer_id, keyId: id }
  }

  async function recordUse(id: string, now: number) {
    if (recording.has(id)) return
    recording.add(id)
    try {
      const last_used_at = new Date(now).toISOString()
      await database.write(({ sql }) => sql('api_keys').where({ id }).update({ last_used_at }), {
        changesPublicData: () => false,
      })
    } catch {
      // The request must not fail because of this; the next one tries again.
    } finally {
      recording.delete(id)
    }
  }
}

const unauthorized = (message: string) =>
  new ServiceError('unauthorized', message, { refusedKey: true })

/**
 * An API key is `apps_` + id + `_` + 32 random bytes in base62 + a checksum. The prefix lets
 * scanners recognise a leaked key; the checksum finds a mistyped key without a query.
 */
const keyPattern =
  /^apps_(?<id>[0-9a-z]{12})_(?<secret>[0-9A-Za-z]{43})(?<checksum>[0-9A-Za-z]{6})$/

/** Returns the id of a well-formed key, or undefined. */
export function parseKeyId(text: string): string | undefined {
  const match = keyPattern.exec(text)
  return match && checksumOf(text.slice(0, -6)) === text.slice(-6) ? match.groups?.id : undefined
}

/** Returns the id from an id, an id with `apps_` before it, or a whole key. */
export const parseKeyIdOrPrefix = (text: string) =>
  parseKeyId(text) ?? /^(?:apps_)?([0-9a-z]{12})$/.exec(text)?.[1]

/** The beginning of a key, which is not secret. */
export const keyPrefix = (id: string) => `apps_${id}`

/** Takes the same time wherever the keys differ. */
export const isSameKey = (key: string, sha256: string) =>
  timingSafeEqual(Buffer.from(hash('sha256', key)), Buffer.from(sha256))

export function keyState(
  key: Pick<ApiKeyRow, 'revoked_at' | 'expires_at'>,
  now: number,
): 'active' | 'expired' | 'revoked' {
  if (key.revoked_at) return 'revoked'
  return Date.parse(key.expires_at) <= now ? 'expired' : 'active'
}

export function generateKey() {
  const id = Array.from({ length: 12 }, () => alphabet.charAt(randomInt(36))).join('')
  const body = `apps_${id}_${base62.encode(randomBytes(32)).padStart(43, '0')}`
  const key = body + checksumOf(body)
  return { id, key, sha256: hash('sha256', key) }
}

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const base62 = base(alphabet)

function checksumOf(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return base62.encode(bytes).padStart(6, '0')
}
