import { hash, randomBytes } from 'node:crypto'
import { ServiceError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { ModeratorRow } from '../db/rows.ts'
import { assertSchema, type SchemaColumn, schemaColumn } from '../db/schema-age.ts'
import { keyState } from './keys.ts'

/** The sessions of moderators on the moderation page. Only the hashes of their tokens are stored. */

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

/** Begins a session, and returns its token. Removes the sessions that have ended. */
export async function beginSession({ sql }: QueryRunner, moderatorId: string): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await sql('operator_sessions').where('last_used_at', '<', startOf(sessionLifetime)).delete()
  await sql('operator_sessions').insert({
    sha256: hashOf(token),
    operator_id: moderatorId,
    last_used_at: new Date().toISOString(),
  })
  return token
}

export async function endSessions({ sql }: QueryRunner, tokens: string[]): Promise<void> {
  await sql('operator_sessions').whereIn('sha256', tokens.map(hashOf)).delete()
}

export async function recordSessionUse({ sql }: QueryRunner, token: string): Promise<void> {
  await sql('operator_sessions')
    .where({ sha256: hashOf(token) })
    .update({ last_used_at: new Date().toISOString() })
}

/** Stores that a session has opened an app from a queue. */
export async function recordOpenedApp(
  { sql }: QueryRunner,
  token: string,
  appId: number,
): Promise<void> {
  await sql('operator_sessions')
    .where({ sha256: hashOf(token) })
    .update({ opened_app_id: appId, opened_at: new Date().toISOString() })
}

/** The apps that other sessions have open from a queue; of several, who opened it first. */
export async function findAppsOpenElsewhere(
  { rows }: QueryRunner,
  token: string,
): Promise<Map<number, OpenedApp>> {
  const found = await rows<OpenedApp & { id: number }>(
    `select opened_app_id as id, opened_at as since, operators.name as moderator
     from operator_sessions join operators on operators.id = operator_sessions.operator_id
     where operator_sessions.sha256 <> ? and opened_at > ?
     order by opened_at desc`,
    [hashOf(token), startOf(openTime)],
  )
  return new Map(found.map(({ id, ...opened }) => [id, opened]))
}

/**
 * The first of the tokens that has a session, and whether its use must be stored. Throws
 * `unauthorized` if none has: a session may have ended, or its key be no longer valid.
 */
export async function findSession(
  { rows }: QueryRunner,
  tokens: string[],
): Promise<Session & { isUseDue: boolean }> {
  const now = Date.now()
  const found = await rows<
    ModeratorRow &
      SchemaColumn & {
        session_sha256: string
        session_used_at: string
        opened_app_id: number | null
        opened_at: string | null
      }
  >(
    `select operators.*, ${schemaColumn}, operator_sessions.sha256 as session_sha256,
       operator_sessions.last_used_at as session_used_at, opened_app_id, opened_at
     from operator_sessions join operators on operators.id = operator_sessions.operator_id
     where operator_sessions.sha256 in (${tokens.map(() => '?')})`,
    tokens.map(hashOf),
  )
  for (const token of tokens) {
    const row = found.find(({ session_sha256 }) => session_sha256 === hashOf(token))
    if (!row || row.session_used_at < startOf(sessionLifetime) || keyState(row, now) !== 'active')
      continue
    assertSchema(row)
    const { session_sha256, session_used_at, opened_app_id, opened_at, schema, ...moderator } = row
    const isOpen = opened_app_id !== null && (opened_at ?? '') > startOf(openTime)
    return {
      moderator,
      token,
      ...(isOpen && { openApp: opened_app_id }),
      isUseDue: Date.parse(session_used_at) <= now - useInterval,
    }
  }
  throw notSignedIn()
}

export const notSignedIn = (): ServiceError =>
  new ServiceError('unauthorized', 'You are not signed in.')

const hashOf = (token: string) => hash('sha256', token)

/** The time at which a span that ends now has begun. */
const startOf = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString()
