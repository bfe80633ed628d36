import { reviewedColumns, serializeUnreviewed, type UnreviewedChanges } from '../catalogue/policy.ts'
import { addRatings, noRatings, type Ratings, ratingColumns, ratingsOf } from '../catalogue/ratings.ts'
import { isNumberedSlug, toSlug } from '../catalogue/slug.ts'
import type { AppRowChanges, NewAppRow } from '../catalogue/store.ts'
import type { Problem } from '../contract/contract.ts'
import type { AppRow, OwnerColumn, ReviewRow } from '../db/tables.ts'
import { required } from '../util/helpers.ts'
import { defaultVersion, type ImportLine, isSet, type Line, type LineReview, problem } from './line.ts'

export type ExistingApp = AppRow & { developer_name: string }

/** A line of an app beside the apps that exist. */
export type Match = {
  source: ImportLine
  line: Line
  /** The apps that the line describes: none, one, or several with the same owner and name. */
  existing: ExistingApp[]
  /** The app that the line updates, or will once the app whose package name it takes has given that up. */
  app: ExistingApp | undefined
  appWithPackageName: ExistingApp | undefined
  /** The slug belongs to an app of another developer, so a new app gets another slug. */
  hasForeignSlug: boolean
  /** The line takes the package name of another app, to which another line may give a new one. */
  takesPackageName: boolean
  columns?: CategoryColumns
  problems: Problem[]
}

/** What identifies the app of a line. Two lines of one batch must not share a key: the second has to find what the first wrote. */
export function claimedKeys({ package_name, slug, developer_name, name }: Line): string[] {
  const keys = []
  if (isSet(package_name)) keys.push(`package ${package_name.toLowerCase()}`)
  if (slug !== undefined) keys.push(`slug ${slug}`)
  // The app will have the slug that is made of its name.
  return keys.length > 0 ? keys : [`name ${ownerKey(developer_name, name)}`, `slug ${toSlug(name)}`]
}

const ownerKey = (developer: string, value: string) => `${developer}\n${value}`

/** Whether only its owner and name identify the app of a line. */
export const isKnownByName = ({ package_name, slug }: Line) => !isSet(package_name) && slug === undefined

/** An export has id, slug and creation time. They identify an app even when its owner, name and package name have changed. */
const isSameApp = ({ id, slug, created_at }: Line, app: ExistingApp | undefined) =>
  app !== undefined && app.id === id && app.slug === slug && app.created_at === created_at

/** Whether the slug of a line belongs to another developer's app, which the line does not describe. */
export const isForeignSlug = (line: Line, appWithSlug: ExistingApp | undefined) =>
  appWithSlug !== undefined && appWithSlug.developer_name !== line.developer_name && !isSameApp(line, appWithSlug)

/** Matches lines with apps. `apps` holds every app that has the package name or slug of a line, or its owner and its name or creation time. */
export function matchLines(lines: ImportLine[], apps: ExistingApp[]): Match[] {
  const byPackageName = new Map(apps.map((app) => [app.package_key, app]))
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byName = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.name))
  const byTime = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.created_at))

  function findExisting(line: Line, appWithSlug?: ExistingApp, appWithPackageName?: ExistingApp): ExistingApp[] {
    const { slug, developer_name, name, created_at } = line
    if (appWithSlug && isSameApp(line, appWithSlug)) return [appWithSlug]
    if (appWithPackageName) return [appWithPackageName]
    if (appWithSlug && !isForeignSlug(line, appWithSlug)) return [appWithSlug]
    const namesakes = byName.get(ownerKey(developer_name, name)) ?? []
    if (appWithSlug && slug !== undefined) {
      // An earlier import gave the app a number behind its slug. The creation time says more than the name, which may change.
      const all = created_at === undefined ? namesakes : (byTime.get(ownerKey(developer_name, created_at)) ?? [])
      return all.filter((app) => isNumberedSlug(app.slug, slug))
    }
    if (!isKnownByName(line)) return []
    const unpackaged = namesakes.filter(({ package_key }) => package_key === null)
    const kept = unpackaged.filter(({ deleted_at }) => deleted_at === null)
    return kept.length > 0 ? kept : unpackaged.slice(0, 1)
  }

  return lines.flatMap((source) => {
    const line = source.app
    if (!line) return []
    const appWithSlug = line.slug === undefined ? undefined : bySlug.get(line.slug)
    const appWithPackageName = isSet(line.package_name) ? byPackageName.get(line.package_name.toLowerCase()) : undefined
    const existing = findExisting(line, appWithSlug, appWithPackageName)
    const hasForeignSlug = isForeignSlug(line, appWithSlug)
    const isIdentified = line.id !== undefined && line.created_at !== undefined && line.slug !== undefined
    const takesPackageName =
      isIdentified && !hasForeignSlug && appWithPackageName !== undefined && line.slug !== appWithPackageName.slug
    const [app] = takesPackageName ? findExisting(line, appWithSlug) : existing
    return { source, line, existing, app, appWithPackageName, hasForeignSlug, takesPackageName, problems: [] }
  })
}

