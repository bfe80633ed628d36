import type { Actor } from '../audit/store.ts'
import { categoryStore } from '../catalogue/categories.ts'
import { isNumbered } from '../catalogue/slug.ts'
import { appStore, differs, laterThan } from '../catalogue/store.ts'
import { freeSlugs } from '../catalogue/unique-slugs.ts'
import type { Problem } from '../contract/contract.ts'
import { Refusal } from '../contract/errors.ts'
import type { Connection } from '../db/dialect.ts'
import type { ReviewRow } from '../db/tables.ts'
import {
  conflicts,
  givers,
  insteadIdentity,
  isPlan,
  isSame,
  isStrangers,
  isUnnamed,
  type KnownApp,
  lineChanges,
  type MatchedLine,
  matched,
  nameIdentity,
  newRow,
  type Outcome,
  type Plan,
  packageIdentity,
  planOf,
  type ReadyCategory,
  type ReadyLine,
  slugIdentity,
  takesPackageName,
  withoutRepeats,
} from './app-plan.ts'
import { categoryPlans, isCategoryPlan, isRename } from './category-plan.ts'
import { type Line, type LineCategory, type LineReview, problem } from './line.ts'

/** Developers by name, and whether search knows them by that alone: one that is being renamed has two. */
type Owners = Map<string, { id: number; hasOneName: boolean }>

type Terms = { actor: Actor; onlyNew: boolean; now: string }

