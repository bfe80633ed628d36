import { type Actor, recordEntry } from '../audit/audit-store.ts'
import { reindexAppsOf } from '../catalogue/app-side-effects.ts'
import { countAppsByState, noApps, type StateCounts } from '../catalogue/app-store.ts'
import { findLookAlikeDevelopers } from '../catalogue/look-alikes.ts'
import { OperatorError } from '../contract/errors.ts'
import { parseDeveloperName, parseEmailAddress, parseKeyName } from '../contract/field-rules.ts'
import { countRows, type QueryRunner } from '../db/engine.ts'
import type { ApiKeyRow } from '../db/rows.ts'
import {
  developerEntry,
  developerOfEntry,
  developerPhrasesOf,
  toIndexedDeveloper,
} from '../search/terms.ts'
import { generateKey, type KeyState, keyPrefix, keyState } from './keys.ts'

export type Developer = { id: number; name: string }

/** A developer with the e-mail address that gets decisions about their apps. */
export type Contact = Developer & { contact: string | null }

/** A developer with the numbers of their active keys and their apps. */
export type Account = Contact & {
  created_at: string
  active_keys: number
  apps: StateCounts
}

/** A key without its secret. */
type StoredKey = Omit<ApiKeyRow, 'developer_id' | 'sha256' | 'read_only'> & {
  read_only: boolean
  developer_name: string
  developer_contact: string | null
  state: KeyState
}

/** A new key with its secret, which the database does not have. */
type IssuedKey = Pick<StoredKey, 'id' | 'name' | 'expires_at' | 'app_id' | 'read_only'> & {
  key: string
  developer_name: string
}

/** Developers with a word like those of a text that are found, at most. */
const maxFound = 20

/** The ids of developers whose names have words that begin with those of a text, the newest first. */
export const findDevelopersByWords = async (
  { names }: QueryRunner,
  text: string,
): Promise<number[]> =>
  (await names.newestWith(developerPhrasesOf(text), maxFound)).map(developerOfEntry)

/** Throws an OperatorError if no developer has exactly this name. */
export async function lookUpDeveloper(runner: QueryRunner, name: string): Promise<Contact> {
  const developer = await findDeveloper(runner, name)
  if (!developer) throw developerNotFound(name)
  return developer
}

/**
 * Throws an OperatorError with similar names if no developer has exactly this name. Reads all
 * developers for it, so a write calls this before its transaction, which others may have to wait for.
 */
export async function requireDeveloper(runner: QueryRunner, name: string): Promise<Contact> {
  const developer = await findDeveloper(runner, name)
  if (developer) return developer
  const found = await runner
    .sql('developers')
    .whereIn('id', await findDevelopersByWords(runner, name))
    .pluck('name')
  const similar = new Set([...(await findLookAlikeDevelopers(runner, name)), ...found])
  throw similar.size === 0
    ? developerNotFound(name)
    : new OperatorError(
        `${developerNotFound(name).message}; similar: ${[...similar].toSorted().join(', ')}`,
      )
}

/** The look-alikes of a name, unless a developer has it. Reads all developers, as `requireDeveloper`. */
export const findLookAlikesOfNewDeveloper = async (
  runner: QueryRunner,
  name: string,
): Promise<string[]> =>
  (await findDeveloper(runner, name)) ? [] : findLookAlikeDevelopers(runner, name)

/** The accounts of developers, by name. */
export async function findAccounts(runner: QueryRunner, ids: number[]): Promise<Account[]> {
  const { sql } = runner
  const activeKeys = sql('api_keys')
    .whereRaw('api_keys.developer_id = developers.id')
    .whereNull('revoked_at')
    .where('expires_at', '>', new Date().toISOString())
    .count('*')
    .as('active_keys')
  const rows: Omit<Account, 'apps'>[] = await sql('developers')
    .whereIn('id', ids)
    .orderBy('name')
    .select('id', 'name', 'created_at', 'contact', activeKeys)
  const states = await countAppsByState(runner, ids)
  return rows.map((row) => ({ ...row, apps: states.get(row.id) ?? noApps }))
}

