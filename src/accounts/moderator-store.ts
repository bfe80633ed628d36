import { type Actor, recordEntry } from '../audit/audit-store.ts'
import { OperatorError } from '../contract/errors.ts'
import { parsePersonName, personNameFormat } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { ModeratorRow } from '../db/rows.ts'
import { generateKey, type KeyState, keyState } from './keys.ts'

/** Moderators, who sign in to the moderation page. */

/** A moderator without the hash of the key. */
type Moderator = Omit<ModeratorRow, 'sha256'> & { state: KeyState }

/**
 * Adds a moderator, or a further key of one. The sign-in key is only in the result. Throws an
 * OperatorError if the name is invalid.
 */
export async function addModerator(
  runner: QueryRunner,
  text: string,
  actor: Actor,
  expiresAt?: string,
): Promise<{ id: string; key: string; name: string; expires_at: string }> {
  const name = parsePersonName(text)
  if (name === undefined)
    throw new OperatorError(`the name of a moderator must be ${personNameFormat}`)
  const { key, ...row } = generateKey('moderator', expiresAt)
  const { id, created_at, expires_at } = row
  await runner.sql('operators').insert({ name, ...row })
  await recordEntry(runner, actor, {
    action: 'moderator add',
    at: created_at,
    after: { id, name, expires_at },
  })
  return { id, key, name, expires_at }
}

/** By name, oldest first. */
export async function findModerators({ sql }: QueryRunner): Promise<Moderator[]> {
  const rows = await sql('operators')
    .orderBy(['name', 'created_at', 'id'])
    .select('id', 'name', 'created_at', 'expires_at', 'revoked_at', 'last_used_at')
  return rows.map((row) => ({ ...row, state: keyState(row, Date.now()) }))
}

/**
 * Revokes a sign-in key, and ends its sessions. Throws an OperatorError if the key does not exist or
 * is revoked already.
 */
export async function revokeModerator(
  runner: QueryRunner,
  id: string,
  actor: Actor,
): Promise<{ id: string; name: string; revoked_at: string }> {
  const { sql } = runner
  const moderator = await sql('operators').where({ id }).forUpdate().first()
  if (!moderator) throw new OperatorError(`there is no moderator with the key ${id}`)
  if (moderator.revoked_at)
    throw new OperatorError(`the key was already revoked at ${moderator.revoked_at}`)
  const revoked_at = new Date().toISOString()
  await sql('operators').where({ id }).update({ revoked_at })
  await sql('operator_sessions').where({ operator_id: id }).delete()
  const { name } = moderator
  await recordEntry(runner, actor, {
    action: 'moderator revoke',
    at: revoked_at,
    before: { id, name, revoked_at: null },
    after: { id, name, revoked_at },
  })
  return { id, name, revoked_at }
}
