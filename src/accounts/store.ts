import { type Actor, auditStore } from '../audit/store.ts'
import { appStore, noApps, type StateCounts } from '../catalogue/store.ts'
import type { Caller } from '../contract/contract.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { parseDeveloperName, parseKeyName } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import type { Connection } from '../db/dialect.ts'
import { withTiming } from '../util/timing.ts'
import { generateKey, isSameKey, type KeyState, keyPrefix, keyState, parseKeyId } from './keys.ts'

export type Developer = { id: number; name: string; isNew: boolean }
export type IssuedKey = { id: string; key: string; name: string | null; developer_name: string; expires_at: string }

/** A developer with what is theirs. */
export type Account = { id: number; name: string; created_at: string; active_keys: number; apps: StateCounts }

/** What may be told of a key. */
export type KeySummary = {
  id: string
  name: string | null
  developer_name: string
  created_at: string
  expires_at: string
  last_used_at: string | null
  revoked_at: string | null
  state: KeyState
}

const hour = 60 * 60 * 1000
const day = 24 * hour
/** How long a key lives unless told otherwise. */
const defaultKeyLifetime = 365 * day

/**
 * Tells the caller that a key stands for, or throws `unauthorized` with the reason. Keeps the time of last use, at most once
 * an hour and without making the caller wait for it.
 */
export function authenticator(database: Database): (key: string) => Promise<Caller> {
  const recording = new Set<string>()

  async function recordUse(id: string, now: number) {
    if (recording.has(id)) return
    recording.add(id)
    try {
      const last_used_at = new Date(now).toISOString()
      await database.write(({ sql }) => sql('api_keys').where({ id }).update({ last_used_at }))
    } catch {
      // A request must not fail because the note of it could not be written; the next one tries again.
    } finally {
      recording.delete(id)
    }
  }

  return async (key) => {
    const id = parseKeyId(key)
    if (!id) throw unauthorized('This is not an API key; check that it was copied completely.')
    const row = await database.read(({ sql }) => sql('api_keys').where({ id }).first())
    if (!row || !isSameKey(key, row.sha256)) throw unauthorized('This API key is not known.')
    const now = Date.now()
    const state = keyState(row, now)
    if (state === 'revoked') throw unauthorized('This API key was revoked.')
    if (state === 'expired') throw unauthorized(`This API key expired at ${row.expires_at}.`)
    if (!row.last_used_at || Date.parse(row.last_used_at) <= now - hour)
      void withTiming(undefined, () => recordUse(id, now))
    return { developerId: row.developer_id, keyId: id }
  }
}

const unauthorized = (message: string) => new ServiceError('unauthorized', message, { refusedKey: true })

const operatorError = (message: string) => new OperatorError(message)
const developerNotFound = (name: string) => operatorError(`there is no developer ${JSON.stringify(name.trim())}`)
const nameTaken = (name: string) => operatorError(`there is already a developer ${JSON.stringify(name)}`)

