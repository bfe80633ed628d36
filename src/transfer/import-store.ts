import type { Actor } from '../audit/store.ts'
import { categoryStore } from '../catalogue/categories.ts'
import { isListed } from '../catalogue/policy.ts'
import { appStore, hasChanges, timestampAfter } from '../catalogue/store.ts'
import type { Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Connection } from '../db/dialect.ts'
import type { CategoryRow } from '../db/tables.ts'
import { required } from '../util/helpers.ts'
import { categoryProblems, type Given, hasSameReviews, toColumns, toNewRow } from './columns.ts'
import { type ImportLine, type Line, type LineCategory, type LineReview, problem, type RemovedApp } from './line.ts'
import {
  type ExistingApp,
  isAccepted,
  isKnownByName,
  type Match,
  matchLines,
  refuseTakenNames,
  splitRepeats,
} from './match.ts'

type Options = { actor: Actor; onlyNew: boolean; now: string }

export const importStore = (connection: Connection, { actor, onlyNew, now }: Options) => {
  const { sql, insertRows } = connection
  const apps = appStore(connection)
  const categories = categoryStore(connection)
  /** Ids of developers by name. */
  const owners = new Map<string, number>()

  /**
   * Writes a batch of lines and notes the outcome in each. No two lines may claim the same app. A refused line leaves nothing
   * behind.
   */
  async function write(lines: ImportLine[]) {
    // Categories first: in an export they stand before the apps that are in them.
    const categoryLines = lines.flatMap((line) => (line.category ? [{ line, category: line.category }] : []))
    if (categoryLines.length > 0) await writeCategories(categoryLines)
    for (const line of lines) if (line.removed) line.outcome = await hideApp(line.removed)
    const appLines = lines.filter(({ app }) => app)
    if (appLines.length > 0) await writeApps(appLines)
  }

  async function writeCategories(lines: { line: ImportLine; category: LineCategory }[]) {
    const current = await categories.lockAll()
    const renames: CategoryRename[] = []
    const others: typeof lines = []
    for (const { line, category } of lines) {
      const { id, slug, name, created_at } = category
      const before = current.find((existing) => existing.id === id && existing.created_at === created_at)
      line.outcome = 'unchanged'
      if (!before) others.push({ line, category })
      else if (!onlyNew && (before.slug !== slug || before.name !== name)) {
        renames.push({ line, before, after: { slug, name } })
      }
    }
    const possible = new Set(possibleRenames(current, renames))
    await categories.renameAll([...possible], actor)
    for (const rename of renames) {
      const names = `${rename.after.slug}, ${rename.after.name}`
      const refusal = problem('/category', `has a slug or name that another category has: ${names}`)
      rename.line.outcome = possible.has(rename) ? 'updated' : [refusal]
    }
    // Afterwards, because a new category may have a name that another gave up.
    const ids = await findCategoryIds()
    for (const { line, category } of others) {
      if (ids.has(category.slug)) continue
      const problems = await addCategory(category, ids)
      line.outcome = problems.length > 0 ? problems : 'created'
    }
  }

  /** By slug. */
  const findCategoryIds = async () => new Map((await categories.all()).map(({ slug, id }) => [slug, id]))

  /** Adds a category, and its id to `ids`. Returns why it could not. */
  async function addCategory(category: LineCategory, ids: Map<string, number>): Promise<Problem[]> {
    const [{ slug, name, ...given } = category] = await withUnusedIds('categories', [category])
    try {
      ids.set(slug, (await categories.add(slug, name, actor, given)).id)
      return []
    } catch (error) {
      if (error instanceof OperatorError) return [problem('/category', error.message)]
      throw error
    }
  }

  /** Hides an app that the source has hidden. There, another app may get its package name. */
  async function hideApp({ id, created_at }: RemovedApp) {
    const app = await sql('apps').where({ id }).forUpdate().first()
    if (onlyNew || !app || !isListed(app)) return 'unchanged'
    if (app.created_at !== created_at)
      return [problem('/removed', `names app ${id}, which was created at another time`)]
    // With the time of the source, so that a line brings the app back if it is newer there.
    const { updated_at } = app
    await apps.save('app import', app, { deleted_at: now, package_name: null, updated_at }, actor)
    return 'updated'
  }

  async function writeApps(lines: ImportLine[]) {
    const matches = matchLines(lines, await findExistingApps(lines.flatMap(({ app }) => app ?? [])))
    // Also resets the lines after an earlier attempt at this transaction.
    for (const { source } of matches) source.outcome = 'unchanged'
    const { first, repeated } = splitRepeats(onlyNew ? matches.filter(({ app, holder }) => !app && !holder) : matches)
    await writeMatches(first)
    // The second line of an app has to find what the first wrote.
    if (repeated.length > 0) await writeApps(repeated.map(({ source }) => source))
  }

  async function writeMatches(matches: Match[]) {
    refuseTakenNames(matches)
    const categoryIds = await resolveCategories(matches.filter(isAccepted))
    // Again, because an app keeps its package name if its line was just refused for its category.
    refuseTakenNames(matches)
    const accepted = matches.filter(isAccepted)
    const holders = accepted.flatMap(({ holder }) => holder?.id ?? [])
    if (holders.length > 0) await sql('apps').whereIn('id', holders).update({ package_name: null, package_key: null })
    await addOwners(accepted)
    const given = { ownerIds: owners, categoryIds, now }
    await createApps(
      accepted.filter(({ app }) => !app),
      given,
    )
    await updateApps(accepted, given)
    for (const { source, problems } of matches.filter((match) => !isAccepted(match))) source.outcome = problems
  }

  /** Adds the categories that lines describe, and refuses lines whose categories do not exist. Returns ids by slug. */
  async function resolveCategories(matches: Match[]): Promise<Map<string, number>> {
    const ids = await findCategoryIds()
    for (const match of matches) {
      const { category } = match.line
      if (typeof category !== 'string' && !ids.has(category.slug)) match.problems = await addCategory(category, ids)
    }
    for (const match of matches.filter(isAccepted)) match.problems = categoryProblems(match.line, ids)
    return ids
  }

  /** All apps that one of the lines may describe, locked. */
  async function findExistingApps(lines: Line[]): Promise<ExistingApp[]> {
    const found = new Map<number, ExistingApp>()
    const find = async (columns: string | string[], values: readonly (string | readonly (string | number)[])[]) => {
      if (values.length === 0) return
      // knex has different types for one column and for several; both accept a list of values.
      const apps = () => sql('apps').whereIn(columns as string, values as string[])
      // Before the joined rows are read: one statement that joins and locks may see the two at different moments.
      await apps().orderBy('apps.id').forUpdate().select('apps.id')
      const rows: ExistingApp[] = await apps()
        .join('developers', 'developers.id', 'apps.developer_id')
        .select('apps.*', 'developers.name as developer_name')
      for (const app of rows) found.set(app.id, app)
    }
    const packageKeys = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
    await find('apps.package_key', packageKeys)
    const slugs = lines.flatMap(({ slug }) => slug ?? [])
    await find('apps.slug', slugs)

    await findOwners(lines)
    const ownedNames = lines.filter(isKnownByName).flatMap(({ developer_name, name }) => {
      const owner = owners.get(developer_name)
      return owner === undefined ? [] : [[owner, name] as const]
    })
    await find(['apps.developer_id', 'apps.name'], ownedNames)
    return [...found.values()]
  }

  async function findOwners(lines: Line[]) {
    const names = new Set(lines.map(({ developer_name }) => developer_name))
    // Locked, so that no developer is renamed before the apps with that name in their search documents are committed.
    const rows = await sql('developers')
      .whereIn('name', [...names])
      .forShare()
      .select('id', 'name')
    for (const { id, name } of rows) owners.set(name, id)
  }

  async function addOwners(matches: Match[]) {
    const names = new Set(matches.map(({ line }) => line.developer_name).filter((name) => !owners.has(name)))
    const changed_at = new Date().toISOString()
    const rows = await insertRows(
      'developers',
      [...names].map((name) => ({ name, created_at: now, changed_at })),
    )
    for (const { name, id } of rows) owners.set(name, id)
  }

  /** The rows without the ids that the table or an earlier row has. */
  async function withUnusedIds<Row extends { id?: number }>(
    table: string,
    rows: Row[],
  ): Promise<(Omit<Row, 'id'> & { id?: number })[]> {
    const ids = rows.flatMap(({ id }) => id ?? [])
    const taken = new Set<number>(
      ids.length === 0 ? [] : await sql<{ id: number }>(table).whereIn('id', ids).pluck('id'),
    )
    return rows.map(({ id, ...row }) => {
      if (id === undefined || taken.has(id)) return row
      taken.add(id)
      return { ...row, id }
    })
  }

  async function createApps(matches: Match[], given: Given) {
    if (matches.length === 0) return
    const unused = await withUnusedIds(
      'apps',
      matches.map(({ line }) => toNewRow(line, given)),
    )
    const inserted = await apps.insertAll(
      'app import',
      unused.map((app, index) => ({ app, at: now, document: matches[index]?.source.document })),
      actor,
    )
    const reviews = matches.flatMap(({ source, line }, index) => {
      source.outcome = 'created'
      return withAppId(line.reviews ?? [], required(inserted[index], 'the inserted app').id)
    })
    await insertReviews(reviews)
  }

  const insertReviews = async (reviews: (LineReview & { app_id: number })[]) =>
    insertRows('reviews', await withUnusedIds('reviews', reviews))

  async function updateApps(matches: Match[], given: Given) {
    const appIds = matches.flatMap(({ line, app }) => (line.reviews && app ? app.id : []))
    const rows = appIds.length === 0 ? [] : await sql('reviews').whereIn('app_id', appIds)
    const reviews = Map.groupBy(rows, ({ app_id }) => app_id)
    for (const { source, line, app } of matches) {
      if (!app) continue
      const changes = toColumns(line, app, given)
      if (line.reviews && !hasSameReviews(line.reviews, reviews.get(app.id) ?? [])) {
        await sql('reviews').where({ app_id: app.id }).delete()
        await insertReviews(withAppId(line.reviews, app.id))
        // Readers see a changed app even if none of its columns changes.
        changes.updated_at ??= timestampAfter(app.updated_at)
      }
      if (!hasChanges(app, changes)) continue
      await apps.save('app import', app, changes, actor)
      source.outcome = 'updated'
    }
  }

  return { write }
}

const withAppId = (reviews: LineReview[], app_id: number) => reviews.map((review) => ({ ...review, app_id }))

type Names = Pick<CategoryRow, 'slug' | 'name'>
type CategoryRename = { line: ImportLine; before: Pick<CategoryRow, 'id' | 'slug' | 'name'>; after: Names }

/** All renames, because categories may exchange their names; or else those that are possible one after the other. */
function possibleRenames(current: (Names & { id: number })[], renames: CategoryRename[]): CategoryRename[] {
  const names = new Map<number, Names>(current.map((category) => [category.id, category]))
  const arePossible = (some: CategoryRename[]) => {
    const renamed = new Map([...names, ...some.map(({ before, after }) => [before.id, after] as const)])
    const isUnique = (field: keyof Names) =>
      new Set([...renamed.values()].map((one) => one[field])).size === renamed.size
    return isUnique('slug') && isUnique('name')
  }
  if (arePossible(renames)) return renames
  return renames.filter((rename) => {
    const isPossible = arePossible([rename])
    if (isPossible) names.set(rename.before.id, rename.after)
    return isPossible
  })
}