/** A page of the developers by name, and the total. */
export async function findDevelopers(
  runner: QueryRunner,
  limit: number,
  offset: number,
): Promise<{ developers: Account[]; total: number }> {
  const { sql } = runner
  const total = await countRows(sql('developers'))
  const ids = await sql('developers').orderBy('name').limit(limit).offset(offset).pluck('id')
  return { developers: await findAccounts(runner, ids), total }
}

/** Adds developers whose names are free and valid. */
export async function addDevelopers(
  runner: QueryRunner,
  names: string[],
  created_at: string,
): Promise<Developer[]> {
  const changed_at = new Date().toISOString()
  const added = await runner.insertRows(
    'developers',
    names.map((name) => ({ name, created_at, changed_at })),
  )
  await runner.names.index(added.map(toIndexedDeveloper))
  return added
}

/**
 * The developer of exactly this name, added if there is none. Throws an OperatorError if the name is
 * invalid.
 */
export async function findOrAddDeveloper(
  runner: QueryRunner,
  text: string,
): Promise<Contact & { isNew: boolean }> {
  const known = await findDeveloper(runner, text)
  if (known) return { ...known, isNew: false }
  const name = parseDeveloperName(text)
  const now = new Date().toISOString()
  const added = await runner
    .sql('developers')
    .insert({ name, created_at: now, changed_at: now })
    .onConflict('name')
    .ignore()
    .returning(['id', 'name'])
  await runner.names.index(added.map(toIndexedDeveloper))
  return { ...(await lookUpDeveloper(runner, name)), isNew: added.length > 0 }
}

/**
 * Renames a developer, and indexes their listed apps again. Throws an OperatorError if there is no
 * such developer, or if the name is invalid or taken.
 */
