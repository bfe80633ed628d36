import { randomInt } from 'node:crypto'
import type { Action, Actor } from '../audit/audit-store.ts'
import type { Caller } from '../contract/contract.ts'
import type { QueryRunner } from '../db/engine.ts'
import { listedCondition } from '../db/listed-apps.ts'
import { type AppRow, type AppStatus, appDefaults, type ReviewRow } from '../db/rows.ts'
import { required } from '../util/helpers.ts'
import { type AppChange, applySideEffects } from './app-side-effects.ts'
import { findNameToRelease } from './package-names.ts'
import { isListed, packageKey } from './policy.ts'
import { toSlug, uniqueSlugs } from './slugs.ts'

/** An app with the names of its developer and category. */
export type NamedAppRow = AppRow & {
  developer_name: string
  category_name: string
  category_slug: string
}

/** A query for the apps with these ids, in the order of the ids. Its rows are `NamedAppRow`s. */
export const namedApps = ({ sql }: QueryRunner, ids: readonly number[]) =>
  sql('apps')
    .join('developers', 'developers.id', 'apps.developer_id')
    .join('categories', 'categories.id', 'apps.category_id')
    .whereIn('apps.id', ids)
    .orderBy('apps.id')
    .select('apps.*', 'developers.name as developer_name')
    .select('categories.name as category_name', 'categories.slug as category_slug')

/** The apps with these ids, which exist, in the order of `ids`. */
export async function findNamedApps(runner: QueryRunner, ids: number[]): Promise<NamedAppRow[]> {
  const rows: NamedAppRow[] = await namedApps(runner, ids)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => required(byId.get(id), `app ${id}`))
}

export type AppWithReviews = NamedAppRow & { reviews: AppReview[] }
export type AppReview = Omit<ReviewRow, 'app_id'>

export const reviewColumns = ['id', 'reviewer_name', 'rating', 'comment', 'created_at'] as const
export const newestFirst = 'created_at desc, id desc'
const newestReviews = `(select * from reviews where app_id = apps.id order by ${newestFirst} limit 100) as newest`

/** The number of apps in each state. A deleted app counts only as deleted. */
export type StateCounts = Readonly<Record<AppStatus | 'deleted', number>>
export const noApps: StateCounts = { pending: 0, approved: 0, rejected: 0, deleted: 0 }

/** An app to insert. Missing columns get a free id, a free slug or their default. */
export type NewAppRow = Omit<AppRow, 'package_key' | 'revision' | GeneratedColumn> &
  Partial<Pick<AppRow, GeneratedColumn>>
type GeneratedColumn = 'id' | 'slug' | 'changed_at' | keyof typeof appDefaults

/**
 * The columns that a caller of `saveApp` may change. It sets the other ones; ids and slugs never
 * change.
 */
export type AppRowChanges = Partial<
  Omit<AppRow, 'id' | 'slug' | 'package_key' | 'changed_at' | 'revision'>
>

export type AppSave = { before: AppRow; changes: AppRowChanges }

type NewApp = { app: NewAppRow } & Pick<AppChange, 'at' | 'actor' | 'document'>

/**
 * An app with its newest 100 reviews; undefined if it is deleted. `forUpdate` locks it until the
 * transaction ends. With `visibleTo`, a hidden app is not read: reading it takes longer and so would
 * reveal that it exists.
 */
export async function findApp(
  runner: QueryRunner,
  id: number,
  { forUpdate, visibleTo }: { forUpdate?: boolean; visibleTo?: Caller } = {},
): Promise<AppWithReviews | undefined> {
  // Locked before the joined rows are read: one statement that joins and locks may read different
  // versions of them.
  if (forUpdate) await runner.sql('apps').where({ id }).forUpdate().first('id')
  const [row] = await selectWithReviews(
    runner,
    `apps.id = ? and apps.deleted_at is null
     ${visibleTo ? "and (apps.status = 'approved' or (apps.developer_id = ? and apps.id = ?))" : ''}`,
    visibleTo ? [id, visibleTo.developerId, visibleTo.appId ?? id] : [id],
  )
  return row
}

/** The listed apps with these ids, with their newest 100 reviews, in no order. */
export const findListedApps = (
  runner: QueryRunner,
  ids: readonly number[],
): Promise<AppWithReviews[]> =>
  selectWithReviews(runner, `apps.id in (${ids.map(() => '?')}) and ${listedCondition}`, [...ids])