export const accountStore = (connection: Connection) => {
  const { sql } = connection

  const findDeveloper = (name: string): Promise<{ id: number; name: string } | undefined> =>
    sql('developers').where({ name: name.trim() }).first('id', 'name')

  /** Refuses where there is none of exactly this name. */
  async function requireDeveloper(name: string): Promise<{ id: number; name: string }> {
    const developer = await findDeveloper(name)
    if (!developer) throw developerNotFound(name)
    return developer
  }

  /** Developers with what is theirs, by name. */
  async function accounts(ids: number[]): Promise<Account[]> {
    const activeKeys = sql('api_keys')
      .whereRaw('api_keys.developer_id = developers.id')
      .whereNull('revoked_at')
      .where('expires_at', '>', new Date().toISOString())
      .count('*')
      .as('active_keys')
    const rows: Omit<Account, 'apps'>[] = await sql('developers')
      .whereIn('id', ids)
      .orderBy('name')
      .select('id', 'name', 'created_at', activeKeys)
    const states = await appStore(connection).countStates(ids)
    return rows.map((row) => ({ ...row, apps: states.get(row.id) ?? noApps }))
  }

  return {
    requireDeveloper,
    accounts,

    /** The developer of exactly this name, made where there is none. Refuses to make one of a name that cannot be one. */
    async findOrAddDeveloper(text: string): Promise<Developer> {
      const known = await findDeveloper(text)
      if (known) return { id: known.id, name: known.name, isNew: false }
      const name = parseDeveloperName(text)
      const now = new Date().toISOString()
      const added = await sql('developers')
        .insert({ name, created_at: now, changed_at: now })
        .onConflict('name')
        .ignore()
        .returning('id')
      return { ...(await requireDeveloper(name)), isNew: added.length > 0 }
    },

    /** A page of the developers by name, and how many there are. */
    async developers(limit: number, offset: number): Promise<{ developers: Account[]; total: number }> {
      const [all] = await sql('developers').count({ total: '*' })
      const ids = await sql('developers').orderBy('name').limit(limit).offset(offset).pluck('id')
      return { developers: await accounts(ids), total: Number(all?.total ?? 0) }
    },

    /**
     * Renames a developer, and indexes their listed apps again. Refuses if there is no such developer, or if the name is
     * invalid or another developer's.
     */
    async rename(
      from: string,
      text: string,
      actor: Actor,
      onProgress: (done: number, total: number) => void = () => {},
    ): Promise<{ id: number; name: string; listed_apps: number }> {
      const name = parseDeveloperName(text)
      const { id } = await requireDeveloper(from)
      // An update locks an app before its developer. Locking in the same order avoids deadlocks.
      await connection.lock('apps', 'developer_id', [id])
      const before = await sql('developers').where({ id }).forUpdate().first('name')
      if (before?.name !== from.trim()) throw developerNotFound(from)
      if (name === before.name) throw operatorError(`the developer is named ${JSON.stringify(name)} already`)
      const at = new Date().toISOString()
      const update = () => sql('developers').where({ id }).update({ name, changed_at: at })
      await connection.mapUniqueViolation(update, { 'developers.name': () => nameTaken(name) })
      const change = { before: { name: before.name }, after: { name } }
      await auditStore(connection).record(
        [{ action: 'developer rename', at, subject: { developer_id: id }, ...change }],
        actor,
      )
      return { id, name, listed_apps: await appStore(connection).reindexAppsOf(id, name, onProgress) }
    },

    /** The key itself is in the result and nowhere else. */
    async issueKey(
      developer: Developer,
      actor: Actor,
      options: { name?: string | undefined; expiresAt?: string | undefined } = {},
    ): Promise<IssuedKey> {
      const { id, key, sha256 } = generateKey()
      const now = Date.now()
      const name = options.name === undefined ? null : parseKeyName(options.name)
      const expires_at = options.expiresAt ?? new Date(now + defaultKeyLifetime).toISOString()
      const created_at = new Date(now).toISOString()
      await sql('api_keys').insert({ id, sha256, name, developer_id: developer.id, created_at, expires_at })
      await auditStore(connection).record(
        [
          {
            action: 'key issue',
            at: created_at,
            subject: { developer_id: developer.id },
            after: { id, name, expires_at },
          },
        ],
        actor,
      )
      return { id, key, name, developer_name: developer.name, expires_at }
    },

    /** A page of the keys, by developer and then the oldest first, and how many there are. */
    async keys(
      developerId: number | undefined,
      limit: number,
      offset: number,
    ): Promise<{ keys: KeySummary[]; total: number }> {
      const keys = sql('api_keys')
      if (developerId !== undefined) keys.where({ developer_id: developerId })
      const [all] = await keys.clone().count({ total: '*' })
      const rows = await keys
        .join('developers', 'developers.id', 'api_keys.developer_id')
        .orderBy(['developers.name', 'api_keys.created_at', 'api_keys.id'])
        .limit(limit)
        .offset(offset)
        .select(
          'api_keys.id',
          'api_keys.name',
          'developers.name as developer_name',
          'api_keys.created_at',
          'expires_at',
          'last_used_at',
          'revoked_at',
        )
      const now = Date.now()
      return { keys: rows.map((row) => ({ ...row, state: keyState(row, now) })), total: Number(all?.total ?? 0) }
    },

    /** Holds from the next request on. Refuses where there is no such key, or it is revoked already. */
    async revoke(id: string, actor: Actor): Promise<{ id: string; developer_name: string; revoked_at: string }> {
      const key = await sql('api_keys')
        .join('developers', 'developers.id', 'api_keys.developer_id')
        .where('api_keys.id', id)
        .forUpdate('api_keys')
        .first('api_keys.developer_id', 'developers.name as developer_name', 'api_keys.revoked_at')
      if (!key) throw operatorError(`there is no key ${keyPrefix(id)}`)
      if (key.revoked_at) throw operatorError(`the key ${keyPrefix(id)} was revoked at ${key.revoked_at} already`)
      const revoked_at = new Date().toISOString()
      await sql('api_keys').where({ id }).update({ revoked_at })
      await auditStore(connection).record(
        [
          {
            action: 'key revoke',
            at: revoked_at,
            subject: { developer_id: key.developer_id },
            before: { id, revoked_at: null },
            after: { id, revoked_at },
          },
        ],
        actor,
      )
      return { id, developer_name: key.developer_name, revoked_at }
    },
  }
}
