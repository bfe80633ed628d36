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
  hasSameReviews,
  isAccepted,
  isForeignSlug,
  isKnownByName,
  type Match,
  matchLines,
  refuseConflicts,
  splitRepeats,
  toColumns,
  toNewRow,
} from './app-plan.ts'
import { planCategories } from './category-plan.ts'
import { type ImportLine, type Line, type LineCategory, type LineReview, problem } from './line.ts'

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
    await writeCategories(lines.filter(({ category }) => category))
    await writeApps(lines.filter(({ app }) => app))
  }

  async function writeCategories(lines: ImportLine[]) {
    if (lines.length === 0) return
    const plans = planCategories(
      await categories.lockAll(),
      lines.flatMap(({ category }) => category ?? []),
    )
    const renames = plans.filter(({ action }) => action === 'rename' && !onlyNew)
    await categories.renameAll(
      renames.flatMap(({ existing, category: { slug, name } }) =>
        existing ? { before: existing, after: { slug, name } } : [],
      ),
      actor,
    )
    for (const [index, { action, category }] of plans.entries()) {
      const line = required(lines[index], 'the line of a category')
      if (action === 'refuse') {
        const names = `${category.slug}, ${category.name}`
        line.outcome = [problem('/category', `has a slug or name that another category has: ${names}`)]
      } else if (action === 'add') {
        const added = await addCategory(category)
        line.outcome = typeof added === 'number' ? 'created' : [added]
      } else line.outcome = action === 'rename' && !onlyNew ? 'updated' : 'unchanged'
    }
  }

  async function writeApps(lines: ImportLine[]) {
    const matches = matchLines(lines, await findExistingApps(lines.flatMap(({ app }) => app ?? [])))
    // Also resets the lines after an earlier attempt at this transaction.
    for (const { source } of matches) {
      source.outcome = 'unchanged'
      source.isRetryable = false
    }
    const { first, repeated } = splitRepeats(onlyNew ? matches.filter(({ app, holder }) => !app && !holder) : matches)
    await writeMatches(first)
    // The second line of an app has to find what the first wrote.
    if (repeated.length > 0) await writeApps(repeated.map(({ source }) => source))
  }

  async function writeMatches(matches: Match[]) {
    refuseConflicts(matches)
    await setCategories(matches.filter(isAccepted))
    // Again, because an app keeps its package name if its line was just refused for its category.
    refuseConflicts(matches)
    const accepted = matches.filter(isAccepted)
    await removePackageNames(accepted.flatMap(({ holder }) => holder?.id ?? []))
    await addOwners(accepted)
    await createApps(accepted.filter(({ app }) => !app))
    await updateApps(accepted)
    for (const { source, problems, holder } of matches.filter((match) => !isAccepted(match))) {
      source.outcome = problems
      source.isRetryable = holder !== undefined
    }
  }

  async function setCategories(matches: Match[]) {
    const ids = new Map<string, number | Problem>((await categories.all()).map(({ slug, id }) => [slug, id]))
    for (const { category } of matches.map(({ line }) => line)) {
      if (typeof category !== 'string' && !ids.has(category.slug)) ids.set(category.slug, await addCategory(category))
    }
    for (const match of matches) {
      const columns = categoryColumns(match.line, ids)
      if (Array.isArray(columns)) match.problems = columns
      else match.columns = columns
    }
  }

  /** Returns its id, or why it could not be added. */
  async function addCategory(category: LineCategory): Promise<number | Problem> {
    const [{ slug, name, ...given } = category] = await withUnusedIds('categories', [category])
    try {
      return (await categories.add(slug, name, actor, given)).id
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

    await findOwners(lines)
    const withOwner = (line: Line, value: string) => {
      const owner = owners.get(line.developer_name)
      return owner === undefined ? [] : [[owner, value] as const]
    }
    // Apps that an earlier import gave another slug than their line has.
    const bySlug = new Map([...found.values()].map((app) => [app.slug, app]))
    const foreign = lines.filter((line) => line.slug !== undefined && isForeignSlug(line, bySlug.get(line.slug)))
    const named = [...lines.filter(isKnownByName), ...foreign.filter(({ created_at }) => created_at === undefined)]
    const names = named.flatMap((line) => withOwner(line, line.name))
    await find(['apps.developer_id', 'apps.name'], names)
    const times = foreign.flatMap((line) => (line.created_at === undefined ? [] : withOwner(line, line.created_at)))
    await find(['apps.developer_id', 'apps.created_at'], times)
    return [...found.values()]
  }

  async function findOwners(lines: Line[]) {
    const names = new Set(lines.map(({ developer_name }) => developer_name).filter((name) => !owners.has(name)))
    if (names.size === 0) return
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

  async function removePackageNames(appIds: number[]) {
    if (appIds.length > 0) await sql('apps').whereIn('id', appIds).update({ package_name: null, package_key: null })
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

  /** What the columns of an app need besides its line. */
  const given = ({ line, columns }: Match) => ({
    developer_id: required(owners.get(line.developer_name), 'the owner of an app'),
    columns: required(columns, 'the category of an app'),
    now,
  })

  async function createApps(matches: Match[]) {
    if (matches.length === 0) return
    const foreignSlugs = matches.flatMap(({ line, hasForeignSlug }) => (hasForeignSlug && line.slug) || [])
    const reserved = matches.flatMap(({ line }) => line.slug ?? [])
    const otherSlugs = (await uniqueSlugs(connection, foreignSlugs, reserved)).values()
    const rows = matches.map((match) => {
      const slug = match.hasForeignSlug ? otherSlugs.next().value : match.line.slug
      return { ...toNewRow(match.line, given(match)), ...(slug !== undefined && { slug }) }
    })
    const unused = await withUnusedIds('apps', rows)
    const inserted = await apps.insertAll(
      'app import',
      matches.map(({ source }, index) => ({
        app: required(unused[index], 'the row of an app'),
        at: now,
        document: source.document,
      })),
      actor,
    )
    const reviews = matches.flatMap(({ source, line, hasForeignSlug }, index) => {
      source.outcome = hasForeignSlug ? 'created with another slug' : 'created'
      return withAppId(line.reviews ?? [], required(inserted[index], 'the inserted app').id)
    })
    await insertReviews(reviews)
  }

  const insertReviews = async (reviews: (LineReview & { app_id: number })[]) =>
    insertRows('reviews', await withUnusedIds('reviews', reviews))

  async function updateApps(matches: Match[]) {
    const appIds = matches.flatMap(({ line, app }) => (line.reviews && app ? app.id : []))
    const rows = appIds.length === 0 ? [] : await sql('reviews').whereIn('app_id', appIds)
    const reviews = Map.groupBy(rows, ({ app_id }) => app_id)
    for (const match of matches) {
      const { source, app } = match
      if (app && (await updateApp(match, app, reviews.get(app.id) ?? []))) source.outcome = 'updated'
    }
  }

  /** Returns whether anything changed. */
  async function updateApp(match: Match, app: ExistingApp, reviews: ReviewRow[]): Promise<boolean> {
    const changes = toColumns(match.line, app, given(match))
    if (match.line.reviews && !hasSameReviews(match.line.reviews, reviews)) {
      await sql('reviews').where({ app_id: app.id }).delete()
      await insertReviews(withAppId(match.line.reviews, app.id))
      // Readers see a changed app even if none of its columns changes.
      changes.updated_at ??= timestampAfter(app.updated_at)
    }
    if (!hasChanges(app, changes)) return false
    await apps.save('app import', app, changes, actor)
    return true
  }

  return { write }
}

const withAppId = (reviews: LineReview[], app_id: number) => reviews.map((review) => ({ ...review, app_id }))