async function selectWithReviews(
  { rows, jsonRows }: QueryRunner,
  condition: string,
  values: number[],
): Promise<AppWithReviews[]> {
  const found = await rows<NamedAppRow & { reviews: string }>(
    `select apps.*, developers.name as developer_name, categories.name as category_name,
       categories.slug as category_slug, ${jsonRows(newestReviews, reviewColumns, newestFirst)} as reviews
     from apps
     join developers on developers.id = apps.developer_id
     join categories on categories.id = apps.category_id
     where ${condition}`,
    values,
  )
  return found.map((row) => ({ ...row, reviews: JSON.parse(row.reviews) }))
}

/** Each developer's number of apps in each state. A developer without apps is missing. */
export async function countAppsByState(
  { sql }: QueryRunner,
  developerIds: number[],
): Promise<Map<number, StateCounts>> {
  type Count = { developer_id: number; state: keyof StateCounts; count: number }
  const rows: Count[] = await sql('apps')
    .whereIn('developer_id', developerIds)
    .groupBy('developer_id', 'state')
    .select(
      'developer_id',
      sql.raw("case when deleted_at is null then status else 'deleted' end as state"),
    )
    .count({ count: '*' })
  const counts = new Map<number, StateCounts>()
  for (const { developer_id, state, count } of rows) {
    counts.set(developer_id, { ...noApps, ...counts.get(developer_id), [state]: count })
  }
  return counts
}

/** Inserts an app. Throws `package_name_taken`. */
export async function insertApp(
  runner: QueryRunner,
  app: NewAppRow,
  actor: Actor,
): Promise<AppRow> {
  const [inserted] = await insertApps(runner, [{ app, actor }])
  return required(inserted, 'the inserted app')
}

/**
 * Inserts apps of several actors with few statements. If a package name is taken, throws
 * `package_name_taken` for a single app, but an error of the database for several.
 */
export async function insertApps(
  runner: QueryRunner,
  apps: Pick<NewApp, 'app' | 'actor'>[],
): Promise<AppRow[]> {
  const changes = await insertRows(
    runner,
    apps.map((one) => ({ ...one, at: one.app.created_at })),
  )
  await applySideEffects(runner, 'app create', changes)
  return changes.map(({ after }) => after)
}

/**
 * Writes the columns that differ, if any. Returns the row as it is then. Throws
 * `package_name_taken`. A caller that writes another time, too, gives it as `updated_at`.
 */
export async function saveApp(
  runner: QueryRunner,
  action: Action,
  before: AppRow,
  changes: AppRowChanges,
  actor: Actor,
): Promise<AppRow> {
  const change = await updateRow(runner, { before, changes }, actor)
  if (!change) return before
  await applySideEffects(runner, action, [change])
  return change.after
}

/**
 * Saves apps as `saveApp` does, one after the other, and then inserts others, which can take the
 * package names that those give up. Returns the inserted rows.
 */
export async function changeApps(
  runner: QueryRunner,
  action: Action,
  { saves = [], inserts = [] }: { saves?: AppSave[]; inserts?: Omit<NewApp, 'actor'>[] },
  actor: Actor,
): Promise<AppRow[]> {
  const saved: AppChange[] = []
  for (const save of saves) {
    const change = await updateRow(runner, save, actor)
    if (change) saved.push(change)
  }
  const apps = inserts.map((app) => ({ ...app, actor }))
  const inserted = apps.length > 0 ? await insertRows(runner, apps) : []
  await applySideEffects(runner, action, [...inserted, ...saved])
  return inserted.map(({ after }) => after)
}

/** Throws `package_name_taken`. Returns undefined if nothing differs. */
async function updateRow(
  runner: QueryRunner,
  { before, changes }: AppSave,
  actor: Actor,
): Promise<AppChange | undefined> {
  if (!hasChanges(before, changes)) return undefined
  const at = changes.updated_at ?? timestampAfter(before.updated_at)
  const { package_name } = { ...before, ...changes }
  const changed_at = new Date().toISOString()
  const derived = {
    package_key: package_name && packageKey(package_name),
    changed_at,
    revision: newRevision(),
  }
  const columns = { updated_at: at, ...changes, ...derived }
  if (package_name !== before.package_name)
    await claimPackageName(runner, package_name, actor, before.id)
  await runner.sql('apps').where({ id: before.id }).update(columns)
  return { before, after: { ...before, ...columns }, at, actor }
}

