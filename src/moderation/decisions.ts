import { lookUpDeveloper } from '../accounts/account-store.ts'
import type { Actor } from '../audit/audit-store.ts'
import { type AuditEntry, findNewestEntries } from '../audit/read-entries.ts'
import { type NamedAppRow, saveApp, timestampAfter } from '../catalogue/app-store.ts'
import {
  canDecide,
  type Decision,
  decidedColumns,
  packageKey,
  statusAfterDecision,
} from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { type AppReference, parseReason } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import { type QueryRunner, withoutIndex } from '../db/engine.ts'
import type { AppRow, AppStatus } from '../db/rows.ts'
import { requireApp } from './app-details.ts'

/** Decisions about apps, for the command line and the moderation page. */

export type DecisionResult = { id: number; slug: string; status: AppStatus }

/** A package name that a deleted app gave up, and the app that has it now; null if none does. */
type LostPackageName = { name: string; app_id: number | null }

/** With the package name that the app does not get back, if there is one. */
export type Restoration = DecisionResult & { lost_package_name?: LostPackageName }

export type DecisionOptions = {
  /** Required for a rejection; the owner reads it. */
  reason?: string | undefined
  /** Throws if the app has another revision now. */
  revision?: string | undefined
}

/**
 * Throws an OperatorError if the app's status does not allow the decision. `before` is the app that
 * it is about.
 */
export async function decideApp(
  runner: QueryRunner,
  decision: Decision,
  id: number,
  actor: Actor,
  { reason, revision }: DecisionOptions = {},
): Promise<DecisionResult & { before: AppRow }> {
  const rejection_reason = decision === 'reject' ? parseReason(reason ?? '') : null
  const app = await lockActiveApp(runner, id)
  if (!canDecide(decision, app)) throw new OperatorError(`app ${id} is already ${app.status}`)
  assertRevision(app, revision)
  const status = statusAfterDecision[decision]
  const now = timestampAfter(app.updated_at)
  const approved_at = status === 'approved' ? (app.approved_at ?? now) : app.approved_at
  const changes = {
    updated_at: now,
    status,
    approved_at,
    rejection_reason,
    // Reopened, it waits from now on, and shows the owner's changes that nobody has reviewed.
    ...(decision === 'reopen' ? { unreviewed_since: now } : decidedColumns(now)),
  }
  await saveApp(runner, `app ${decision}`, app, changes, actor)
  return { id, slug: app.slug, status, before: app }
}

/**
 * Restores a deleted app in the status it had, without a package name that it gave up. Throws an
 * OperatorError if it is not deleted, or has another revision now.
 */
export async function restoreApp(
  runner: QueryRunner,
  id: number,
  actor: Actor,
  revision?: string,
): Promise<Restoration> {
  const app = await lockApp(runner, id)
  if (!app.deleted_at) throw new OperatorError(`app ${id} is not deleted; it is ${app.status}`)
  assertRevision(app, revision)
  await saveApp(runner, 'app restore', app, { deleted_at: null }, actor)
  const lost = await findLostPackageName(runner, id, app.deleted_at)
  return { id, slug: app.slug, status: app.status, ...(lost && { lost_package_name: lost }) }
}

/** Undefined if the app gave up none since it was deleted, or has it again. */
async function findLostPackageName(
  { sql }: QueryRunner,
  id: number,
  deletedAt: string,
): Promise<LostPackageName | undefined> {
  const entry = await sql('audit')
    .where({ app_id: id, action: 'package name release' })
    .where('at', '>=', deletedAt)
    .orderBy('id', 'desc')
    .first('before')
  if (!entry?.before) return undefined
  const name: string = JSON.parse(entry.before).package_name
  const holder = await sql('apps')
    .where({ package_key: packageKey(name) })
    .first('id')
  return holder?.id === id ? undefined : { name, app_id: holder?.id ?? null }
}

/** Says which app has the package name that a restored app does not get back. */
export const describeLostName = ({ name, app_id }: LostPackageName): string =>
  `Its package name ${name} ${app_id === null ? 'was given up; no app has it' : `belongs to app ${app_id}`} now.`

/** Throws an OperatorError if there is no such developer, or the app is theirs already. */
export async function transferApp(
  runner: QueryRunner,
  id: number,
  to: string,
  actor: Actor,
): Promise<{ id: number; slug: string; developer_name: string }> {
  const app = await lockActiveApp(runner, id)
  const developer = await lookUpDeveloper(runner, to)
  if (developer.id === app.developer_id)
    throw new OperatorError(`app ${id} already belongs to ${JSON.stringify(developer.name)}`)
  await saveApp(runner, 'app transfer', app, { developer_id: developer.id }, actor)
  return { id, slug: app.slug, developer_name: developer.name }
}

async function lockApp(runner: QueryRunner, id: number): Promise<NamedAppRow> {
  // Before the joined rows are read: a statement that joins and locks may see the two in different
  // versions.
  await runner.sql('apps').where({ id }).forUpdate().first('id')
  return requireApp(runner, id)
}

