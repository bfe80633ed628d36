import { addDevelopers } from '../accounts/account-store.ts'
import {
  type AppSave,
  changeApps,
  hasChanges,
  namedApps,
  reviewColumns,
  saveApp,
  timestampAfter,
} from '../catalogue/app-store.ts'
import { findCategories } from '../catalogue/category-store.ts'
import { clearReviews, insertReviews, type NewReview } from '../catalogue/reviews.ts'
import type { QueryRunner } from '../db/engine.ts'
import { Conflict } from '../db/error-meaning.ts'
import { pick, required } from '../util/helpers.ts'
import {
  type ExistingApp,
  firstOfEachApp,
  isAccepted,
  isKnownByName,
  type Match,
  matchLines,
  refuseSecondLines,
  refuseTakenNames,
  staysDeleted,
} from './find-apps-of-lines.ts'
import { type FirstLines, type ImportLine, type Line, problem, type WriteOptions } from './line.ts'
import {
  categoryProblems,
  hasSameReviews,
  type RowContext,
  toColumns,
  toNewRow,
} from './line-to-row.ts'
import { withUnusedIds } from './unused-ids.ts'
import { addCategoryOfLine } from './write-categories.ts'

/**
 * Writes the lines of apps, with their reviews, new developers and new categories. A refused line
 * writes nothing, with one exception: if its package name is taken, its new category is added. A
 * line that finds the app of a line before it is left to the next transaction, because that line may
 * have changed what it is found by.
 */
export async function writeApps(
  runner: QueryRunner,
  lines: ImportLine[],
  options: WriteOptions,
): Promise<void> {
  const unwritten = lines.filter(({ app }) => app)
  if (unwritten.length === 0) return
  const { apps, ownerIds } = await findExistingApps(runner, unwritten)
  const all = matchLines(unwritten, apps)
  const first = firstOfEachApp(all)
  // Also resets the lines after an earlier attempt at this transaction.
  for (const { source } of all) source.outcome = undefined
  for (const { source } of first) source.outcome = 'unchanged'
  const matches = first.filter((match) => {
    if (options.onlyNew) return !match.app && !match.holder
    // Otherwise the deletions of the mirror's operator would make each run fail.
    return !(options.isMirror && staysDeleted(match))
  })
  refuseSecondLines(matches, options.firstLines)
  await refuseRepeatedIds(runner, matches, options.firstLines)
  const categoryIds = await resolveCategories(runner, matches, options)
  // After the categories, because an app whose line is refused keeps its package name.
  if (options.isMirror) await releaseNames(runner, matches, options)
  refuseTakenNames(matches)
  const accepted = matches.filter(isAccepted)
  await writeMatches(runner, accepted, { ...options, ownerIds, categoryIds })
  for (const { source, problems } of matches) if (problems.length > 0) source.outcome = problems
}

/** All apps that one of the lines may describe, locked, and the ids of their owners by name. */
async function findExistingApps(runner: QueryRunner, lines: ImportLine[]) {
  const { sql } = runner
  const described = lines.flatMap(({ app }) => app ?? [])
  const names = [...new Set(described.map(({ developer_name }) => developer_name))]
  const owners = sql('developers').whereIn('name', names).orderBy('id').select('id', 'name')
  const known = await owners.clone()
  const ownerIds = new Map(known.map(({ id, name }) => [name, id]))
  const ownedNames = described.filter(isKnownByName).flatMap(({ developer_name, name }) => {
    const owner = ownerIds.get(developer_name)
    return owner === undefined ? [] : [[owner, name] as const]
  })
  // Only an app without a package name that is not deleted is meant, and only if it is the only
  // one. There may be any number of others.
  const order = 'package_key is not null, deleted_at is not null, id'
  // The + keeps SQLite from reading all apps of a developer in the order of an index.
  const window = `partition by +developer_id, name order by ${order}`
  const namesakes = sql('apps')
    .whereIn(['developer_id', 'name'], ownedNames)
    .select('id', sql.raw(`row_number() over (${window}) as place`))
  const packageKeys = described.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
  const slugs = described.flatMap(({ slug }) => slug ?? [])
  const ids: number[] = [
    ...(await sql('apps').whereIn('package_key', packageKeys).pluck('id')),
    ...(await sql('apps').whereIn('slug', slugs).pluck('id')),
    ...(await sql(namesakes.as('namesakes')).where('place', '<=', 2).pluck('id')),
  ]
  // Before the joined rows are read: a statement that joins and locks may see the two in
  // different versions.
  await sql('apps').whereIn('id', ids).orderBy('id').forUpdate().select('id')
  // Locked after the apps, so that no developer is renamed before the apps with that name in their
  // search documents are committed.
  const locked = await owners.forShare()
  if (JSON.stringify(locked) !== JSON.stringify(known))
    throw new Conflict('a developer of the file has been renamed')
  // The sign keeps PostgreSQL from walking the entries of all apps.
  const last = 'select action from audit where app_id = apps.id order by +audit.id desc limit 1'
  const apps: ExistingApp[] = await namedApps(runner, ids).select(
    sql.raw(`case when deleted_at is not null then (${last}) end as last_action`),
  )
  return { apps, ownerIds }
}