/**
 * Takes the name from the actor's own deleted app, if one has it. Throws `package_name_taken` if
 * another app has it.
 */
async function claimPackageName(
  runner: QueryRunner,
  name: string | null,
  actor: Actor,
  ownId?: number,
): Promise<void> {
  const before = await findNameToRelease(runner, name, actor, ownId)
  if (before) await saveApp(runner, 'package name release', before, { package_name: null }, actor)
}

/** Throws `package_name_taken` if it is a single app. */
async function insertRows(runner: QueryRunner, apps: NewApp[]): Promise<AppChange[]> {
  const rows = await insertWithFreeSlugs(runner, apps)
  return apps.map(({ app: _app, ...change }, index) => ({
    ...change,
    after: required(rows[index], 'the row'),
  }))
}

async function insertWithFreeSlugs(runner: QueryRunner, newApps: NewApp[]): Promise<AppRow[]> {
  const apps = newApps.map(({ app }) => app)
  const [first] = newApps
  if (first && newApps.length === 1) {
    // Most slugs and package names are free, so one statement is enough.
    const { app, actor } = first
    const row = toRow(app, app.slug ?? toSlug(app.name))
    const id = await runner.insertUnlessTaken('apps', row, ['slug', 'package_key'])
    if (id !== undefined) return [{ ...row, id }]
    await claimPackageName(runner, row.package_name, actor)
  }
  const unnamed = apps.filter(({ slug }) => slug === undefined).map(({ name }) => name)
  const reserved = apps.flatMap(({ slug }) => slug ?? [])
  const slugs = (await uniqueSlugs(runner, unnamed, reserved)).values()
  const rows = apps.map((app) => toRow(app, app.slug ?? required(slugs.next().value, 'a slug')))
  return runner.insertRows('apps', rows)
}

/** Whether the changes differ from the row. */
export const hasChanges = (row: Partial<AppRow>, changes: AppRowChanges): boolean =>
  Object.entries(changes).some(([column, value]) => row[column as keyof AppRow] !== value)

/** A complete row, except for a generated id. */
function toRow(app: NewAppRow, slug: string) {
  const row = { ...appDefaults, ...app, slug }
  return {
    ...row,
    package_key: row.package_name && packageKey(row.package_name),
    changed_at: new Date().toISOString(),
    revision: newRevision(),
  }
}

/**
 * Each change of an app that matters to a decision gives it a new revision, so that a decision can
 * be refused if the app is not the one that was read. It is random, so that an old one never matches
 * by chance; owners do not see it. Five digits and lower-case letters.
 */
const newRevision = () => Array.from({ length: 5 }, () => randomInt(36).toString(36)).join('')

/**
 * Now, or a millisecond after `time` if that is later: each change gets a new time, and so a new
 * ETag.
 */
export const timestampAfter = (time: string): string =>
  new Date(Math.max(Date.now(), Date.parse(time) + 1)).toISOString()

export const counterColumns = [
  'id',
  'total_downloads',
  'other_rating_sum',
  'other_rating_count',
  'rating_sum',
  'rating_count',
  'weighted_rating',
  'average_rating',
] as const
type AppCounters = Pick<AppRow, (typeof counterColumns)[number]>

/**
 * Saves the counters of all apps in one statement, which takes a third of the time. The values are
 * numbers, so they need no escaping.
 */
export async function saveCounters(
  runner: QueryRunner,
  apps: (AppCounters & Pick<AppRow, 'status' | 'deleted_at'>)[],
  at: string,
): Promise<void> {
  if (apps.length === 0) return
  if (apps.some(isListed)) runner.markPublicChange()
  const rows = apps.map((app) => `(${counterColumns.map((column) => app[column])})`)
  // SQLite and PostgreSQL both name the columns of `values` column1, column2 …
  const assignments = counterColumns
    .slice(1)
    .map((column, index) => `${column} = given.column${index + 2}`)
  await runner.sql.raw(
    `update apps set ${assignments}, changed_at = ? from (values ${rows}) as given where apps.id = given.column1`,
    [at],
  )
}