/** Splits off the lines that update the same app as a line before them. */
export function splitRepeats(matches: Match[]): { first: Match[]; repeated: Match[] } {
  const ids = new Set<number>()
  const { first = [], repeated = [] } = Object.groupBy(matches, ({ app }) => {
    if (!app) return 'first'
    const isRepeated = ids.has(app.id)
    ids.add(app.id)
    return isRepeated ? 'repeated' : 'first'
  })
  return { first, repeated }
}

/**
 * Adds to each line why it cannot be written. Apps may exchange package names: returns the ids of the apps whose package names
 * have to be removed first, because other lines take them.
 */
export function findConflicts(matches: Match[]): number[] {
  const accepted = () => matches.filter(({ problems }) => problems.length === 0)
  const givers = new Set(accepted().flatMap(({ line, app }) => (app && changesPackageName(line, app) ? app.id : [])))
  const isRefused = (match: Match) => conflictsOf(match, givers).length > 0
  for (let pending = accepted(); pending.length > 0; pending = accepted().filter(isRefused)) {
    for (const match of pending) {
      match.problems = conflictsOf(match, givers)
      // A refused line leaves its app the package name, so the lines that take that name are refused next.
      if (match.app && match.problems.length > 0) givers.delete(match.app.id)
    }
  }
  const taken = accepted().filter(({ takesPackageName }) => takesPackageName)
  return taken.map(({ appWithPackageName }) => required(appWithPackageName, 'the app with the package name').id)
}

const changesPackageName = (line: Line, app: ExistingApp) =>
  app.package_key !== null &&
  line.package_name !== undefined &&
  line.package_name?.toLowerCase() !== app.package_key &&
  isSameApp(line, app)

function conflictsOf(match: Match, givers: Set<number>): Problem[] {
  const { line, app, appWithPackageName, hasForeignSlug, takesPackageName } = match
  const isNameFree = takesPackageName && appWithPackageName !== undefined && givers.has(appWithPackageName.id)
  const [existing, ...others] = isNameFree ? [app] : match.existing
  if (!existing) return []
  if (others.length > 0)
    return [problem('/name', 'is that of several apps of this owner: say which by slug or package_name')]
  const problems = []
  if (line.slug !== undefined && line.slug !== existing.slug && !hasForeignSlug) {
    problems.push(problem('/slug', `is ${existing.slug} for this app, and does not change`))
  }
  if (appWithPackageName && appWithPackageName.id !== existing.id && !isNameFree) {
    problems.push(problem('/package_name', `is that of app ${appWithPackageName.id}, ${appWithPackageName.slug}`))
  } else if (
    isSet(line.package_name) &&
    existing.package_key !== null &&
    line.package_name.toLowerCase() !== existing.package_key &&
    !isSameApp(line, existing)
  ) {
    problems.push(problem('/slug', `is another app's, with the package name ${existing.package_name}`))
  }
  if (existing.deleted_at !== null && !isSet(line.deleted_at) && !isRestored(line, existing.updated_at)) {
    problems.push(problem('', `is app ${existing.id}, which was deleted; app restore ${existing.id} brings it back`))
  }
  return problems
}

/** A line that is newer than the deletion, and says that the app is not deleted, describes an app that was restored. */
const isRestored = ({ deleted_at, updated_at }: Line, deletion: string) =>
  deleted_at === null && updated_at !== undefined && updated_at > deletion

/** The columns of an app that refer to categories. What a line says nothing of is left out. */
type CategoryColumns = Pick<AppRow, 'category_id'> & Partial<Pick<AppRow, 'unreviewed_since' | 'unreviewed_changes'>>

