import type { Actor } from '../audit/store.ts'
import { categoryStore } from '../catalogue/categories.ts'
import { appStore, hasChanges, timestampAfter } from '../catalogue/store.ts'
import { uniqueSlugs } from '../catalogue/unique-slugs.ts'
import type { Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Connection } from '../db/dialect.ts'
import type { ReviewRow } from '../db/tables.ts'
import { required } from '../util/helpers.ts'
import {
  categoryColumns,
  type ExistingApp,
  findConflicts,
  hasSameReviews,
  isForeignSlug,
  isKnownByName,
  lineChanges,
  type Match,
  matchLines,
  splitRepeats,
  toNewRow,
} from './app-plan.ts'
import { planCategories } from './category-plan.ts'
import { type ImportLine, type Line, type LineCategory, type LineReview, problem } from './line.ts'

type Options = { actor: Actor; onlyNew: boolean; now: string }

export const importStore = (connection: Connection, { actor, onlyNew, now }: Options) => {
  const { sql, insertRows } = connection
  const apps = appStore(connection)
  const categories = categoryStore(connection)
  /** Ids by name. */
  const owners = new Map<string, number>()

  /**
   * Writes a batch of lines and notes the outcome in each. No two lines may claim the same app. A refused line leaves nothing
   * behind.
   */
  async function write(lines: ImportLine[]) {
    // Categories first: in an export they stand before the apps that are in them.
    await writeCategories(lines)
    await writeApps(lines)
  }

  async function writeCategories(lines: ImportLine[]) {
    const sources = lines.filter(({ category }) => category)
    if (sources.length === 0) return
    const plans = planCategories(
      await categories.lockAll(),
      sources.flatMap(({ category }) => category ?? []),
    )
    const renames = onlyNew ? [] : plans.filter(({ action }) => action === 'rename')
    await categories.renameAll(
      renames.flatMap(({ existing, category: { slug, name } }) =>
        existing ? { before: existing, after: { slug, name } } : [],
      ),
      actor,
    )
    for (const [index, { action, category }] of plans.entries()) {
      const source = required(sources[index], 'the line of a category')
      if (action === 'refuse') {
        const names = `${category.slug}, ${category.name}`
        source.outcome = [problem('/category', `has a slug or name that another has here: ${names}`)]
      } else if (action === 'add') {
        const added = await addCategory(category)
        source.outcome = typeof added === 'number' ? 'created' : [added]
      } else source.outcome = action === 'rename' && !onlyNew ? 'updated' : 'unchanged'
    }
  }

  async function writeApps(lines: ImportLine[]) {
    const existing = await findExistingApps(lines.flatMap(({ app }) => app ?? []))
    const matches = matchLines(lines, existing)
    // Also resets what an earlier attempt at this transaction left.
    for (const { source } of matches) {
      source.outcome = 'unchanged'
      source.isRetryable = false
    }
    const wanted = onlyNew ? matches.filter((match) => match.existing.length === 0) : matches
    const { first, repeated } = splitRepeats(wanted)
    await writeMatches(first)
    // The second line of an app has to find what the first wrote.
    if (repeated.length > 0) await writeApps(repeated.map(({ source }) => source))
  }

  async function writeMatches(matches: Match[]) {
    findConflicts(matches)
    const categoryIds = await findOrAddCategories(matches.filter(isAccepted))
    for (const match of matches.filter(isAccepted)) {
      const columns = categoryColumns(match.line, categoryIds)
      if (Array.isArray(columns)) match.problems = columns
      else match.columns = columns
    }
    // Again, because an app keeps its package name if its line was just refused for its category.
    const renamed = findConflicts(matches)
    if (renamed.length > 0) await sql('apps').whereIn('id', renamed).update({ package_name: null, package_key: null })

    const accepted = matches.filter(isAccepted)
    const reviews = await reviewsOf(accepted.flatMap(({ line, app }) => (line.reviews && app ? app.id : [])))
    await addOwners(accepted)
    await createApps(accepted.filter(({ app }) => !app))
    for (const match of matches) {
      const { source, app, problems, hasForeignSlug, takesPackageName } = match
      source.isRetryable = problems.length > 0 && takesPackageName
      if (problems.length > 0) source.outcome = problems
      else if (!app) source.outcome = hasForeignSlug ? 'created with another slug' : 'created'
      else if (await updateApp(match, app, reviews.get(app.id) ?? [])) source.outcome = 'updated'
    }
  }

  /** Ids by slug, or why the category of a line could not be added. */
  async function findOrAddCategories(matches: Match[]): Promise<Map<string, number | Problem>> {
    const ids = new Map<string, number | Problem>((await categories.all()).map(({ slug, id }) => [slug, id]))
    for (const { category } of matches.map(({ line }) => line)) {
      if (typeof category !== 'string' && !ids.has(category.slug)) ids.set(category.slug, await addCategory(category))
    }
    return ids
  }

  async function addCategory({ id, slug, name, created_at }: LineCategory): Promise<number | Problem> {
    const [freeId] = await unusedIds('categories', [id])
    try {
      return (await categories.add(slug, name, actor, { id: freeId, created_at })).id
    } catch (error) {
      if (error instanceof OperatorError) return problem('/category', error.message)
      throw error
    }
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

    // Apps that an earlier import gave another slug than their line has.
    const bySlug = new Map([...found.values()].map((app) => [app.slug, app]))
    const isForeign = (line: Line) => line.slug !== undefined && isForeignSlug(line, bySlug.get(line.slug))
    const foreign = lines.filter(isForeign)
    const untimed = foreign.filter(({ created_at }) => created_at === undefined)
    const names = await withOwnerIds([...lines.filter(isKnownByName), ...untimed], ({ name }) => name)
    await find(['apps.developer_id', 'apps.name'], names)
    const times = await withOwnerIds(foreign, ({ created_at }) => created_at)
    await find(['apps.developer_id', 'apps.created_at'], times)
    return [...found.values()]
  }

  /** A value of each line with the id of its owner. Leaves out lines without the value or whose owner does not exist. */
  async function withOwnerIds(lines: Line[], read: (line: Line) => string | undefined) {
    await findOwners(lines)
    return lines.flatMap((line) => {
      const owner = owners.get(line.developer_name)
      const value = read(line)
      return owner === undefined || value === undefined ? [] : [[owner, value] as const]
    })
  }

  /** Adds the developers of the lines to `owners`. Returns the names that do not exist. */
  async function findOwners(lines: Line[]): Promise<string[]> {
    const names = new Set(lines.map(({ developer_name }) => developer_name).filter((name) => !owners.has(name)))
    if (names.size === 0) return []
    // Locked, so that no developer is renamed before the apps with that name in their search documents are committed.
    const rows = await sql('developers')
      .whereIn('name', [...names])
      .forShare()
      .select('id', 'name')
    for (const { id, name } of rows) owners.set(name, id)
    return [...names].filter((name) => !owners.has(name))
  }

  async function addOwners(matches: Match[]) {
    const names = await findOwners(matches.map(({ line }) => line))
    if (names.length === 0) return
    const changed_at = new Date().toISOString()
    const rows = await insertRows(
      'developers',
      names.map((name) => ({ name, created_at: now, changed_at })),
    )
    for (const { name, id } of rows) owners.set(name, id)
  }

  const ownerOf = ({ developer_name }: Line) => required(owners.get(developer_name), 'the owner of an app')

  async function reviewsOf(appIds: number[]): Promise<Map<number, ReviewRow[]>> {
    const rows = appIds.length === 0 ? [] : await sql('reviews').whereIn('app_id', appIds).orderBy('id')
    return Map.groupBy(rows, ({ app_id }) => app_id)
  }

  /** The wanted ids, with undefined in place of those that the table has and of repeated ones. */
  async function unusedIds(table: string, wanted: (number | undefined)[]): Promise<(number | undefined)[]> {
    const ids = wanted.filter((id) => id !== undefined)
    const taken = new Set<number>(
      ids.length === 0 ? [] : await sql<{ id: number }>(table).whereIn('id', ids).pluck('id'),
    )
    return wanted.map((id) => {
      if (id === undefined || taken.has(id)) return undefined
      taken.add(id)
      return id
    })
  }

  async function createApps(matches: Match[]) {
    if (matches.length === 0) return
    const given = matches.flatMap(({ line }) => line.slug ?? [])
    const foreignSlugs = matches.flatMap(({ line, hasForeignSlug }) => (hasForeignSlug && line.slug) || [])
    const otherSlugs = await uniqueSlugs(connection, foreignSlugs, given)
    const ids = await unusedIds(
      'apps',
      matches.map(({ line }) => line.id),
    )
    const rows = matches.map(({ source, line, columns, hasForeignSlug }, index) => {
      const slug = hasForeignSlug ? otherSlugs.shift() : line.slug
      const given = { id: ids[index], slug, developer_id: ownerOf(line) }
      return {
        app: toNewRow(line, required(columns, 'the category of an app'), given, now),
        at: now,
        document: source.document,
      }
    })
    const inserted = await apps.insertAll('app import', rows, actor)
    await insertReviews(
      inserted.flatMap(({ id }, index) =>
        withAppId(required(matches[index], 'the line of an app').line.reviews ?? [], id),
      ),
    )
  }

  async function insertReviews(reviews: (LineReview & { app_id: number })[]) {
    const ids = await unusedIds(
      'reviews',
      reviews.map(({ id }) => id),
    )
    await insertRows(
      'reviews',
      reviews.map((review, index) => ({ ...review, id: ids[index] })),
    )
  }

  /** Returns whether anything changed. */
  async function updateApp({ line, columns }: Match, app: ExistingApp, reviews: ReviewRow[]): Promise<boolean> {
    const changes = lineChanges(line, required(columns, 'the category of an app'), app, ownerOf(line), now)
    if (line.reviews !== undefined && !hasSameReviews(line.reviews, reviews)) {
      await sql('reviews').where({ app_id: app.id }).delete()
      await insertReviews(withAppId(line.reviews, app.id))
      // Readers see a changed app even if none of its columns changes.
      changes.updated_at ??= timestampAfter(app.updated_at)
    }
    if (!hasChanges(app, changes)) return false
    await apps.save('app import', app, changes, actor)
    return true
  }

  return { write }
}

const isAccepted = ({ problems }: Match) => problems.length === 0

const withAppId = (reviews: LineReview[], app_id: number) => reviews.map((review) => ({ ...review, app_id }))
