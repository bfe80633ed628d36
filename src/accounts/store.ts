import type { Actor, Caller } from '../actor.ts'
import { auditStore } from '../audit/store.ts'
import type { Connection, Database } from '../db/open.ts'
import { ServiceError } from '../errors.ts'
import { generateKey, isSameKey, keyId } from './keys.ts'

export type Developer = { id: number; name: string; isNew: boolean }
export type IssuedKey = { id: string; key: string; developer: string; expires_at: string }

const hour = 60 * 60 * 1000
const day = 24 * hour
/** How long a key lives unless told otherwise. */
const lifetime = 365 * day

/** The caller that a key stands for. Throws `unauthorized` with the reason; keeps the time of last use, at most once an hour. */
export async function authenticate(database: Database, key: string): Promise<Caller> {
  const id = keyId(key)
  if (!id) throw unauthorized('This is not an API key: one looks like apps_… and has a checksum.')
  const row = await database.read(({ sql }) => sql('api_keys').where({ id }).first())
  if (!row || !isSameKey(key, row.sha256)) throw unauthorized('This API key is not known.')
  if (row.revoked_at) throw unauthorized('This API key was revoked.')
  const now = Date.now()
  if (Date.parse(row.expires_at) <= now) throw unauthorized(`This API key expired at ${row.expires_at}.`)
  if (!row.last_used_at || Date.parse(row.last_used_at) <= now - hour) await recordUse(database, id, now)
  return { developerId: row.developer_id, keyId: id }
}

async function recordUse(database: Database, id: string, now: number) {
  const last_used_at = new Date(now).toISOString()
  await database
    .write(({ sql }) => sql('api_keys').where({ id }).update({ last_used_at }))
    .catch(() => {
      // A read must not fail because the note of it could not be written; the next request tries again.
    })
}

const unauthorized = (message: string) => new ServiceError('unauthorized', message, { refusedKey: true })

export const accountStore = (connection: Connection) => ({
  /** The developer of exactly this name, made where there is none. Throws `refused` for a name that cannot be one. */
  async developerNamed(text: string): Promise<Developer> {
    const name = text.trim()
    const length = [...name].length
    if (length < 1 || length > 100 || /\p{C}/u.test(name)) {
      throw new ServiceError('refused', 'a developer name is 1 to 100 characters on one line')
    }
    const known = await connection.sql('developers').where({ name }).first('id')
    if (known) return { id: known.id, name, isNew: false }
    const [row] = await connection
      .sql('developers')
      .insert({ name, created_at: new Date().toISOString() })
      .returning('id')
    if (!row) throw new Error('the insert returned no developer')
    return { id: row.id, name, isNew: true }
  },

  /** The key itself is in the result and nowhere else. */
  async issueKey(developer: Developer, actor: Actor): Promise<IssuedKey> {
    const { id, key, sha256 } = generateKey()
    const now = Date.now()
    const expires_at = new Date(now + lifetime).toISOString()
    const created_at = new Date(now).toISOString()
    await connection.sql('api_keys').insert({ id, sha256, developer_id: developer.id, created_at, expires_at })
    await auditStore(connection).record(
      [{ action: 'key issue', at: created_at, subject: { developer_id: developer.id }, after: { id, expires_at } }],
      actor,
    )
    return { id, key, developer: developer.name, expires_at }
  },
})
