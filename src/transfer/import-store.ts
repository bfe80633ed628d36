import type { Actor } from '../audit/store.ts'
import { categoryStore } from '../catalogue/categories.ts'
import { isNumberedSlug } from '../catalogue/slug.ts'
import { appStore, hasChanges, timestampAfter } from '../catalogue/store.ts'
import { uniqueSlugs } from '../catalogue/unique-slugs.ts'
import type { Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Connection } from '../db/dialect.ts'
import type { ReviewRow } from '../db/tables.ts'
import {
  type AppPlan,
  type ExistingApp,
  findConflicts,
  hasSameReviews,
  isAppPlan,
  isForeignSlug,
  isKnownByName,
  type LineOutcome,
  lineChanges,
  type MatchedLine,
  matchLine,
  nameIdentity,
  type ParsedCategory,
  type ParsedLine,
  packageIdentity,
  packageNameGivers,
  planLine,
  replacedSlugIdentity,
  slugIdentity,
  splitRepeats,
  takesPackageName,
  toNewRow,
} from './app-plan.ts'
import { isCategoryPlan, isRename, planCategories } from './category-plan.ts'
import { type Line, type LineCategory, type LineReview, problem } from './line.ts'

/** Developers by name. */
type Owners = Map<string, { id: number }>

type ApplyOptions = { actor: Actor; onlyNew: boolean; now: string }