export async function renameDeveloper(
  runner: QueryRunner,
  from: string,
  text: string,
  actor: Actor,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Developer & { listed_apps: number }> {
  const { sql } = runner
  const name = parseDeveloperName(text)
  const { id, name: before } = await lookUpDeveloper(runner, from)
  // An update locks an app before its developer. Locking in the same order avoids deadlocks.
  await sql('apps').where({ developer_id: id }).orderBy('id').forUpdate().select('id')
  if (name === before)
    throw new OperatorError(`the developer already has the name ${JSON.stringify(name)}`)
  const at = new Date().toISOString()
  if (await findDeveloper(runner, name))
    throw new OperatorError(`there is already a developer ${JSON.stringify(name)}`)
  // Not locked before: PostgreSQL's lock for another name is stronger, and a transfer could get its
  // own between the two. None if another transaction has renamed or removed the developer.
  runner.markPublicChange()
  const renamed = await sql('developers')
    .where({ id, name: before })
    .update({ name, changed_at: at })
  if (renamed === 0) throw developerNotFound(from)
  await runner.names.index([toIndexedDeveloper({ id, name })])
  await recordEntry(runner, actor, {
    action: 'developer rename',
    at,
    developer_id: id,
    before: { name: before },
    after: { name },
  })
  return { id, name, listed_apps: await reindexAppsOf(runner, id, onProgress) }
}

/**
 * Sets a developer's contact, or removes it (null). The audit log says only that it was changed, since
 * its entries are kept forever. Throws an OperatorError if no developer has exactly this name, or if
 * the address is invalid.
 */
export async function setContact(
  runner: QueryRunner,
  name: string,
  address: string | null,
  actor: Actor,
): Promise<Contact> {
  const contact = address === null ? null : parseEmailAddress(address)
  const { contact: before, ...developer } = await lookUpDeveloper(runner, name)
  if (contact !== before) {
    // None if another transaction has renamed or removed the developer.
    const changed = await runner.sql('developers').where(developer).update({ contact })
    if (changed === 0) throw developerNotFound(name)
    await recordEntry(runner, actor, {
      action: 'developer contact',
      at: new Date().toISOString(),
      developer_id: developer.id,
      after: { contact: 'changed' },
    })
  }
  return { ...developer, contact }
}

/**
 * Removes a developer. Throws an OperatorError if there is none; a foreign key rejects one with apps
 * or active keys.
 */
export async function removeDeveloper(
  runner: QueryRunner,
  text: string,
  actor: Actor,
): Promise<Developer> {
  const { sql } = runner
  const { id, name } = await lookUpDeveloper(runner, text)
  const at = new Date().toISOString()
  const keys = sql('api_keys').where({ developer_id: id })
  await keys.where((key) => key.whereNotNull('revoked_at').orWhere('expires_at', '<=', at)).delete()
  await sql('idempotency_keys').where({ developer_id: id }).delete()
  // None if another transaction has removed or renamed the developer in the meantime.
  if ((await sql('developers').where({ id, name }).delete()) === 0) throw developerNotFound(text)
  await runner.names.remove(developerEntry(id))
  await recordEntry(runner, actor, {
    action: 'developer remove',
    at,
    developer_id: id,
    before: { name },
    after: { name: null },
  })
  return { id, name }
}

/** The key is only in the result; the database has its hash. */
export async function issueKey(
  runner: QueryRunner,
  developer: Developer,
  actor: Actor,
  options: {
    name?: string | undefined
    expiresAt?: string | undefined
    app_id?: number | null
    read_only?: boolean
  } = {},
): Promise<IssuedKey> {
  const { key, id, created_at, expires_at, sha256 } = generateKey('developer', options.expiresAt)
  const { app_id = null, read_only = false } = options
  const name = options.name === undefined ? null : parseKeyName(options.name)
  const issued = { id, name, expires_at, app_id, read_only }
  const { id: developer_id, name: developer_name } = developer
  const hidden = { developer_id, sha256, created_at, read_only: Number(read_only) }
  await runner.sql('api_keys').insert({ ...issued, ...hidden })
  await recordEntry(runner, actor, {
    action: 'key issue',
    at: created_at,
    developer_id,
    after: issued,
  })
  return { key, developer_name, ...issued }
}

/** A page of the keys, or of those of a developer, by developer, oldest first, and the total. */
export async function findKeys(
  { sql }: QueryRunner,
  developerId: number | undefined,
  limit: number,
  offset: number,
): Promise<{ keys: StoredKey[]; total: number }> {
  const keys = sql('api_keys')
  if (developerId !== undefined) keys.where({ developer_id: developerId })
  const total = await countRows(keys)
  const rows: (Omit<StoredKey, 'state' | 'read_only'> & Pick<ApiKeyRow, 'read_only'>)[] = await keys
    .join('developers', 'developers.id', 'api_keys.developer_id')
    .orderBy(['developers.name', 'api_keys.created_at', 'api_keys.id'])
    .limit(limit)
    .offset(offset)
    .select('api_keys.id', 'api_keys.name', 'developers.name as developer_name')
    .select('developers.contact as developer_contact')
    .select('api_keys.created_at', 'expires_at', 'last_used_at', 'revoked_at')
    .select('app_id', 'read_only')
  const now = Date.now()
  return {
    keys: rows.map((row) => ({
      ...row,
      read_only: row.read_only === 1,
      state: keyState(row, now),
    })),
    total,
  }
}

/**
 * Takes effect at the next request. Throws an OperatorError if the key does not exist or is revoked
 * already.
 */
export async function revokeKey(
  runner: QueryRunner,
  id: string,
  actor: Actor,
): Promise<{ id: string; developer_name: string; revoked_at: string }> {
  const { sql } = runner
  const key = await sql('api_keys')
    .join('developers', 'developers.id', 'api_keys.developer_id')
    .where('api_keys.id', id)
    .forUpdate('api_keys')
    .first('api_keys.developer_id', 'developers.name as developer_name', 'api_keys.revoked_at')
  if (!key) throw new OperatorError(`there is no key ${keyPrefix(id)}`)
  if (key.revoked_at)
    throw new OperatorError(`the key ${keyPrefix(id)} was already revoked at ${key.revoked_at}`)
  const revoked_at = new Date().toISOString()
  await sql('api_keys').where({ id }).update({ revoked_at })
  await recordEntry(runner, actor, {
    action: 'key revoke',
    at: revoked_at,
    developer_id: key.developer_id,
    before: { id, revoked_at: null },
    after: { id, revoked_at },
  })
  return { id, developer_name: key.developer_name, revoked_at }
}

const findDeveloper = ({ sql }: QueryRunner, name: string): Promise<Contact | undefined> =>
  sql('developers').where({ name: name.trim() }).first('id', 'name', 'contact')

const developerNotFound = (name: string) =>
  new OperatorError(`there is no developer ${JSON.stringify(name.trim())}`)
