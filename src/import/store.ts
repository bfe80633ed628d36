import type { Actor } from '../actor.ts'
import { categoryStore } from '../apps/categories.ts'
import { slugOf } from '../apps/slug.ts'
import {
  type AppRowChanges,
  appStore,
  averageRating,
  differs,
  laterThan,
  type NewAppRow,
  type NewReviewRow,
} from '../apps/store.ts'
import type { Problem } from '../contract.ts'
import { type Connection, insertRows, type SearchDocument } from '../db/open.ts'
import type { AppRow, ReviewRow } from '../db/tables.ts'
import { ServiceError } from '../errors.ts'
import { defaultVersion, type Line, type LineReview, problem } from './line.ts'

/** A valid line; its search document is cut beforehand where the app will be listed. */
export type ReadyLine = { number: number; line: Line; document?: SearchDocument | undefined }

export type Outcome = 'created' | 'updated' | 'unchanged' | Problem[]

type KnownApp = AppRow & { developer_name: string }
/** With the apps that it knows: none, one, or several of one owner and name. */
type MatchedLine = ReadyLine & { known: KnownApp[] }
type Plan = { line: Line; category_id: number; document: SearchDocument | undefined; known: KnownApp | undefined }

/** What an app may be known by: package name or slug, and without these its owner and name. */
function identities({ package_name, slug, developer_name, name }: Line): string[] {
  const keys = []
  if (package_name !== undefined) keys.push(packageIdentity(package_name))
  if (slug !== undefined) keys.push(slugIdentity(slug))
  return keys.length > 0 ? keys : [nameIdentity(developer_name, name)]
}

/** The same with what the app will be known by when it is there: two lines that share one must not share a batch. */
export function claims(line: Line): string[] {
  const isUnnamed = line.package_name === undefined && line.slug === undefined
  return isUnnamed ? [...identities(line), slugIdentity(slugOf(line.name))] : identities(line)
}
const packageIdentity = (name: string) => `package ${name.toLowerCase()}`
const slugIdentity = (slug: string) => `slug ${slug}`
const nameIdentity = (developer: string, name: string) => `name ${developer}\n${name}`

