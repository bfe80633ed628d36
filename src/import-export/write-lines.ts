import type { Actor } from '../audit/audit-store.ts'
import { appStore, hasChanges, timestampAfter } from '../catalogue/app-store.ts'
import { categoryStore } from '../catalogue/category-store.ts'
import { isListed } from '../catalogue/policy.ts'
import type { Category, Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Connection } from '../db/engine.ts'
import { required } from '../util/helpers.ts'
import {
  categoryProblems,
  type Given,
  hasSameReviews,
  listChanges,
  listDifferences,
  toColumns,
  toNewRow,
} from './columns.ts'
import {
  type ImportLine,
  type Line,
  type LineCategory,
  type LineReview,
  problem,
  type RemovedApp,
} from './line.ts'
import {
  type ExistingApp,
  isAccepted,
  isKnownByName,
  type Match,
  matchLines,
  refuseTakenNames,
  splitRepeats,
} from './match-lines-to-apps.ts'

type Options = { actor: Actor; onlyNew: boolean; now: string }

export const importStore = (connection: Connection, { actor, onlyNew, now }: Options) => {
  const { sql, insertRows } = connection
  const apps = appStore(connection)
  const categories = categoryStore(connection)
  /** Ids of developers by name. */
  const owners = new Map<string, number>()

  /**
   * Writes a batch of lines and sets the outcome of each. No two lines may claim the same app. A
   * refused line leaves nothing behind, except for its new category if its package name is taken.
   */
  async function write(lines: ImportLine[]) {
    // Categories first: an export has them before their apps.
    const categoryLines = lines.flatMap((line) =>
      line.category ? [{ line, category: line.category }] : [],
    )
    if (categoryLines.length > 0) await writeCategories(categoryLines)
    for (const line of lines) if (line.removed) line.outcome = await hideApp(line, line.removed)
    const appLines = lines.filter(({ app }) => app)
    if (appLines.length > 0) await writeApps(appLines)
  }

  async function writeCategories(lines: { line: ImportLine; category: LineCategory }[]) {
    const current = await categories.lockAll()
    const renames: { line: ImportLine; before: Category; after: Category }[] = []
    const others: typeof lines = []
    for (const { line, category } of lines) {
      const { id, slug, name, created_at } = category
      const before = current.find(
        (existing) => existing.id === id && existing.created_at === created_at,
      )
      line.outcome = 'unchanged'
      if (!before) others.push({ line, category })
      else if (!onlyNew && (before.slug !== slug || before.name !== name)) {
        const after = { id: before.id, slug, name }
        renames.push({ line, before, after })
        const changes = listDifferences(before, after, ['slug', 'name'])
        line.update = { category_id: before.id, slug: before.slug, changes }
      }
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
    // Afterwards, because a new category may have a name that another gave up.
    const ids = await findCategoryIds()
    for (const { line, category } of others) {
      if (ids.has(category.slug)) continue
      const problems = await addCategory(category, ids)
      line.outcome = problems.length > 0 ? problems : 'created'
    }
  }

  /** By slug. */
  const findCategoryIds = async () =>
    new Map((await categories.all()).map(({ slug, id }) => [slug, id]))

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
  async function hideApp(line: ImportLine, { id, created_at }: RemovedApp) {
    const app = await sql('apps').where({ id }).forUpdate().first()
    if (onlyNew || !app || !isListed(app)) return 'unchanged'
    if (app.created_at !== created_at) {
      const message = `names app ${id}, which was created at another time`
      return [problem('/removed', message, 'names an app that was created at another time')]
    }
    // With the time of the source, so that a line brings the app back if it is newer there.
    const { slug, updated_at } = app
    const hidden = { deleted_at: now, package_name: null }
    await apps.save('app import', app, { ...hidden, updated_at }, actor)
    line.update = {
      app_id: id,
      slug,
      changes: listDifferences(app, hidden, ['package_name', 'deleted_at']),
    }
    return 'updated'
  }

  async function writeApps(lines: ImportLine[]) {
    const matches = matchLines(lines, await findExistingApps(lines.flatMap(({ app }) => app ?? [])))
    // Also resets the lines after an earlier attempt at this transaction.
    for (const { source } of matches) source.outcome = 'unchanged'
    const { first, repeated } = splitRepeats(
      onlyNew ? matches.filter(({ app, holder }) => !app && !holder) : matches,
    )
    await writeMatches(first)
    // The second line of an app must read the first one's result.
    if (repeated.length > 0) await writeApps(repeated.map(({ source }) => source))
  }

  async function writeMatches(matches: Match[]) {
    const categoryIds = await resolveCategories(matches.filter(isAccepted))
    // After the categories, because an app whose line is refused for its category keeps its package
    // name.
    refuseTakenNames(matches)
    const accepted = matches.filter(isAccepted)
    const holders = accepted.flatMap(({ holder }) => holder?.id ?? [])
    if (holders.length > 0)
      await sql('apps').whereIn('id', holders).update({ package_name: null, package_key: null })
    await addOwners(accepted)
    const given = { ownerIds: owners, categoryIds, now }
    const created = accepted.filter(({ app }) => !app)
    if (created.length > 0) await createApps(created, given)
    await updateApps(accepted, given)
    for (const { source, problems } of matches.filter((match) => !isAccepted(match)))
      source.outcome = problems
  }

  /**
   * Adds the categories that lines describe, and refuses lines whose categories do not exist.
   * Returns ids by slug.
   */
  async function resolveCategories(matches: Match[]): Promise<Map<string, number>> {
    const ids = await findCategoryIds()
    for (const match of matches) {
      const { category } = match.line
      if (typeof category !== 'string' && !ids.has(category.slug))
        match.problems = await addCategory(category, ids)
    }
    for (const match of matches.filter(isAccepted))
      match.problems = categoryProblems(match.line, ids)
    return ids
  }

  /** All apps that one of the lines may describe, locked. */
  async function findExistingApps(lines: Line[]): Promise<ExistingApp[]> {
    await findOwners(lines)
    const ownedNames = lines.filter(isKnownByName).flatMap(({ developer_name, name }) => {
      const owner = owners.get(developer_name)
      return owner === undefined ? [] : [[owner, name] as const]
    })
    const packageKeys = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
    const slugs = lines.flatMap(({ slug }) => slug ?? [])
    const ids: number[] = [
      ...(await sql('apps').whereIn('package_key', packageKeys).pluck('id')),
      ...(await sql('apps').whereIn('slug', slugs).pluck('id')),
      ...(await sql('apps').whereIn(['developer_id', 'name'], ownedNames).pluck('id')),
    ]
    // Before the joined rows are read: a statement that joins and locks may see the two in
    // different versions.
    await sql('apps').whereIn('id', ids).orderBy('id').forUpdate().select('id')
    return sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .whereIn('apps.id', ids)
      .select('apps.*', 'developers.name as developer_name')
  }

  async function findOwners(lines: Line[]) {
    const names = [...new Set(lines.map(({ developer_name }) => developer_name))]
    // Locked, so that no developer is renamed before the apps with that name in their search
    // documents are committed.
    const rows = await sql('developers').whereIn('name', names).forShare().select('id', 'name')
    for (const { id, name } of rows) owners.set(name, id)
  }

  async function addOwners(matches: Match[]) {
    const names = new Set(
      matches.map(({ line }) => line.developer_name).filter((name) => !owners.has(name)),
    )
    const changed_at = new Date().toISOString()
    const added = [...names].map((name) => ({ name, created_at: now, changed_at }))
    for (const { name, id } of await insertRows('developers', added)) owners.set(name, id)
  }

  /** The rows without the ids that the table or an earlier row has. */
  async function withUnusedIds<Row extends { id?: number }>(
    table: string,
    rows: Row[],
  ): Promise<(Omit<Row, 'id'> & { id?: number })[]> {
    const ids = rows.flatMap(({ id }) => id ?? [])
    const taken = new Set<number>(await sql<{ id: number }>(table).whereIn('id', ids).pluck('id'))
    return rows.map(({ id, ...row }) => {
      if (id === undefined || taken.has(id)) return row
      taken.add(id)
      return { ...row, id }
    })
  }

  async function createApps(matches: Match[], given: Given) {
    const rows = matches.map(({ line }) => toNewRow(line, given))
    const unused = await withUnusedIds('apps', rows)
    const created = unused.map((app, index) => ({
      app,
      at: now,
      document: matches[index]?.source.document,
    }))
    const inserted = await apps.insertAll('app import', created, actor)
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
    const rows = await sql('reviews').whereIn('app_id', appIds)
    const reviews = Map.groupBy(rows, ({ app_id }) => app_id)
    const slugs = new Map([...given.categoryIds].map(([slug, id]) => [id, slug]))
    for (const { source, line, app } of matches) {
      if (!app) continue
      const changes = toColumns(line, app, given)
      const listed = listChanges(line, app, changes, slugs)
      const existing = reviews.get(app.id) ?? []
      if (line.reviews && !hasSameReviews(line.reviews, existing)) {
        listed.push({ field: 'reviews', before: existing.length, after: line.reviews.length })
        await sql('reviews').where({ app_id: app.id }).delete()
        await insertReviews(withAppId(line.reviews, app.id))
        // Readers see a changed app even if none of its columns changes.
        changes.updated_at ??= timestampAfter(app.updated_at)
      }
      if (!hasChanges(app, changes)) continue
      await apps.save('app import', app, changes, actor)
      source.outcome = 'updated'
      source.update = { app_id: app.id, slug: app.slug, changes: listed }
    }
  }

  return { write }
}

const withAppId = (reviews: LineReview[], app_id: number) =>
  reviews.map((review) => ({ ...review, app_id }))