/** Throws an OperatorError if there is no such app, or it is deleted. */
export async function lockActiveApp(runner: QueryRunner, id: number): Promise<NamedAppRow> {
  const app = await lockApp(runner, id)
  if (app.deleted_at) throw new OperatorError(`app ${id} is deleted now; it must be restored first`)
  return app
}

/** Throws an OperatorError if the app has another revision than the given one. */
function assertRevision({ id, revision }: AppRow, given: string | undefined) {
  if (given === undefined || given === revision) return
  throw new OperatorError(`app ${id} has changed since revision ${given}; look at it again`)
}

/** `reason` is empty unless the decision is to reject. */
export type ReasonedDecision = { decision: Decision; reason: string }

export type AppDecision = AppReference & ReasonedDecision

/** `before` is the app that the decision is about. After an outage, it may have been decided. */
type DecisionAttempt =
  | (DecisionResult & { before: AppRow })
  | { id: number; error: OperatorError | ServiceError }

/** Applies each decision in its own transaction. A refusal is a result, too. */
export async function* decideEach(
  database: Database,
  decisions: AppDecision[],
  actor: Actor,
): AsyncGenerator<DecisionAttempt> {
  for (const { id, decision, ...options } of decisions) {
    try {
      yield await database.write((runner) => decideApp(runner, decision, id, actor, options), {
        app: id,
      })
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
  isSame: (last: AuditEntry) => boolean,
): Promise<boolean> {
  const [last] = await findNewestEntries(runner, { appId }, 1)
  return last?.operator_id === moderatorId && isSame(last)
}

/** The apps for which `isRepeated` finds this decision. */
export async function findRepeated(
  runner: QueryRunner,
  ids: number[],
  { decision, reason }: ReasonedDecision,
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

/** Milliseconds. A page that says what was decided may be loaded again. */
const ownActionTime = 60 * 60 * 1000

/** The actions of moderators of which the next page says that they were done. */
const ownActions = [
  'app approve',
  'app reject',
  'app reopen',
  'app restore',
  'review remove',
] as const
export type OwnAction = (typeof ownActions)[number]

const decidedColumnNames = [
  'id',
  'revision',
  'name',
  'status',
  'deleted_at',
  'unreviewed_since',
  'decided_at',
] as const

export type DecidedApp = Pick<AppRow, (typeof decidedColumnNames)[number]>

/**
 * `action` is the moderator's last one on the app within the last hour. `canUndo`: it has decided a
 * pending app, which nobody has decided, changed or deleted since. `lostName`: it was restored
 * without that package name.
 */
export type DoneApp = DecidedApp & {
  action: OwnAction
  canUndo: boolean
  lostName: LostPackageName | undefined
}

/** By id. */
export type DecidedApps = { done: DoneApp[]; refused: DecidedApp[] }

/** The apps that a moderator has decided, of the given ones, and those for which it was refused. */
export async function findDecidedApps(
  runner: QueryRunner,
  decided: number[],
  refused: number[],
  moderatorId: string,
): Promise<DecidedApps> {
  const entries = await findOwnEntries(runner, decided, moderatorId)
  const apps: DecidedApp[] = await runner
    .sql('apps')
    .whereIn('id', [...entries.keys(), ...refused])
    .orderBy('id')
    .select(...decidedColumnNames)
  const refusedIds = new Set(refused)
  const done: DoneApp[] = []
  for (const app of apps) {
    const entry = entries.get(app.id)
    if (!entry || refusedIds.has(app.id)) continue
    const { action, before } = entry
    const lostName =
      action === 'app restore' && before !== null
        ? await findLostPackageName(runner, app.id, JSON.parse(before).deleted_at)
        : undefined
    done.push({ ...app, action, canUndo: canUndo(app, entry), lostName })
  }
  return { done, refused: apps.filter(({ id }) => refusedIds.has(id)) }
}

type OwnEntry = { app_id: number; at: string; action: OwnAction; before: string | null }

const canUndo = (app: DecidedApp, { at, before }: OwnEntry): boolean =>
  before !== null &&
  JSON.parse(before).status === 'pending' &&
  app.decided_at === at &&
  app.unreviewed_since === null &&
  app.deleted_at === null

/** The last entry about each app. */
async function findOwnEntries(
  { sql }: QueryRunner,
  ids: number[],
  moderatorId: string,
): Promise<Map<number, OwnEntry>> {
  if (ids.length === 0) return new Map()
  const entries: OwnEntry[] = await sql('audit')
    // Literal, as in the partial index. An app can have many entries.
    .whereRaw('operator_id is not null')
    .where({ operator_id: moderatorId })
    .where('at', '>=', new Date(Date.now() - ownActionTime).toISOString())
    .whereRaw(`${withoutIndex('app_id')} in (${ids.map(() => '?')})`, ids)
    .whereIn('action', ownActions)
    .orderBy('id')
    .select('app_id', 'at', 'action', 'before')
  return new Map(entries.map((entry) => [Number(entry.app_id), entry]))
}
