import { addDevelopers } from '../accounts/account-store.ts'
import type { Actor } from '../audit/audit-store.ts'
import {
  type AppSave,
  appStore,
  hasChanges,
  type NamedAppRow,
  namedApps,
  releasePackageNames,
  timestampAfter,
} from '../catalogue/app-store.ts'
import { categoryStore } from '../catalogue/category-store.ts'
import { isListed } from '../catalogue/policy.ts'
import { clearReviews, insertReviews, type NewReview } from '../catalogue/reviews.ts'
import type { Category, Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import { Conflict } from '../db/errors.ts'
import { toSearchDocument } from '../search/terms.ts'
import { chunk, required } from '../util/helpers.ts'
import {
  isAccepted,
  isKnownByName,
  type Match,
  matchLines,
  refuseTakenNames,
  splitRepeats,
} from './find-apps-of-lines.ts'
import type { LineWork } from './import-lines.ts'
import {
  type ImportLine,
  isSet,
  type Line,
  type LineCategory,
  type ParsedLine,
  problem,
  readLine,
} from './line.ts'
import {
  categoryProblems,
  hasSameReviews,
  listChanges,
  listDifferences,
  toColumns,
  toNewRow,
} from './line-to-row.ts'

/** Writes the lines of a catalogue file: apps with their reviews, categories, and removals. */

/** Ids of a statement. */
const maxIds = 1000

type Options = { actor: Actor; onlyNew: boolean }

/** `onlyNew` leaves existing apps and categories unchanged. */
export function catalogueLines(options: Options): LineWork {
  const now = new Date().toISOString()
  const ids = new Set<number>()
  return {
    parse(text, number) {
      const line = parse(text, number)
      const id = line.app?.id
      if (id === undefined) return line
      const repeatsId = ids.has(id)
      ids.add(id)
      return { ...line, repeatsId }
    },
    write: (runner, lines) => writeLines(runner, lines, { ...options, now }),
  }
}

function parse(text: string, number: number): ParsedLine {
  const line = readLine(text, number)
  const { app } = line
  const willBeListed = app?.status === 'approved' && !isSet(app.deleted_at)
  return willBeListed ? { ...line, document: toSearchDocument(app, app.developer_name) } : line
}

/**
 * Writes a batch of lines and sets the outcome of each. No two lines may claim the same app. A
 * refused line leaves nothing behind, except for its new category if its package name is taken.
 */
async function writeLines(
  runner: QueryRunner,
  lines: ImportLine[],
  { actor, onlyNew, now }: Options & { now: string },
) {
  const { sql } = runner
  const apps = appStore(runner)
  const categories = categoryStore(runner)
  const ownerIds = new Map<string, number>()
  const categoryIds = new Map<string, number>()
  const given = { ownerIds, categoryIds, now }

  // Categories first: an export has them before their apps.
  const newCategories = await renameCategories()
  // Afterwards, because a new category may have a name that another gave up.
  if (newCategories.length > 0) await findCategories()
  for (const { line, category } of newCategories) {
    if (categoryIds.has(category.slug)) continue
    const problems = await addCategory(category)
    line.outcome = problems.length > 0 ? problems : 'created'
  }
  await hideApps()
  await writeApps(lines.filter(({ app }) => app))

  /**
   * Renames the categories that lines identify by id and creation time. Returns the other lines of
   * categories.
   */
  async function renameCategories() {
    const others: { line: ImportLine; category: LineCategory }[] = []
    if (!lines.some(({ category }) => category)) return others
    const current = await categories.allWithTimes()
    const renames: { line: ImportLine; before: Category; after: Category }[] = []
    for (const line of lines) {
      const { category } = line
      if (!category) continue
      line.outcome = 'unchanged'
      const before = current.find(
        ({ id, created_at }) => id === category.id && created_at === category.created_at,
      )
      if (!before) {
        others.push({ line, category })
        continue
      }
      const { id } = before
      const after = { id, slug: category.slug, name: category.name }
      const changes = listDifferences(before, after, ['slug', 'name'])
      if (onlyNew || changes.length === 0) continue
      renames.push({ line, before, after })
      line.update = { category_id: id, slug: before.slug, changes }
    }
    // All or none, because categories may exchange their names.
    const after = current.map(
      (category) => renames.find(({ before }) => before === category)?.after ?? category,
    )
    const isUnique = (field: 'slug' | 'name') =>
      new Set(after.map((one) => one[field])).size === after.length
    const arePossible = isUnique('slug') && isUnique('name')
    if (arePossible) await categories.renameAll(renames, actor)
    const refusal = problem(
      '/category',
      'is not renamed: a slug or name in the file belongs to another category',
    )
    for (const { line } of renames) line.outcome = arePossible ? 'updated' : [refusal]
    return others
  }

  async function findCategories() {
    for (const { slug, id } of await categories.all()) categoryIds.set(slug, id)
  }

  /** Adds a category. Returns why it could not. */
  async function addCategory(category: LineCategory): Promise<Problem[]> {
    const [{ slug, name, ...others } = category] = await withUnusedIds('categories', [category])
    try {
      categoryIds.set(slug, (await categories.add(slug, name, actor, others)).id)
      return []
    } catch (error) {
      if (error instanceof OperatorError) return [problem('/category', error.message)]
      throw error
    }
  }

  /** Hides the apps that the source has hidden. There, other apps may get their package names. */
  async function hideApps() {
    const removals = lines.flatMap((line) => (line.removed ? [{ line, ...line.removed }] : []))
    if (removals.length === 0) return
    const ids = removals.map(({ id }) => id)
    const locked = await sql('apps').whereIn('id', ids).orderBy('id').forUpdate().select()
    const found = new Map(locked.map((app) => [app.id, app]))
    const hidden = { deleted_at: now, package_name: null }
    const saves: AppSave[] = []
    for (const { line, id, created_at } of removals) {
      const app = found.get(id)
      line.outcome = 'unchanged'
      if (onlyNew || !app || !isListed(app)) continue
      if (app.created_at !== created_at) {
        const message = `names app ${id}, which was created at another time`
        line.outcome = [
          problem('/removed', message, 'names an app that was created at another time'),
        ]
        continue
      }
      // With the time of the source, so that a line brings the app back if it is newer there.
      const { slug, updated_at } = app
      saves.push({ before: app, changes: { ...hidden, updated_at } })
      const changes = listDifferences(app, hidden, ['package_name', 'deleted_at'])
      line.update = { app_id: id, slug, changes }
      line.outcome = 'updated'
      // A later line finds it hidden.
      found.delete(id)
    }
    await apps.insertAll('app import', [], actor, saves)
  }

  async function writeApps(appLines: ImportLine[]) {
    if (appLines.length === 0) return
    const all = matchLines(
      appLines,
      await findExistingApps(appLines.flatMap(({ app }) => app ?? [])),
    )
    // Also resets the lines after an earlier attempt at this transaction.
    for (const { source } of all) source.outcome = 'unchanged'
    const { first: matches, repeated } = splitRepeats(
      onlyNew ? all.filter(({ app, holder }) => !app && !holder) : all,
    )
    await refuseRepeatedIds(matches)
    await resolveCategories(matches)
    // After the categories, because an app whose line is refused for its category keeps its package
    // name.
    refuseTakenNames(matches)
    const accepted = matches.filter(isAccepted)
    await releasePackageNames(
      runner,
      accepted.flatMap(({ holder }) => holder?.id ?? []),
    )
    await addOwners(accepted)
    const saves = await prepareSaves(accepted)
    const created = accepted.filter(({ app }) => !app)
    const inserts = await prepareInserts(created)
    // Together, so that the categories are locked once, in one order.
    const inserted = await apps.insertAll('app import', inserts, actor, saves)
    const reviews = created.flatMap(({ source, line }, index) => {
      const app = required(inserted[index], 'the inserted app')
      source.outcome = 'created'
      source.createdId = app.id
      return reviewsOf(line, app)
    })
    await insertReviews(runner, await withUnusedIds('reviews', reviews))
    for (const { source, problems } of matches) if (problems.length > 0) source.outcome = problems
    // The second line of an app must read the first one's result.
    await writeApps(repeated.map(({ source }) => source))
  }

  /**
   * Refuses new apps with the id of another app of the file. A line of another catalogue has another
   * creation time; its app gets a free id.
   */
  async function refuseRepeatedIds(matches: Match[]) {
    const repeating = matches.filter(
      (match) => match.source.repeatsId && !match.app && isAccepted(match),
    )
    if (repeating.length === 0) return
    const ids = repeating.flatMap(({ line }) => line.id ?? [])
    const stored = await sql('apps').whereIn('id', ids).select('id', 'created_at')
    for (const match of repeating) {
      const { id, created_at } = match.line
      const earlier = lines.flatMap(({ number, app }) =>
        number < match.source.number ? (app ?? []) : [],
      )
      const times = [...stored, ...earlier]
        .filter((app) => app.id === id)
        .map((app) => app.created_at)
      if (created_at === undefined || times.includes(created_at))
        match.problems = [problem('/id', repeatedIdMessage)]
    }
  }

  /** Adds the categories that lines describe, and refuses lines whose categories do not exist. */
  async function resolveCategories(matches: Match[]) {
    await findCategories()
    const accepted = matches.filter(isAccepted)
    for (const match of accepted) {
      const { category } = match.line
      if (typeof category !== 'string' && !categoryIds.has(category.slug))
        match.problems = await addCategory(category)
    }
    for (const match of accepted.filter(isAccepted))
      match.problems = categoryProblems(match.line, categoryIds)
  }

  /** All apps that one of the lines may describe, locked. */
  async function findExistingApps(described: Line[]): Promise<NamedAppRow[]> {
    const names = [...new Set(described.map(({ developer_name }) => developer_name))]
    const owners = sql('developers').whereIn('name', names).orderBy('id').select('id', 'name')
    const known = await owners.clone()
    for (const { id, name } of known) ownerIds.set(name, id)
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
    return namedApps(runner, ids)
  }

  async function addOwners(matches: Match[]) {
    const names = new Set(
      matches.map(({ line }) => line.developer_name).filter((name) => !ownerIds.has(name)),
    )
    for (const { name, id } of await addDevelopers(runner, [...names], now)) ownerIds.set(name, id)
  }

  /** The rows without the ids that the table or an earlier row has. */
  async function withUnusedIds<Row extends { id?: number }>(
    table: string,
    rows: Row[],
  ): Promise<(Omit<Row, 'id'> & { id?: number })[]> {
    const given = rows.flatMap(({ id }) => id ?? [])
    const stored: number[] = []
    // A line may have more reviews than a statement may have values.
    for (const ids of chunk(given, maxIds))
      stored.push(...(await sql<{ id: number }>(table).whereIn('id', ids).pluck('id')))
    const taken = new Set(stored)
    return rows.map(({ id, ...row }) => {
      if (id === undefined || taken.has(id)) return row
      taken.add(id)
      return { ...row, id }
    })
  }

  async function prepareInserts(matches: Match[]) {
    const rows = matches.map(({ line }) => toNewRow(line, given))
    const unused = await withUnusedIds('apps', rows)
    return unused.map((app, index) => ({ app, at: now, document: matches[index]?.source.document }))
  }

  /** Replaces the reviews of existing apps, and returns the changes of their rows. */
  async function prepareSaves(matches: Match[]): Promise<AppSave[]> {
    const saves: AppSave[] = []
    const appIds = matches.flatMap(({ line, app }) => (line.reviews && app ? app.id : []))
    const rows = await sql('reviews').whereIn('app_id', appIds)
    const reviews = Map.groupBy(rows, ({ app_id }) => app_id)
    for (const { source, line, app } of matches) {
      if (!app) continue
      const changes = toColumns(line, app, given)
      const listed = listChanges(line, app, changes)
      const existing = reviews.get(app.id) ?? []
      if (line.reviews && !hasSameReviews(line.reviews, existing)) {
        listed.push({ field: 'reviews', before: existing.length, after: line.reviews.length })
        await clearReviews(runner, app)
        await insertReviews(runner, await withUnusedIds('reviews', reviewsOf(line, app)))
        // Readers see a changed app even if none of its columns changes.
        changes.updated_at ??= timestampAfter(app.updated_at)
      }
      if (!hasChanges(app, changes)) continue
      saves.push({ before: app, changes })
      source.outcome = 'updated'
      source.update = { app_id: app.id, slug: app.slug, changes: listed }
    }
    return saves
  }
}

const repeatedIdMessage =
  'belongs to an earlier line of the file: leave it out to get a free one, or give the slug or package name of that app to update it'

const reviewsOf = ({ reviews = [] }: Line, app: NewReview['app']): NewReview[] =>
  reviews.map((review) => ({ ...review, app }))
