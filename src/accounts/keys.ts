import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import base from 'base-x'
import DataLoader from 'dataloader'
import type { Caller } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import { withArticle } from '../contract/problems.ts'
import type { Database } from '../db/database.ts'
import type { ApiKeyRow, ModeratorRow } from '../db/rows.ts'
import { assertSchema, type SchemaColumn, schemaColumn } from '../db/schema-age.ts'

/** Milliseconds. */
const hour = 60 * 60 * 1000
export const defaultKeyLifetime = 365 * 24 * hour

/** Keys per statement. Each number of keys is another prepared statement. */
const maxBatchSize = 8

/** Keys of developers, and those with which moderators sign in: their table, prefix and name. */
const kinds = {
  developer: { table: 'api_keys', prefix: 'apps', name: 'API key' },
  moderator: { table: 'operators', prefix: 'apps_mod', name: 'sign-in key' },
} as const
type Kind = keyof typeof kinds
type RowOf = { developer: ApiKeyRow; moderator: ModeratorRow }

/** The beginning of a developer's key, which is not secret. */
export const keyPrefix = (id: string): string => `apps_${id}`

/**
 * Returns a function that finds the caller of an API key, and throws `unauthorized` with the reason
 * if there is none.
 */
export function authenticator(database: Database): (key: string) => Promise<Caller> {
  const findKey = keyFinder(database, 'developer')
  return async (key) => {
    const { id, developer_id, app_id, read_only } = await findKey(key)
    return { developerId: developer_id, keyId: id, appId: app_id, isReadOnly: read_only === 1 }
  }
}

/** Throws `forbidden` if the caller's key is not for writing the app with this id, or a new one. */
export function assertMayWrite({ appId, isReadOnly }: Caller, id: string | undefined): void {
  if (!isReadOnly && (!appId || id === String(appId))) return
  const use = `${isReadOnly ? 'reading' : 'updating or deleting'}${appId ? ` app ${appId}` : ''}`
  throw new ServiceError('forbidden', `This API key is only for ${use}; use another key.`)
}

/** Returns a function that finds the row of a valid key, and throws as `authenticator` does. */
export function keyFinder<K extends Kind>(
  database: Database,
  kind: K,
): (key: string) => Promise<RowOf[K]> {
  const { table, name } = kinds[kind]
  const recording = new Set<string>()
  /** Requests that arrive in one turn of the event loop share a statement. */
  const rows = new DataLoader(
    async (ids: readonly string[]) => {
      const found = await database.read(({ rows }) =>
        rows<RowOf[K] & SchemaColumn>(
          `select *, ${schemaColumn} from ${table} where id in (${ids.map(() => '?')})`,
          [...ids],
        ),
      )
      return ids.map((id) => found.find((row) => row.id === id))
    },
    { cache: false, maxBatchSize, batchScheduleFn: setImmediate },
  )

  return async (key) => {
    const id = parseKeyId(key, kind)
    if (!id)
      throw unauthorized(`This is not ${withArticle(name)}; check that it was copied completely.`)
    const row = await rows.load(id)
    if (!row || !isSameKey(key, row.sha256)) throw unauthorized(`This ${name} is not known.`)
    // It could mean something else there.
    assertSchema(row)
    const now = Date.now()
    const state = keyState(row, now)
    if (state === 'revoked') throw unauthorized(`This ${name} was revoked.`)
    if (state === 'expired') throw unauthorized(`This ${name} expired at ${row.expires_at}.`)
    // At most once an hour, and the request does not wait for it.
    if (!row.last_used_at || Date.parse(row.last_used_at) <= now - hour) void recordUse(id, now)
    return row
  }

  async function recordUse(id: string, now: number) {
    if (recording.has(id)) return
    recording.add(id)
    try {
      const last_used_at = new Date(now).toISOString()
      await database.write(({ sql }) => sql(table).where({ id }).update({ last_used_at }))
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
 * A key is its prefix, such as `apps`, + `_` + id + `_` + 32 random bytes in base62 + a checksum.
 * The prefix lets scanners recognise a leaked key; the checksum finds a mistyped key without a
 * query.
 */
const keyPattern =
  /^(?<prefix>[a-z_]+)_(?<id>[0-9a-z]{12})_(?<secret>[0-9A-Za-z]{43})(?<checksum>[0-9A-Za-z]{6})$/

/** Returns the id of a well-formed key of this kind, or undefined. */
export function parseKeyId(text: string, kind: Kind = 'developer'): string | undefined {
  const { prefix, id } = keyPattern.exec(text)?.groups ?? {}
  const isWhole = checksumOf(text.slice(0, -6)) === text.slice(-6)
  return prefix === kinds[kind].prefix && isWhole ? id : undefined
}

/** Returns the id from an id, an id with `apps_` before it, or a whole key. */
export const parseKeyIdOrPrefix = (text: string): string | undefined =>
  parseKeyId(text) ?? /^(?:apps_)?([0-9a-z]{12})$/.exec(text)?.[1]

/** Takes the same time wherever the keys differ. */
export const isSameKey = (key: string, sha256: string): boolean =>
  timingSafeEqual(Buffer.from(hash('sha256', key)), Buffer.from(sha256))

export type KeyState = 'active' | 'expired' | 'revoked'

export function keyState(
  key: Pick<ModeratorRow, 'revoked_at' | 'expires_at'>,
  now: number,
): KeyState {
  if (key.revoked_at) return 'revoked'
  return Date.parse(key.expires_at) <= now ? 'expired' : 'active'
}

/** A new key with the columns that it has in either table. */
export function generateKey(
  kind: Kind = 'developer',
  expiresAt?: string,
): Pick<ModeratorRow, 'id' | 'sha256' | 'created_at' | 'expires_at'> & { key: string } {
  const id = Array.from({ length: 12 }, () => alphabet.charAt(randomInt(36))).join('')
  const body = `${kinds[kind].prefix}_${id}_${base62.encode(randomBytes(32)).padStart(43, '0')}`
  const key = body + checksumOf(body)
  const now = Date.now()
  const created_at = new Date(now).toISOString()
  const expires_at = expiresAt ?? new Date(now + defaultKeyLifetime).toISOString()
  return { id, key, sha256: hash('sha256', key), created_at, expires_at }
}

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const base62 = base(alphabet)

function checksumOf(body: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(body))
  return base62.encode(bytes).padStart(6, '0')
}