export const importStore = (connection: Connection) => {
  const { sql, insertRows, lock } = connection
  const apps = appStore(connection)
  // Found before in this transaction, which keeps them as they are.
  const developers: Owners = new Map()

  /** Writes a batch of lines: first its categories, which an export has before the apps that are in them. */
  async function applyBatch(lines: (ParsedLine | ParsedCategory)[], options: ApplyOptions): Promise<LineOutcome[]> {
    const categoryLines = lines.filter((line) => 'category' in line)
    const appLines = lines.filter((line) => 'line' in line)
    const categories = (await applyCategories(categoryLines, options)).values()
    const apps = (await applyApps(appLines, options)).values()
    return lines.map((line) => ('category' in line ? categories : apps).next().value ?? [])
  }

  async function applyCategories(lines: ParsedCategory[], { actor, onlyNew }: ApplyOptions): Promise<LineOutcome[]> {
    if (lines.length === 0) return []
    const categories = categoryStore(connection)
    const plans = planCategories(
      await categories.lockAll(),
      lines.map(({ category }) => category),
    )
    const renames = onlyNew ? [] : plans.filter(isCategoryPlan).filter(isRename)
    await categories.renameAll(
      renames.flatMap(({ existing, line: { slug, name } }) =>
        existing ? { before: existing, after: { slug, name } } : [],
      ),
      actor,
    )
    const given = new Set<number | Problem>((await categories.all()).map(({ id }) => id))
    const outcomes: LineOutcome[] = []
    for (const plan of plans) {
      if (!isCategoryPlan(plan)) outcomes.push(plan)
      else if (plan.existing) outcomes.push(renames.includes(plan) ? 'updated' : 'unchanged')
      else {
        const added = await addCategory(plan.line, given, actor)
        if (typeof added === 'number') given.add(added)
        outcomes.push(typeof added === 'number' ? 'created' : [added])
      }
    }
    return outcomes
  }

  /**
   * Writes a batch of lines, no two of which make the same claim; returns what became of each. A line that cannot be
   * written has its problems and leaves nothing behind.
   */
  async function applyApps(lines: ParsedLine[], options: ApplyOptions, isLast = false): Promise<LineOutcome[]> {
    const existing = await findExistingApps(lines.map(({ line }) => line))
    const [first, repeated] = splitRepeats(lines.map((ready) => matchLine(existing, ready)))
    const outcomes = await applyOnce(first, options, isLast)
    if (repeated.length === 0) return outcomes
    // Two identities of one app: the second line must find what the first wrote.
    const deferred = await applyApps(repeated, options, isLast)
    const results = new Map(
      [...first, ...repeated].map(({ number }, index) => [number, outcomes[index] ?? deferred[index - first.length]]),
    )
    return lines.map(({ number }) => results.get(number) ?? [])
  }

  async function applyOnce(
    lines: MatchedLine[],
    { actor, onlyNew, now }: ApplyOptions,
    isLast: boolean,
  ): Promise<LineOutcome[]> {
    const wanted = onlyNew ? lines.filter(({ existing }) => existing.length === 0) : lines
    const problems = new Map(
      wanted.map((line) => {
        const wrong = findConflicts(line)
        return [line, !isLast && wrong.length > 0 && takesPackageName(line) ? ('deferred' as const) : wrong]
      }),
    )
    const categories = await categoryIds(
      wanted.filter((line) => problems.get(line)?.length === 0).map(({ line }) => line),
      actor,
    )
    const plans = lines.map((line) => {
      const wrong = problems.get(line)
      if (!wrong || wrong === 'deferred') return wrong
      return wrong.length > 0 ? wrong : planLine(line, categories)
    })

    const accepted = plans.filter((plan) => plan !== undefined && plan !== 'deferred').filter(isAppPlan)
    const reviews = await reviewsOf(
      accepted.flatMap(({ line, existing }) => (line.reviews && existing ? existing.id : [])),
    )
    const owners = await findOrAddOwners(
      accepted.map(({ line }) => line),
      now,
    )
    await create(
      accepted.filter(({ existing }) => !existing),
      owners,
      actor,
      now,
    )
    const changed = new Set<AppPlan>()
    for (const plan of accepted) {
      if (plan.existing && (await update(plan, plan.existing, owners, reviews, actor, now))) changed.add(plan)
    }
    return plans.map((plan) => {
      if (!plan) return 'unchanged'
      if (plan === 'deferred') return plan
      if (!isAppPlan(plan)) return plan
      if (!plan.existing) return plan.hasForeignSlug ? 'created with another slug' : 'created'
      return changed.has(plan) ? 'updated' : 'unchanged'
    })
  }

  /** Ids by slug, categories that lines name and describe being made; a problem where one cannot be. */
  async function categoryIds(lines: Line[], actor: Actor): Promise<Map<string, number | Problem>> {
    const ids = new Map<string, number | Problem>(
      (await categoryStore(connection).all()).map(({ slug, id }) => [slug, id]),
    )
    for (const { category } of lines) {
      if (typeof category === 'string' || ids.has(category.slug)) continue
      ids.set(category.slug, await addCategory(category, new Set(ids.values()), actor))
    }
    return ids
  }

  async function addCategory(
    { id, slug, name, created_at }: LineCategory,
    given: Set<number | Problem>,
    actor: Actor,
  ): Promise<number | Problem> {
    try {
      const kept = id !== undefined && !given.has(id) ? id : undefined
      return (await categoryStore(connection).add(slug, name, actor, { id: kept, created_at })).id
    } catch (error) {
      if (error instanceof OperatorError) return problem('/category', error.message)
      throw error
    }
  }

  /** The apps that are there already, by each of the identities that the lines have. */
  async function findExistingApps(lines: Line[]): Promise<Map<string, ExistingApp[]>> {
    const packages = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
    const slugs = lines.flatMap(({ slug }) => slug ?? [])
    const names = await withOwnerIds('name', lines.filter(isKnownByName))
    const found = async (columns: string | string[], values: readonly (string | readonly (string | number)[])[]) => {
      if (values.length === 0) return []
      await lock('apps', columns, values)
      return (
        sql('apps')
          .join('developers', 'developers.id', 'apps.developer_id')
          // knex types one column or several differently; both take a list of what they are compared with.
          .whereIn(columns as string, values as string[])
          .select('apps.*', 'developers.name as developer_name')
      )
    }
    const existing = new Map<string, ExistingApp[]>()
    for (const app of await found('apps.package_key', packages))
      existing.set(packageIdentity(app.package_key ?? ''), [app])
    for (const app of await found('apps.slug', slugs)) existing.set(slugIdentity(app.slug), [app])
    const named = (await found(['apps.developer_id', 'apps.name'], names)).filter((app) => app.package_key === null)
    for (const [identity, all] of Map.groupBy(named, (app) => nameIdentity(app.developer_name, app.name))) {
      const kept = all.filter((app) => app.deleted_at === null)
      existing.set(identity, kept.length > 0 ? kept : all.slice(0, 1))
    }
    const others = lines.filter(({ slug }) => slug !== undefined)
    const withForeignSlug = others.filter((line) =>
      isForeignSlug(line, existing.get(slugIdentity(line.slug ?? ''))?.[0]),
    )
    // A time of creation tells more than a name, which changes.
    const timed = withForeignSlug.filter(({ created_at }) => created_at !== undefined)
    const untimed = withForeignSlug.filter(({ created_at }) => created_at === undefined)
    const renumbered = [
      ...(await found(['apps.developer_id', 'apps.created_at'], await withOwnerIds('created_at', timed))),
      ...(await found(['apps.developer_id', 'apps.name'], await withOwnerIds('name', untimed))),
    ]
    for (const { developer_name, slug = '', created_at, name } of withForeignSlug) {
      const given = renumbered.filter(
        (app) =>
          app.developer_name === developer_name &&
          (created_at === undefined ? app.name === name : app.created_at === created_at) &&
          isNumberedSlug(app.slug, slug),
      )
      existing.set(replacedSlugIdentity(developer_name, slug), given)
    }
    return existing
  }

  /** What lines say in a field, each with the id of its owner; nothing of owners who are not there. */
  async function withOwnerIds(field: 'name' | 'created_at', lines: Line[]): Promise<(readonly [number, string])[]> {
    const owners = await findDevelopers(lines.map(({ developer_name }) => developer_name))
    return lines.flatMap((line) => {
      const owner = owners.get(line.developer_name)
      const value = line[field]
      return owner === undefined || value === undefined ? [] : [[owner.id, value] as const]
    })
  }

  /** Those of the names who are there, and others. */
  async function findDevelopers(names: string[]): Promise<Owners> {
    const missing = [...new Set(names)].filter((name) => !developers.has(name))
    if (missing.length === 0) return developers
    // Shared, so that none is given another name before what is written of it is there.
    const rows = await sql('developers').whereIn('name', missing).forShare().select('id', 'name')
    for (const { id, name } of rows) developers.set(name, { id })
    return developers
  }

  /** Developers by name, new ones being made. */
  async function findOrAddOwners(lines: Line[], now: string): Promise<Owners> {
    const names = [...new Set(lines.map(({ developer_name }) => developer_name))]
    const owners = await findDevelopers(names)
    const added = names.filter((name) => !owners.has(name))
    if (added.length === 0) return owners
    const changed_at = new Date().toISOString()
    const rows = await insertRows(
      'developers',
      added.map((name) => ({ name, created_at: now, changed_at })),
    )
    for (const { name, id } of rows) owners.set(name, { id })
    return owners
  }

  async function reviewsOf(appIds: number[]): Promise<Map<number, ReviewRow[]>> {
    const rows = appIds.length === 0 ? [] : await sql('reviews').whereIn('app_id', appIds).orderBy('id')
    return Map.groupBy(rows, ({ app_id }) => app_id)
  }

  /** Those of the wanted ids that a table does not have yet; of one that is wanted twice, the first. */
  async function unusedIds(table: 'apps' | 'reviews', wanted: (number | undefined)[]): Promise<(number | undefined)[]> {
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

  async function create(plans: AppPlan[], owners: Owners, actor: Actor, now: string) {
    const ids = await unusedIds(
      'apps',
      plans.map(({ line }) => line.id),
    )
    const ownerOf = ({ line }: AppPlan) => owners.get(line.developer_name)
    const foreignSlugs = plans.filter(({ hasForeignSlug }) => hasForeignSlug).map(({ line }) => line.slug ?? '')
    const given = plans.flatMap(({ line }) => line.slug ?? [])
    const slugs = (await uniqueSlugs(connection, foreignSlugs, given)).values()
    const reviews = plans.map(({ line }) => line.reviews ?? [])
    const reviewIds = await unusedReviewIds(reviews.flat())
    const inserted = await apps.insertAll(
      'app import',
      plans.map((plan, index) => ({
        app: withId(
          toNewRow(plan, plan.hasForeignSlug ? slugs.next().value : plan.line.slug, ownerOf(plan)?.id ?? 0, now),
          ids[index],
        ),
        at: now,
        // It was cut by the one name that the line has.
        document: plan.document,
      })),
      actor,
    )
    await insertRows(
      'reviews',
      inserted
        .flatMap((app, index) => (reviews[index] ?? []).map((review) => ({ ...review, app_id: app.id })))
        .map((review, index) => ({ ...review, id: reviewIds[index] })),
    )
  }

  const unusedReviewIds = (reviews: LineReview[]) =>
    unusedIds(
      'reviews',
      reviews.map(({ id }) => id),
    )

  /** Whether anything of the app changed. */
  async function update(
    plan: AppPlan,
    existing: ExistingApp,
    owners: Owners,
    reviews: Map<number, ReviewRow[]>,
    actor: Actor,
    now: string,
  ): Promise<boolean> {
    const { line } = plan
    const changes = lineChanges(plan, existing, owners.get(line.developer_name)?.id ?? 0, now)
    if (line.reviews !== undefined && !hasSameReviews(line.reviews, reviews.get(existing.id) ?? [])) {
      await sql('reviews').where({ app_id: existing.id }).delete()
      const ids = await unusedReviewIds(line.reviews)
      await insertRows(
        'reviews',
        line.reviews.map((review, index) => ({ ...review, app_id: existing.id, id: ids[index] })),
      )
      // The app as others see it changes, even where no column of its own does.
      changes.updated_at ??= timestampAfter(existing.updated_at)
    }
    if (!hasChanges(existing, changes)) return false
    await apps.save('app import', existing, changes, actor)
    return true
  }

  /** Writes the lines that were to be written later, all together: so they may exchange package names. */
  async function applyDeferred(lines: ParsedLine[], options: ApplyOptions): Promise<LineOutcome[]> {
    const existing = await findExistingApps(lines.map(({ line }) => line))
    const ids = packageNameGivers(lines.map((ready) => matchLine(existing, ready)))
    await sql('apps').whereIn('id', ids).update({ package_name: null, package_key: null })
    return applyApps(lines, options, true)
  }

  return { applyBatch, applyDeferred }
}

const withId = <T extends object>(row: T, id: number | undefined): T & { id?: number } =>
  id === undefined ? row : { ...row, id }