/** `categories` holds ids by slug, or why a category could not be added. */
export function categoryColumns(line: Line, categories: Map<string, number | Problem>): CategoryColumns | Problem[] {
  const slug = typeof line.category === 'string' ? line.category : line.category.slug
  const category_id =
    categories.get(slug) ?? problem('/category', `is not there: give slug and name to make it, not ${slug} alone`)
  if (typeof category_id !== 'number') return [category_id]
  if (line.unreviewed_since === undefined) return { category_id }
  if (line.unreviewed_since === null) return { category_id, ...reviewedColumns }
  const { category, ...changes } = line.unreviewed_changes ?? {}
  const id = isSet(category) ? categories.get(category) : undefined
  if (isSet(category) && typeof id !== 'number')
    return [problem('/unreviewed_changes/category', `is not there: ${category}`)]
  // The schema allows null only for texts that an app may lack.
  const unreviewed = { ...changes, ...(typeof id === 'number' && { category_id: id }) } as UnreviewedChanges
  return {
    category_id,
    unreviewed_since: line.unreviewed_since,
    unreviewed_changes: serializeUnreviewed(unreviewed),
  }
}

export function toNewRow(
  line: Line,
  columns: CategoryColumns,
  { developer_id, ...given }: { id: number | undefined; slug: string | undefined; developer_id: number },
  now: string,
): NewAppRow {
  const status = line.status ?? 'pending'
  const created_at = line.created_at ?? now
  const approved_at = line.approved_at ?? (status === 'approved' ? created_at : null)
  return {
    ...omitUndefined(given),
    developer_id,
    ...columns,
    status,
    deleted_at: line.deleted_at ?? null,
    approved_at,
    created_at,
    updated_at: line.updated_at ?? approved_at ?? created_at,
    total_downloads: line.total_downloads ?? 0,
    ...ratingsAfter(line, undefined),
    package_name: line.package_name ?? null,
    version: line.version ?? defaultVersion,
    name: line.name,
    short_description: line.short_description || null,
    rejection_reason: line.rejection_reason ?? null,
    description: line.description,
  }
}

/** What a line says about an existing app. What it leaves out stays. */
export function lineChanges(
  line: Line,
  { category_id, ...unreviewed }: CategoryColumns,
  existing: ExistingApp,
  developer_id: number,
  now: string,
): AppRowChanges {
  const { short_description, total_downloads, created_at, updated_at, deleted_at } = line
  const owners: { [Column in OwnerColumn]: AppRow[Column] | undefined } = {
    name: line.name,
    short_description: short_description === undefined ? undefined : short_description || null,
    description: line.description,
    version: line.version,
    package_name: line.package_name,
    category_id,
  }
  return {
    developer_id,
    ...omitUndefined({ ...owners, total_downloads, created_at, updated_at, deleted_at }),
    ...ratingsAfter(line, existing),
    ...(isSet(line.approved_at) && { approved_at: line.approved_at }),
    // A new status is an operator's decision, so nothing is left to review. The same status says nothing.
    ...(line.status !== undefined && line.status !== existing.status && reviewedColumns),
    ...unreviewed,
    ...(line.status !== undefined && {
      status: line.status,
      rejection_reason: line.rejection_reason ?? null,
      approved_at:
        line.approved_at ?? existing.approved_at ?? (line.status === 'approved' ? (line.created_at ?? now) : null),
    }),
  }
}

/** Whether an app has exactly the reviews of a line, in any order. */
export function hasSameReviews(reviews: LineReview[], rows: ReviewRow[]): boolean {
  const texts = (list: (LineReview | ReviewRow)[]) =>
    list
      .map(({ reviewer_name, rating, comment, created_at }) =>
        JSON.stringify([reviewer_name, rating, comment, created_at]),
      )
      .toSorted()
      .join('\n')
  return reviews.length === rows.length && texts(reviews) === texts(rows)
}

/** The rating columns of an app after its line. Ratings that the line leaves out stay. */
function ratingsAfter({ reviews, ...line }: Line, existing: ExistingApp | undefined) {
  const other = otherRatings(line) ?? {
    sum: existing?.other_rating_sum ?? 0,
    count: existing?.other_rating_count ?? 0,
  }
  const own = reviews === undefined ? reviewRatings(existing) : ratingsOf(reviews)
  return {
    other_rating_sum: other.sum,
    other_rating_count: other.count,
    review_count: own.count,
    ...ratingColumns(addRatings(own, other)),
  }
}

const reviewRatings = (app: ExistingApp | undefined): Ratings =>
  app ? { sum: app.rating_sum - app.other_rating_sum, count: app.review_count } : noRatings

/** The ratings without a review, if the line has them. An average without a count counts as one rating. */
function otherRatings({ average_rating, rating_count }: Line): Ratings | undefined {
  if (average_rating === undefined) return undefined
  if (average_rating === null) return noRatings
  const count = rating_count ?? (average_rating === 0 ? 0 : 1)
  return { sum: Math.round(average_rating * count * 100), count }
}

const omitUndefined = <T extends object>(object: T) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>
  }
