import { type Actor, auditStore } from '../audit/audit-store.ts'
import type { Decision } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow } from '../db/rows.ts'
import type { AppReference } from './app-reference.ts'
import { type DecisionOptions, type DecisionResult, moderationStore } from './moderation-store.ts'

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
  options: Pick<DecisionOptions, 'asOf' | 'dryRun'> = {},
): AsyncGenerator<DecisionAttempt> {
  for (const { id, decision, ...given } of decisions) {
    try {
      yield await database.write(
        (runner) => moderationStore(runner).decide(decision, id, actor, { ...given, ...options }),
        { app: id },
      )
    } catch (error) {
      if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
      yield { id, error }
    }
  }
}

/**
 * The apps about which the last entry is this decision of this moderator: a form was sent twice, as by
 * a double click.
 */
export async function findRepeated(
  runner: QueryRunner,
  ids: number[],
  { decision, reason }: Omit<GivenDecision, keyof AppReference>,
  moderatorId: string,
): Promise<Set<number>> {
  const repeated = new Set<number>()
  for (const appId of ids) {
    const [last] = await auditStore(runner).newest({ appId }, 1)
    const isRepeated =
      last?.action === `app ${decision}` &&
      last.operator_id === moderatorId &&
      (last.after.rejection_reason ?? '') === reason
    if (isRepeated) repeated.add(appId)
  }
  return repeated
}

/** Restores a deleted app. Throws an OperatorError as `moderationStore.restore` does. */
export const restoreApp = (database: Database, { id, revision }: AppReference, actor: Actor) =>
  database.write((runner) => moderationStore(runner).restore(id, actor, revision), { app: id })