export const importStore = (connection: Connection) => {
  const { sql, newIds, insertion, lock } = connection
  const apps = appStore(connection)
  // Found before in this transaction, which keeps them as they are.
  const developers: Owners = new Map()

  /** Writes a batch of lines: first its categories, which an export has before the apps that are in them. */
  async function apply(lines: (ReadyLine | ReadyCategory)[], terms: Terms): Promise<Outcome[]> {
    const ofCategories = lines.filter((line) => 'category' in line)
    const ofApps = lines.filter((line) => 'line' in line)
    const categories = (await applyCategories(ofCategories, terms)).values()
    const apps = (await applyApps(ofApps, terms)).values()
    return lines.map((line) => ('category' in line ? categories : apps).next().value ?? [])
  }

  async function applyCategories(lines: ReadyCategory[], { actor, onlyNew }: Terms): Promise<Outcome[]> {
    if (lines.length === 0) return []
    const categories = categoryStore(connection)
    const plans = categoryPlans(
      await categories.allToChange(),
      lines.map(({ category }) => category),
    )
    const renames = onlyNew ? [] : plans.filter(isCategoryPlan).filter(isRename)
    await categories.renameAll(
      renames.flatMap(({ known, line: { slug, name } }) => (known ? { before: known, after: { slug, name } } : [])),
      actor,
    )
    const given = new Set<number | Problem>((await categories.all()).map(({ id }) => id))
    const outcomes: Outcome[] = []
    for (const plan of plans) {
      if (!isCategoryPlan(plan)) outcomes.push(plan)
      else if (plan.known) outcomes.push(renames.includes(plan) ? 'updated' : 'unchanged')
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
  async function applyApps(lines: ReadyLine[], terms: Terms, isLast = false): Promise<Outcome[]> {
    const known = await knownApps(lines.map(({ line }) => line))
    const [first, again] = withoutRepeats(lines.map((ready) => matched(known, ready)))
    const outcomes = await applyOnce(first, terms, isLast)
    if (again.length === 0) return outcomes
    // Two identities of one app: the second line must find what the first wrote.
    const later = await applyApps(again, terms, isLast)
    const results = new Map(
      [...first, ...again].map(({ number }, index) => [number, outcomes[index] ?? later[index - first.length]]),
    )
    return lines.map(({ number }) => results.get(number) ?? [])
  }

  async function applyOnce(lines: MatchedLine[], { actor, onlyNew, now }: Terms, isLast: boolean): Promise<Outcome[]> {
    const wanted = onlyNew ? lines.filter(({ known }) => known.length === 0) : lines
    const problems = new Map(
      wanted.map((line) => {
        const wrong = conflicts(line)
        return [line, !isLast && wrong.length > 0 && takesPackageName(line) ? ('later' as const) : wrong]
      }),
    )
    const categories = await categoryIds(
      wanted.filter((line) => problems.get(line)?.length === 0).map(({ line }) => line),
      actor,
    )
    const plans = lines.map((line) => {
      const wrong = problems.get(line)
      if (!wrong || wrong === 'later') return wrong
      return wrong.length > 0 ? wrong : planOf(line, categories)
    })

    const accepted = plans.filter((plan) => plan !== undefined && plan !== 'later').filter(isPlan)
    const reviews = await reviewsOf(accepted.flatMap(({ line, known }) => (line.reviews && known ? known.id : [])))
    const owners = await ownersOf(
      accepted.map(({ line }) => line),
      now,
    )
    await create(
      accepted.filter(({ known }) => !known),
      owners,
      actor,
      now,
    )
    const changed = new Set<Plan>()
    for (const plan of accepted) {
      if (plan.known && (await update(plan, plan.known, owners, reviews, actor, now))) changed.add(plan)
    }
    return plans.map((plan) => {
      if (!plan) return 'unchanged'
      if (plan === 'later') return plan
      if (!isPlan(plan)) return plan
      if (!plan.known) return plan.hasStrangersSlug ? 'created with another slug' : 'created'
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
      if (error instanceof Refusal) return problem('/category', error.message)
      throw error
    }
  }

  /** The apps that are there already, by each of the identities that the lines have. */
  async function knownApps(lines: Line[]): Promise<Map<string, KnownApp[]>> {
    const packages = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
    const slugs = lines.flatMap(({ slug }) => slug ?? [])
    const names = await ownersAnd('name', lines.filter(isUnnamed))
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
    const known = new Map<string, KnownApp[]>()
    for (const app of await found('apps.package_key', packages))
      known.set(packageIdentity(app.package_key ?? ''), [app])
    for (const app of await found('apps.slug', slugs)) known.set(slugIdentity(app.slug), [app])
    const named = (await found(['apps.developer_id', 'apps.name'], names)).filter((app) => app.package_key === null)
    for (const [identity, all] of Map.groupBy(named, (app) => nameIdentity(app.developer_name, app.name))) {
      const kept = all.filter((app) => app.deleted_at === null)
      known.set(identity, kept.length > 0 ? kept : all.slice(0, 1))
    }
    const others = lines.filter(({ slug }) => slug !== undefined)
    const strangers = others.filter((line) => isStrangers(line, known.get(slugIdentity(line.slug ?? ''))?.[0]))
    // A time of creation tells more than a name, which changes.
    const timed = strangers.filter(({ created_at }) => created_at !== undefined)
    const untimed = strangers.filter(({ created_at }) => created_at === undefined)
    const instead = [
      ...(await found(['apps.developer_id', 'apps.created_at'], await ownersAnd('created_at', timed))),
      ...(await found(['apps.developer_id', 'apps.name'], await ownersAnd('name', untimed))),
    ]
    for (const { developer_name, slug = '', created_at, name } of strangers) {
      const given = instead.filter(
        (app) =>
          app.developer_name === developer_name &&
          (created_at === undefined ? app.name === name : app.created_at === created_at) &&
          isNumbered(app.slug, slug),
      )
      known.set(insteadIdentity(developer_name, slug), given)
    }
    return known
  }

  /** What lines say in a field, each with the id of its owner; nothing of owners who are not there. */
  async function ownersAnd(field: 'name' | 'created_at', lines: Line[]): Promise<(readonly [number, string])[]> {
    const owners = await knownDevelopers(lines.map(({ developer_name }) => developer_name))
    return lines.flatMap((line) => {
      const owner = owners.get(line.developer_name)
      const value = line[field]
      return owner === undefined || value === undefined ? [] : [[owner.id, value] as const]
    })
  }

  /** Those of the names who are there, and others. */
  async function knownDevelopers(names: string[]): Promise<Owners> {
    const sought = [...new Set(names)].filter((name) => !developers.has(name))
    if (sought.length === 0) return developers
    // Shared, so that none is given another name before what is written of it is there.
    const rows = await sql('developers').whereIn('name', sought).forShare().select('id', 'name', 'next_name')
    for (const { id, name, next_name } of rows) developers.set(name, { id, hasOneName: next_name === null })
    return developers
  }

  /** Developers by name, new ones being made. */
  async function ownersOf(lines: Line[], now: string): Promise<Owners> {
    const names = [...new Set(lines.map(({ developer_name }) => developer_name))]
    const owners = await knownDevelopers(names)
    const added = names.filter((name) => !owners.has(name))
    if (added.length === 0) return owners
    const ids = await newIds(
      'developers',
      added.map(() => undefined),
    )
    const changed_at = new Date().toISOString()
    const rows = added.map((name, index) => ({ id: ids[index] ?? 0, name, created_at: now, changed_at }))
    await insertion('developers', rows)()
    for (const { name, id } of rows) owners.set(name, { id, hasOneName: true })
    return owners
  }

  async function reviewsOf(appIds: number[]): Promise<Map<number, ReviewRow[]>> {
    const rows = appIds.length === 0 ? [] : await sql('reviews').whereIn('app_id', appIds).orderBy('id')
    return Map.groupBy(rows, ({ app_id }) => app_id)
  }

  /** Those of the wanted ids that a table does not have yet; of one that is wanted twice, the first. */
  async function freeIds(table: 'apps' | 'reviews', wanted: (number | undefined)[]): Promise<(number | undefined)[]> {
    const ids = wanted.filter((id) => id !== undefined)
    const there = new Set<number>(
      ids.length === 0 ? [] : await sql<{ id: number }>(table).whereIn('id', ids).pluck('id'),
    )
    return wanted.map((id) => {
      if (id === undefined || there.has(id)) return undefined
      there.add(id)
      return id
    })
  }

  async function create(plans: Plan[], owners: Owners, actor: Actor, now: string) {
    const ids = await freeIds(
      'apps',
      plans.map(({ line }) => line.id),
    )
    const ownerOf = ({ line }: Plan) => owners.get(line.developer_name)
    const displaced = plans.filter(({ hasStrangersSlug }) => hasStrangersSlug).map(({ line }) => line.slug ?? '')
    const given = plans.flatMap(({ line }) => line.slug ?? [])
    const slugs = (await freeSlugs(connection, displaced, given)).values()
    const reviews = plans.map(({ line }) => line.reviews ?? [])
    const reviewIds = await freeReviewIds(reviews.flat())
    await apps.insertAll(
      'app import',
      plans.map((plan, index) => ({
        app: withId(
          newRow(plan, plan.hasStrangersSlug ? slugs.next().value : plan.line.slug, ownerOf(plan)?.id ?? 0, now),
          ids[index],
        ),
        at: now,
        // It was cut by the one name that the line has.
        document: ownerOf(plan)?.hasOneName ? plan.document : undefined,
      })),
      actor,
      (inserted) =>
        insertion(
          'reviews',
          inserted
            .flatMap((app, index) => (reviews[index] ?? []).map((review) => ({ ...review, app_id: app.id })))
            .map((review, index) => ({ ...review, id: reviewIds[index] })),
        ),
    )
  }

  const freeReviewIds = (reviews: LineReview[]) =>
    freeIds(
      'reviews',
      reviews.map(({ id }) => id),
    )

  /** Whether anything of the app changed. */
  async function update(
    plan: Plan,
    known: KnownApp,
    owners: Owners,
    reviews: Map<number, ReviewRow[]>,
    actor: Actor,
    now: string,
  ): Promise<boolean> {
    const { line } = plan
    const changes = lineChanges(plan, known, owners.get(line.developer_name)?.id ?? 0, now)
    if (line.reviews !== undefined && !isSame(line.reviews, reviews.get(known.id) ?? [])) {
      await sql('reviews').where({ app_id: known.id }).delete()
      const ids = await freeReviewIds(line.reviews)
      await insertion(
        'reviews',
        line.reviews.map((review, index) => ({ ...review, app_id: known.id, id: ids[index] })),
      )()
      // The app as others see it changes, even where no column of its own does.
      changes.updated_at ??= laterThan(known.updated_at)
    }
    if (!differs(known, changes)) return false
    await apps.save('app import', known, changes, actor)
    return true
  }

  /** Writes the lines that were to be written later, all together: so they may exchange package names. */
  async function applyLast(lines: ReadyLine[], terms: Terms): Promise<Outcome[]> {
    const known = await knownApps(lines.map(({ line }) => line))
    const ids = givers(lines.map((ready) => matched(known, ready)))
    await sql('apps').whereIn('id', ids).update({ package_name: null, package_key: null })
    return applyApps(lines, terms, true)
  }

  return { apply, applyLast }
}

const withId = <T extends object>(row: T, id: number | undefined): T & { id?: number } =>
  id === undefined ? row : { ...row, id }
