import type { Caller } from '../contract/contract.ts'
import type { QueryRunner } from '../db/engine.ts'
import { pick } from '../util/helpers.ts'

/**
 * The author of a change: a developer (by key), or an operator (by account on the machine,
 * optionally with a name). For a moderator, this is the account that runs the moderation page.
 */
export type Actor = Caller | Operator

export type Operator = Readonly<{
  /** The account that runs the program. */
  operator: string
  /** Claimed by `OPERATOR`, or the name of the moderator. */
  operatorName?: string
  /** The id of the sign-in key, if a moderator acts. */
  operatorId?: string
}>

/**
 * Named after the command or operation; `package name release` is a deleted app's, whose developer
 * gives its package name to another app, `app hide` that of an app that a mirror's source lacks.
 * Entries of earlier versions also have `operator add` and `operator revoke`.
 */
export type Action =
  | 'app create'
  | 'app update'
  | 'app delete'
  | 'app approve'
  | 'app reject'
  | 'app reopen'
  | 'app restore'
  | 'app transfer'
  | 'package name release'
  | 'app import'
  | 'app hide'
  | 'app counters'
  | 'review remove'
  | 'key issue'
  | 'key revoke'
  | 'developer contact'
  | 'developer rename'
  | 'developer remove'
  | 'category add'
  | 'category rename'
  | 'category remove'
  | 'moderator add'
  | 'moderator revoke'

/**
 * An entry is about an app and its owner, a developer, a category, or a moderator. `before` and
 * `after` hold the columns that differ.
 */
export type NewAuditEntry = { action: Action; at: string; before?: object; after: object } & (
  | { app_id: number; developer_id: number }
  | { developer_id: number }
  | { category_id: number }
  | { action: 'moderator add' | 'moderator revoke' }
)

const actorColumns = (actor: Actor) =>
  'operator' in actor
    ? {
        operator: actor.operator,
        operator_name: actor.operatorName ?? null,
        operator_id: actor.operatorId ?? null,
        key_id: null,
      }
    : { operator: null, operator_name: null, operator_id: null, key_id: actor.keyId }

/** Writes an entry, in the transaction of the change. */
export const recordEntry = (
  runner: QueryRunner,
  actor: Actor,
  entry: NewAuditEntry,
): Promise<void> => recordEntries(runner, [{ ...entry, actor }])

/** Writes entries, which can be of several actors, in the transaction of the changes. */
export async function recordEntries(
  runner: QueryRunner,
  entries: (NewAuditEntry & { actor: Actor })[],
): Promise<void> {
  const rows = entries.map(({ before, after, actor, ...entry }) => ({
    app_id: null,
    developer_id: null,
    category_id: null,
    ...entry,
    ...actorColumns(actor),
    before: before === undefined ? null : JSON.stringify(before),
    after: JSON.stringify(after),
  }))
  await runner.insertRows('audit', rows)
}

/** The columns in which two states differ. A column that is missing in both does not differ. */
export function difference<Row extends object>(
  before: Row | undefined,
  after: Row,
  columns: readonly (keyof Row)[],
): { before?: Partial<Row>; after: Partial<Row> } {
  const changed = columns.filter((column) => before?.[column] !== after[column])
  return { ...(before && { before: pick(before, ...changed) }), after: pick(after, ...changed) }
}
