import type { Actor } from '../audit/audit-store.ts'
import { type Decision, isListed } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { AppRow } from '../db/rows.ts'
import type { AppReference } from './app-reference.ts'
import { type DecisionOptions, type DecisionResult, moderationStore } from './moderation-store.ts'

/** Decisions about apps, for the command line and the moderation page. */

export type GivenDecision = AppReference & { decision: Decision; reason: string }

/** `before` is the app that the decision is about. After an outage, it may have been decided. */
type DecisionAttempt =
  | (DecisionResult & { before: AppRow })
  | { id: number; error: string; isUnavailable: boolean }

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
        {
          changesPublicData: ({ before, status }) =>
            !options.dryRun && (isListed(before) || status === 'approved'),
        },
      )
    } catch (error) {
      if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
      yield { id, error: error.message, isUnavailable: error instanceof ServiceError }
    }
  }
}

/** Restores a deleted app. Throws an OperatorError as `moderationStore.restore` does. */
export const restoreApp = (database: Database, { id, revision }: AppReference, actor: Actor) =>
  database.write((runner) => moderationStore(runner).restore(id, actor, revision), {
    changesPublicData: ({ status }) => status === 'approved',
  })
