import { type Actor, type AuditEntry, findNewestEntries } from '../audit/audit-store.ts'
import type { Decision } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import type { AppReference } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import { type QueryRunner, withoutIndex } from '../db/engine.ts'
import type { AppRow } from '../db/rows.ts'
import { type DecisionResult, moderationStore } from './moderation-store.ts'

/** Decisions about apps, for the command line and the moderation page. */

export type GivenDecision = AppReference & { decision: Decision; reason: string }

/** `before` is the app that the decision is about. After an outage, it may have been decided. */
type DecisionAttempt =
  | (DecisionResult & { before: AppRow })
  | { id: number; error: OperatorError | ServiceError }

/** Applies each decision in its own transaction. A refusal is a result, too. */
export async function* decideEach(
  database: Database,
  decisions: GivenDecision[],
  actor: Actor,
): AsyncGenerator<DecisionAttempt> {
  for (const { id, decision, ...given } of decisions) {
    try {
      yield await database.write(
        (runner) => moderationStore(runner).decide(decision, id, actor, given),
        { app: id },
      )
    } catch (error) {
      if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
      yield { id, error }
    }
  }
}

/**
 * Whether the last entry about an app is the given one, of this moderator: a form was sent twice, as
 * by a double click.
 */
export async function isRepeated(
  runner: QueryRunner,
  appId: number,
  moderatorId: string,
  isGiven: (last: AuditEntry) => boolean,
): Promise<boolean> {
  const [last] = await findNewestEntries(runner, { appId }, 1)
  return last?.operator_id === moderatorId && isGiven(last)
}

/** The apps for which `isRepeated` finds this decision. */
export async function findRepeated(
  runner: QueryRunner,
  ids: number[],
  { decision, reason }: Omit<GivenDecision, keyof AppReference>,
  moderatorId: string,
): Promise<Set<number>> {
  const repeated = new Set<number>()
  for (const appId of ids) {
    const isSame = await isRepeated(
      runner,
      appId,
      moderatorId,
      ({ action, after }) =>
        action === `app ${decision}` && (after.rejection_reason ?? '') === reason,
    )
    if (isSame) repeated.add(appId)
  }
  return repeated
}

/** Milliseconds. A page that reports a decision may be loaded again. */
const reportTime = 60 * 60 * 1000

/** The actions of moderators that a page reports. */
const reportedActions = [
  'app approve',
  'app reject',
  'app reopen',
  'app restore',
  'review remove',
] as const
export type ReportedAction = (typeof reportedActions)[number]

/** The last action of this moderator on each of the apps, within the last hour. */
export async function findOwnActions(
  { sql }: QueryRunner,
  ids: number[],
  moderatorId: string,
): Promise<Map<number, ReportedAction>> {
  if (ids.length === 0) return new Map()
  const entries: { app_id: number; action: ReportedAction }[] = await sql('audit')
    // Literal, as in the partial index. An app can have many entries.
    .whereRaw('operator_id is not null')
    .where({ operator_id: moderatorId })
    .where('at', '>=', new Date(Date.now() - reportTime).toISOString())
    .whereRaw(`${withoutIndex('app_id')} in (${ids.map(() => '?')})`, ids)
    .whereIn('action', reportedActions)
    .orderBy('id')
    .select('app_id', 'action')
  return new Map(entries.map(({ app_id, action }) => [Number(app_id), action]))
}

/** Restores a deleted app. Throws an OperatorError as `moderationStore.restore` does. */
export const restoreApp = (database: Database, { id, revision }: AppReference, actor: Actor) =>
  database.write((runner) => moderationStore(runner).restore(id, actor, revision), { app: id })