export const importStore = (connection: Connection) => {
  const { sql } = connection
  const apps = appStore(connection)

  /**
   * Writes a batch of lines, no two of which make the same claim; returns what became of each. A line that cannot be
   * written has its problems and leaves nothing behind.
   */
  async function apply(lines: ReadyLine[], actor: Actor, now: string): Promise<Outcome[]> {
    const known = await knownApps(lines.map(({ line }) => line))
    const matched = lines.map((ready) => ({ ...ready, known: find(known, ready.line) }))
    const [first, again] = withoutRepeats(matched)
    const outcomes = await applyOnce(first, actor, now)
    if (again.length === 0) return outcomes
    // Two identities of one app: the second line must find what the first wrote.
    const later = await apply(again, actor, now)
    const results = new Map(
      [...first, ...again].map(({ number }, index) => [number, outcomes[index] ?? later[index - first.length]]),
    )
    return lines.map(({ number }) => results.get(number) ?? [])
  }

  async function applyOnce(lines: MatchedLine[], actor: Actor, now: string): Promise<Outcome[]> {
    const checked = lines.map((line) => ({ ...line, problems: conflicts(line.line, line.known) }))
    const categories = await categoryIds(
      checked.filter(({ problems }) => problems.length === 0).map(({ line }) => line),
      actor,
    )
    const plans = checked.map(({ line, document, known, problems }) =>
      problems.length > 0 ? problems : planOf(line, document, categories, known[0]),
    )

    const accepted = plans.filter(isPlan)
    const reviews = await reviewsOf(accepted.flatMap(({ line, known }) => (line.reviews && known ? known.id : [])))
    const developers = await developerIds(
      accepted.map(({ line }) => line.developer_name),
      now,
    )
    await create(
      accepted.filter(({ known }) => !known),
      developers,
      actor,
      now,
    )
    const changed = new Set<Plan>()
    for (const plan of accepted) {
      if (plan.known && (await update(plan, plan.known, developers, reviews, actor, now))) changed.add(plan)
    }
    return plans.map((plan) => {
      if (!isPlan(plan)) return plan
      if (!plan.known) return 'created'
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
    { id, slug, name }: { id?: number; slug: string; name: string },
    taken: Set<number | Problem>,
    actor: Actor,
  ): Promise<number | Problem> {
    try {
      const kept = id !== undefined && !taken.has(id) ? id : undefined
      return (await categoryStore(connection).add(slug, name, actor, kept)).id
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'refused') return problem('/category', error.message)
      throw error
    }
  }

  /** The apps that are there already, by each of the identities that the lines have. */
  async function knownApps(lines: Line[]): Promise<Map<string, KnownApp[]>> {
    const packages = lines.flatMap(({ package_name }) => package_name?.toLowerCase() ?? [])
    const slugs = lines.flatMap(({ slug }) => slug ?? [])
    const unnamed = lines.filter(({ package_name, slug }) => package_name === undefined && slug === undefined)
    const owners = await knownDevelopers(unnamed.map(({ developer_name }) => developer_name))
    const names = unnamed.flatMap(({ developer_name, name }) => {
      const owner = owners.get(developer_name)
      return owner === undefined ? [] : [[owner, name] as const]
    })
    const found = (columns: string | string[], values: readonly (string | readonly (string | number)[])[]) =>
      values.length === 0
        ? []
        : sql('apps')
            .join('developers', 'developers.id', 'apps.developer_id')
            // knex types one column or several differently; both take a list of what they are compared with.
            .whereIn(columns as string, values as string[])
            .select('apps.*', 'developers.name as developer_name')
    const known = new Map<string, KnownApp[]>()
    for (const app of await found('apps.package_key', packages))
      known.set(packageIdentity(app.package_key ?? ''), [app])
    for (const app of await found('apps.slug', slugs)) known.set(slugIdentity(app.slug), [app])
    const named = (await found(['apps.developer_id', 'apps.name'], names)).filter((app) => app.package_key === null)
    for (const [identity, all] of Map.groupBy(named, (app) => nameIdentity(app.developer_name, app.name))) {
      const kept = all.filter((app) => app.deleted_at === null)
      known.set(identity, kept.length > 0 ? kept : all.slice(0, 1))
    }
    return known
  }

  async function knownDevelopers(names: string[]): Promise<Map<string, number>> {
    const rows = names.length === 0 ? [] : await sql('developers').whereIn('name', names).select('id', 'name')
    return new Map(rows.map(({ id, name }) => [name, id]))
  }

  /** Ids of developers by name, new ones being made. */
  async function developerIds(names: string[], now: string): Promise<Map<string, number>> {
    const ids = await knownDevelopers([...new Set(names)])
    const rows = [...new Set(names)].filter((name) => !ids.has(name)).map((name) => ({ name, created_at: now }))
    for (const [name, id] of await insertRows(sql, 'developers', rows, 'name')) ids.set(String(name), id)
    return ids
  }

  async function reviewsOf(appIds: number[]): Promise<Map<number, ReviewRow[]>> {
    const rows = appIds.length === 0 ? [] : await sql('reviews').whereIn('app_id', appIds).orderBy('id')
    return Map.groupBy(rows, ({ app_id }) => app_id)
  }

  /** Those of the wanted ids that a table does not have yet; of one that is wanted twice, the first. */
  async function freeIds(table: 'apps' | 'reviews', wanted: (number | undefined)[]): Promise<(number | undefined)[]> {
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

  async function create(plans: Plan[], developers: Map<string, number>, actor: Actor, now: string) {
    const ids = await freeIds(
      'apps',
      plans.map(({ line }) => line.id),
    )
    const inserted = await apps.insertAll(
      'app import',
      plans.map((plan, index) => ({
        app: withId(newRow(plan, developers.get(plan.line.developer_name) ?? 0, now), ids[index]),
        at: now,
        document: plan.document,
      })),
      actor,
    )
    await apps.insertReviews(
      await reviewRows(plans.map(({ line }, index) => ({ id: inserted[index]?.id ?? 0, reviews: line.reviews ?? [] }))),
    )
  }

  async function reviewRows(ofApps: { id: number; reviews: LineReview[] }[]): Promise<NewReviewRow[]> {
    const rows = ofApps.flatMap(({ id, reviews }) => reviews.map((review) => ({ ...review, app_id: id })))
    const ids = await freeIds(
      'reviews',
      rows.map(({ id }) => id),
    )
    return rows.map(({ id: _, ...row }, index) => withId(row, ids[index]))
  }

  /** Whether anything of the app changed. */
  async function update(
    { line, category_id }: Plan,
    known: KnownApp,
    developers: Map<string, number>,
    reviews: Map<number, ReviewRow[]>,
    actor: Actor,
    now: string,
  ): Promise<boolean> {
    const changes = changesOf(line, known, category_id, developers.get(line.developer_name) ?? 0, now)
    if (line.reviews !== undefined && !isSame(line.reviews, reviews.get(known.id) ?? [])) {
      await apps.removeReviews(known.id)
      await apps.insertReviews(await reviewRows([{ id: known.id, reviews: line.reviews }]))
      // The app as others see it changes, even where no column of its own does.
      changes.updated_at ??= laterThan(known.updated_at)
    }
    if (!differs(known, changes)) return false
    await apps.save('app import', known, changes, actor)
    return true
  }

  return { apply }
}

const isPlan = (plan: Plan | Problem[]): plan is Plan => !Array.isArray(plan)

/** The apps that a line knows: none, one, or several of one owner and name. */
const find = (known: Map<string, KnownApp[]>, line: Line): KnownApp[] =>
  identities(line)
    .map((identity) => known.get(identity))
    .find((apps) => apps !== undefined) ?? []

/** The lines of a batch that know an app first, and those that know one of these again. */
function withoutRepeats(lines: MatchedLine[]): [MatchedLine[], MatchedLine[]] {
  const ids = new Set<number>()
  const first: MatchedLine[] = []
  const again: MatchedLine[] = []
  for (const matched of lines) {
    const id = matched.known[0]?.id
    if (id !== undefined && ids.has(id)) again.push(matched)
    else first.push(matched)
    if (id !== undefined) ids.add(id)
  }
  return [first, again]
}

/** What to do with a line, or why nothing can be. */
function planOf(
  line: Line,
  document: SearchDocument | undefined,
  categories: Map<string, number | Problem>,
  known: KnownApp | undefined,
): Plan | Problem[] {
  const slug = typeof line.category === 'string' ? line.category : line.category.slug
  const category =
    categories.get(slug) ?? problem('/category', `is not there: give slug and name to make it, not ${slug} alone`)
  return typeof category === 'number' ? { line, category_id: category, document, known } : [category]
}

/** Why a line cannot change the app that it knows. */
function conflicts(line: Line, [known, ...others]: KnownApp[]): Problem[] {
  if (!known) return []
  if (others.length > 0)
    return [problem('/name', 'is that of several apps of this owner: say which by slug or package_name')]
  const problems = []
  if (line.slug !== undefined && line.slug !== known.slug) {
    problems.push(problem('/slug', `is ${known.slug} for this app, and does not change`))
  }
  if (
    line.package_name !== undefined &&
    known.package_key !== null &&
    line.package_name.toLowerCase() !== known.package_key
  ) {
    problems.push(problem('/slug', `is another app's, with the package name ${known.package_name}`))
  }
  if (known.deleted_at !== null && line.deleted_at === undefined) {
    problems.push(problem('', `is app ${known.id}, which was deleted; app restore ${known.id} brings it back`))
  }
  if (line.average_rating !== undefined && line.reviews === undefined && known.review_count > 0) {
    problems.push(problem('/average_rating', 'is the mean of the reviews that this app has here'))
  }
  return problems
}

function newRow({ line, category_id }: Plan, developer_id: number, now: string): NewAppRow {
  const status = line.status ?? 'pending'
  const created_at = line.created_at ?? now
  const approved_at = line.approved_at ?? (status === 'approved' ? created_at : null)
  return {
    developer_id,
    category_id,
    status,
    deleted_at: line.deleted_at ?? null,
    approved_at,
    created_at,
    updated_at: line.updated_at ?? approved_at ?? created_at,
    total_downloads: line.total_downloads ?? 0,
    ...ratingOf(line),
    ...(line.slug !== undefined && { slug: line.slug }),
    package_name: line.package_name ?? null,
    version: line.version ?? defaultVersion,
    name: line.name,
    short_description: line.short_description || null,
    rejection_reason: line.rejection_reason ?? null,
    description: line.description,
  }
}

/** What a line says of an app that is there; what it leaves out stays. */
function changesOf(line: Line, known: KnownApp, category_id: number, developer_id: number, now: string): AppRowChanges {
  const { name, description, version, package_name, total_downloads, created_at, updated_at, deleted_at } = line
  return {
    developer_id,
    category_id,
    ...defined({ name, description, version, package_name, total_downloads, created_at, updated_at, deleted_at }),
    ...(line.short_description !== undefined && { short_description: line.short_description || null }),
    ...ratingOf(line),
    ...(line.approved_at !== undefined && { approved_at: line.approved_at }),
    ...(line.status !== undefined && {
      status: line.status,
      rejection_reason: line.rejection_reason ?? null,
      // A line that says nothing new is no operator's look at what has changed.
      ...(line.status !== known.status && { unreviewed_since: null }),
      approved_at:
        line.approved_at ?? known.approved_at ?? (line.status === 'approved' ? (line.created_at ?? now) : null),
    }),
  }
}

/** Whether the reviews of a line are those that the app has, in whatever order. */
function isSame(reviews: LineReview[], rows: ReviewRow[]): boolean {
  const texts = (list: (LineReview | ReviewRow)[]) =>
    list
      .map(({ reviewer_name, rating, comment, created_at }) =>
        JSON.stringify([reviewer_name, rating, comment, created_at]),
      )
      .toSorted()
      .join('\n')
  return reviews.length === rows.length && texts(reviews) === texts(rows)
}

/** The average and number of reviews that a line tells, if it does. */
function ratingOf({ reviews, average_rating }: Line): AppRowChanges {
  if (reviews === undefined) return average_rating === undefined ? {} : { average_rating }
  const ratings = reviews.map(({ rating }) => rating)
  return {
    average_rating: ratings.length > 0 ? meanOf(ratings) : (average_rating ?? 0),
    review_count: ratings.length,
  }
}

const meanOf = (ratings: number[]) =>
  averageRating(
    ratings.reduce((sum, rating) => sum + rating, 0),
    ratings.length,
  )

/** Without what is undefined. */
const defined = <T extends object>(object: T) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>
  }

const withId = <T extends object>(row: T, id: number | undefined): T & { id?: number } =>
  id === undefined ? row : { ...row, id }