/**
 * Apps give up the package names that the lines have, because the file is a whole export: if they
 * have not had a line yet, they get other names later, or are hidden.
 */
async function releaseNames(
  runner: QueryRunner,
  matches: Match[],
  { actor, firstLines }: WriteOptions,
) {
  for (const match of matches.filter(isAccepted)) {
    const { holder } = match
    if (!holder || firstLines.has(holder.id)) continue
    const changes = { package_name: null, updated_at: holder.updated_at }
    // In place, because a later line of the batch may be about it.
    Object.assign(holder, await saveApp(runner, 'app import', holder, changes, actor))
    match.holder = undefined
  }
}

/**
 * Refuses new apps with the id of another app of the file. A line of another catalogue has another
 * creation time; its app gets a free id.
 */
async function refuseRepeatedIds({ sql }: QueryRunner, matches: Match[], firstLines: FirstLines) {
  for (const match of matches) {
    const { id, created_at } = match.line
    if (id === undefined || !firstLines.has(id) || match.app || !isAccepted(match)) continue
    const stored = await sql('apps').where({ id }).first('created_at')
    if (created_at === undefined || created_at === stored?.created_at)
      match.problems = [problem('/id', repeatedIdMessage)]
  }
}

const repeatedIdMessage =
  'belongs to an earlier line of the file: leave it out to get a free one, or give the slug or package name of that app to update it'

/**
 * Adds the categories that lines describe, and refuses lines whose categories do not exist. Returns
 * the ids of all categories by slug.
 */
async function resolveCategories(runner: QueryRunner, matches: Match[], { actor }: WriteOptions) {
  const ids = new Map((await findCategories(runner)).map(({ slug, id }) => [slug, id]))
  const accepted = matches.filter(isAccepted)
  for (const match of accepted) {
    const { category } = match.line
    if (typeof category === 'string' || ids.has(category.slug)) continue
    const added = await addCategoryOfLine(runner, category, actor)
    if (Array.isArray(added)) match.problems = added
    else ids.set(added.slug, added.id)
  }
  for (const match of accepted.filter(isAccepted))
    match.problems = categoryProblems(match.line, ids)
  return ids
}

async function writeMatches(
  runner: QueryRunner,
  matches: Match[],
  context: RowContext & Pick<WriteOptions, 'actor'>,
) {
  const { actor, ownerIds, now } = context
  const owners = new Set(matches.map(({ line }) => line.developer_name))
  const newOwners = [...owners].filter((name) => !ownerIds.has(name))
  for (const { name, id } of await addDevelopers(runner, newOwners, now)) ownerIds.set(name, id)
  const saves = await prepareSaves(runner, matches, context)
  const created = matches.filter(({ app }) => !app)
  const rows = created.map(({ line }) => toNewRow(line, context))
  const inserts = (await withUnusedIds(runner, 'apps', rows)).map((app, index) => ({
    app,
    at: now,
    document: created[index]?.source.document,
  }))
  // Together, so that the categories are locked once, in one order.
  const inserted = await changeApps(runner, 'app import', { saves, inserts }, actor)
  const reviews = created.flatMap(({ source, line }, index) => {
    const app = required(inserted[index], 'the inserted app')
    source.outcome = 'created'
    source.described = app
    return reviewsOf(line, app)
  })
  await insertReviews(runner, await withUnusedIds(runner, 'reviews', reviews))
}

/** Replaces the reviews of existing apps, and returns the changes of their rows. */
async function prepareSaves(
  runner: QueryRunner,
  matches: Match[],
  context: RowContext,
): Promise<AppSave[]> {
  const saves: AppSave[] = []
  const appIds = matches.flatMap(({ line, app }) => (line.reviews && app ? app.id : []))
  const rows = await runner.sql('reviews').whereIn('app_id', appIds)
  const reviews = Map.groupBy(rows, ({ app_id }) => app_id)
  for (const { source, line, app } of matches) {
    if (!app) continue
    const changes = toColumns(line, app, context)
    const existing = reviews.get(app.id) ?? []
    if (line.reviews && !hasSameReviews(line.reviews, existing)) {
      await clearReviews(runner, app)
      await insertReviews(runner, await withUnusedIds(runner, 'reviews', reviewsOf(line, app)))
      // Readers see a changed app even if none of its columns changes.
      changes.updated_at ??= timestampAfter(app.updated_at)
    }
    if (!hasChanges(app, changes)) continue
    saves.push({ before: app, changes })
    source.outcome = 'updated'
  }
  return saves
}

const reviewsOf = ({ reviews = [] }: Line, app: NewReview['app']): NewReview[] =>
  // Without unknown fields, which are ignored.
  reviews.map((review) => ({ ...pick(review, ...reviewColumns), app }))
