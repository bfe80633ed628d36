import { hash, randomBytes } from 'node:crypto'
import { type Actor, recordEntry } from '../audit/audit-store.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { parsePersonName, personNameFormat } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { ModeratorRow } from '../db/rows.ts'
import { defaultKeyLifetime } from './account-store.ts'
import { generateKey, keyState } from './keys.ts'

/** Moderators, who sign in to the moderation page, and their sessions. */

/** A moderator without the hash of the key. */
type StoredModerator = Omit<ModeratorRow, 'sha256'>

/** Milliseconds after its last use at which a session ends, and at which its use is stored again. */
const sessionLifetime = 12 * 60 * 60 * 1000
const useInterval = 5 * 60 * 1000
/** Milliseconds after which an app that was opened from a queue no longer counts as open. */
const openTime = 5 * 60 * 1000

/** A session and its moderator. */
export type Session = {
  moderator: ModeratorRow
  token: string
  /** The app that it has open from a queue. */
  openApp?: number | undefined
}

/** Who has had an app open since when. */
export type OpenedApp = { moderator: string; since: string }

export const moderatorStore = (runner: QueryRunner) => {
  const { sql } = runner

  return {
    /**
     * Adds a moderator, or a further key of one. The sign-in key is only in the result. Throws an
     * OperatorError if the name is invalid.
     */
    async add(text: string, actor: Actor, expiresAt?: string) {
      const name = parsePersonName(text)
      if (name === undefined)
        throw new OperatorError(`the name of a moderator must be ${personNameFormat}`)
      const { id, key, sha256 } = generateKey('moderator')
      const now = Date.now()
      const created_at = new Date(now).toISOString()
      const expires_at = expiresAt ?? new Date(now + defaultKeyLifetime).toISOString()
      await sql('operators').insert({ id, name, sha256, created_at, expires_at })
      await recordEntry(runner, actor, {
        action: 'moderator add',
        at: created_at,
        after: { id, name, expires_at },
      })
      return { id, key, name, expires_at }
    },

    /** By name, oldest first. */
    async all(): Promise<(StoredModerator & { state: ReturnType<typeof keyState> })[]> {
      const rows: StoredModerator[] = await sql('operators')
        .orderBy(['name', 'created_at', 'id'])
        .select('id', 'name', 'created_at', 'expires_at', 'revoked_at', 'last_used_at')
      return rows.map((row) => ({ ...row, state: keyState(row, Date.now()) }))
    },

    /**
     * Ends the moderator's sessions, too. Throws an OperatorError if the key does not exist or is
     * revoked already.
     */
    async revoke(id: string, actor: Actor) {
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
    },

    /** Begins a session, and returns its token. Removes the sessions that have ended. */
    async beginSession(moderatorId: string): Promise<string> {
      const token = randomBytes(32).toString('base64url')
      await sql('operator_sessions').where('last_used_at', '<', startOf(sessionLifetime)).delete()
      await sql('operator_sessions').insert({
        sha256: hashOf(token),
        operator_id: moderatorId,
        last_used_at: new Date().toISOString(),
      })
      return token
    },

    async endSessions(tokens: string[]) {
      await sql('operator_sessions').whereIn('sha256', tokens.map(hashOf)).delete()
    },

    /** Stores that a session is in use. */
    async useSession(token: string) {
      await sql('operator_sessions')
        .where({ sha256: hashOf(token) })
        .update({ last_used_at: new Date().toISOString() })
    },

    /** Stores that a session has opened an app from a queue. */
    async openApp(token: string, appId: number) {
      await sql('operator_sessions')
        .where({ sha256: hashOf(token) })
        .update({ opened_app_id: appId, opened_at: new Date().toISOString() })
    },

    /** The apps that other sessions have open from a queue; of several, who opened it first. */
    async openElsewhere(token: string): Promise<Map<number, OpenedApp>> {
      const rows = await runner.rows<OpenedApp & { id: number }>(
        `select opened_app_id as id, opened_at as since, operators.name as moderator
         from operator_sessions join operators on operators.id = operator_sessions.operator_id
         where operator_sessions.sha256 <> ? and opened_at > ?
         order by opened_at desc`,
        [hashOf(token), startOf(openTime)],
      )
      return new Map(rows.map(({ id, ...opened }) => [id, opened]))
    },

    /**
     * The first of the tokens that has a session, and whether its use must be stored. Throws
     * `unauthorized` if none has: a session may have ended, or its key be no longer valid.
     */
    async findSession(tokens: string[]): Promise<Session & { isUseDue: boolean }> {
      const now = Date.now()
      const rows = await runner.rows<
        ModeratorRow & {
          session_sha256: string
          session_used_at: string
          opened_app_id: number | null
          opened_at: string | null
        }
      >(
        `select operators.*, operator_sessions.sha256 as session_sha256,
           operator_sessions.last_used_at as session_used_at, opened_app_id, opened_at
         from operator_sessions join operators on operators.id = operator_sessions.operator_id
         where operator_sessions.sha256 in (${tokens.map(() => '?')})`,
        tokens.map(hashOf),
      )
      for (const token of tokens) {
        const row = rows.find(({ session_sha256 }) => session_sha256 === hashOf(token))
        if (
          !row ||
          row.session_used_at < startOf(sessionLifetime) ||
          keyState(row, now) !== 'active'
        )
          continue
        const { session_sha256, session_used_at, opened_app_id, opened_at, ...moderator } = row
        const isOpen = opened_app_id !== null && (opened_at ?? '') > startOf(openTime)
        return {
          moderator,
          token,
          ...(isOpen && { openApp: opened_app_id }),
          isUseDue: Date.parse(session_used_at) <= now - useInterval,
        }
      }
      throw notSignedIn()
    },
  }
}

export const notSignedIn = () =>
  new ServiceError(
    'unauthorized',
    'You are not signed in, so nothing was done. Sign in, go back, and try again.',
  )

const hashOf = (token: string) => hash('sha256', token)

/** The time at which a span that ends now has begun. */
const startOf = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString()
