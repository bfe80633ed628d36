import { reviewedColumns, serializeUnreviewed } from '../catalogue/policy.ts'
import { addRatings, noRatings, type Ratings, ratingColumns, ratingsOf } from '../catalogue/ratings.ts'
import { isNumberedSlug, toSlug } from '../catalogue/slug.ts'
import type { AppRowChanges, NewAppRow } from '../catalogue/store.ts'
import type { Problem } from '../contract/contract.ts'
import { type AppRow, appDefaults, type ReviewRow } from '../db/tables.ts'
import { defaultVersion, type ImportLine, isSet, type Line, type LineReview, pick, problem } from './line.ts'

export type ExistingApp = AppRow & { developer_name: string }

/** A line of an app beside the apps that exist. */
export type Match = {
  source: ImportLine
  line: Line
  /** The app that the line updates; without one, it creates an app. */
  app: ExistingApp | undefined
  /** Several apps have the owner and name of the line, and it says nothing else about its app. */
  isAmbiguous: boolean
  /** Another app with the package name of the line. It must get a different one from its own line. */
  holder: ExistingApp | undefined
  /** The slug belongs to an app of another developer, so a new app gets another slug. */
  hasForeignSlug: boolean
  columns?: CategoryColumns
  problems: Problem[]
}

export const isAccepted = ({ problems }: Match) => problems.length === 0

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
const isSameApp = ({ id, slug, created_at }: Line, app: ExistingApp) =>
  app.id === id && app.slug === slug && app.created_at === created_at

/** Whether the slug of a line belongs to another developer's app, which the line does not describe. */
export const isForeignSlug = (line: Line, appWithSlug: ExistingApp | undefined) =>
  appWithSlug !== undefined && appWithSlug.developer_name !== line.developer_name && !isSameApp(line, appWithSlug)

/** Matches lines with apps. `apps` holds every app that has the package name or slug of a line, or its owner and its name or creation time. */
export function matchLines(lines: ImportLine[], apps: ExistingApp[]): Match[] {
  const byPackageName = new Map(apps.map((app) => [app.package_key, app]))
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byName = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.name))
  const byTime = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.created_at))

  /** The apps of a line whose slug and package name none of its owner's apps has. */
  function findByOwner(line: Line, foreignSlug: string | undefined): ExistingApp[] {
    const { developer_name, name, created_at } = line
    const namesakes = byName.get(ownerKey(developer_name, name)) ?? []
    if (foreignSlug !== undefined) {
      // An earlier import gave the app a number behind its slug. The creation time says more than the name, which may change.
      const all = created_at === undefined ? namesakes : (byTime.get(ownerKey(developer_name, created_at)) ?? [])
      return all.filter((app) => isNumberedSlug(app.slug, foreignSlug))
    }
    if (!isKnownByName(line)) return []
    const unpackaged = namesakes.filter(({ package_key }) => package_key === null)
    const kept = unpackaged.filter(({ deleted_at }) => deleted_at === null)
    return kept.length > 0 ? kept : unpackaged.slice(0, 1)
  }

  return lines.flatMap((source) => {
    const line = source.app
    if (!line) return []
    const { id, slug, created_at, package_name } = line
    const appWithSlug = slug === undefined ? undefined : bySlug.get(slug)
    const appWithPackageName = isSet(package_name) ? byPackageName.get(package_name.toLowerCase()) : undefined
    const hasForeignSlug = isForeignSlug(line, appWithSlug)
    const ownAppWithSlug = hasForeignSlug ? undefined : appWithSlug
    // A line as an export has it names its app, or a new one, so its package name only says what that is to get.
    const isNamed = id !== undefined && created_at !== undefined && slug !== undefined && !hasForeignSlug
    const holder = isNamed && appWithPackageName?.slug !== slug ? appWithPackageName : undefined
    const known = holder ? ownAppWithSlug : (appWithPackageName ?? ownAppWithSlug)
    const [app, ...others] = known ? [known] : findByOwner(line, hasForeignSlug ? slug : undefined)
    return { source, line, app, isAmbiguous: others.length > 0, holder, hasForeignSlug, problems: [] }
  })
}

/** Splits off the lines that update the same app as a line before them. */
export function splitRepeats(matches: Match[]): { first: Match[]; repeated: Match[] } {
  const groups = [...Map.groupBy(matches, ({ app, source }) => app?.id ?? source).values()]
  return { first: groups.flatMap((group) => group.slice(0, 1)), repeated: groups.flatMap((group) => group.slice(1)) }
}

/** Adds to each accepted line why it cannot be written. Apps may exchange their package names. */
export function refuseConflicts(matches: Match[]) {
  const accepted = matches.filter(isAccepted)
  const givers = new Set(accepted.flatMap(({ line, app }) => (app && givesUpPackageName(line, app) ? app.id : [])))
  const takers = Map.groupBy(accepted, ({ holder }) => holder?.id)
  for (let pending = accepted; pending.length > 0; ) {
    pending = pending.flatMap((match) => {
      match.problems = conflictsOf(match, givers)
      // A refused line leaves its app the package name, so check the lines that take that name again.
      const keepsName = match.app !== undefined && !isAccepted(match) && givers.delete(match.app.id)
      return keepsName ? (takers.get(match.app?.id) ?? []) : []
    })
  }
}

const givesUpPackageName = (line: Line, app: ExistingApp) =>
  line.package_name !== undefined && !hasPackageName(app, line.package_name) && isSameApp(line, app)

/** Whether the app has that package name, or none. */
const hasPackageName = ({ package_key }: ExistingApp, name: string | null) =>
  package_key === null || package_key === name?.toLowerCase()

function conflictsOf({ line, app, isAmbiguous, holder, hasForeignSlug }: Match, givers: Set<number>): Problem[] {
  if (isAmbiguous) return [problem('/name', 'is that of several apps of this owner: say which by slug or package_name')]
  const problems = []
  if (app && line.slug !== undefined && line.slug !== app.slug && !hasForeignSlug) {
    problems.push(problem('/slug', `is ${app.slug} for this app, and does not change`))
  }
  if (holder && !givers.has(holder.id)) {
    problems.push(problem('/package_name', `is that of app ${holder.id}, ${holder.slug}`))
  } else if (app && isSet(line.package_name) && !hasPackageName(app, line.package_name) && !isSameApp(line, app)) {
    problems.push(problem('/slug', `is another app's, with the package name ${app.package_name}`))
  }
  if (app && app.deleted_at !== null && !isSet(line.deleted_at) && !isRestored(line, app.updated_at)) {
    problems.push(problem('', `is app ${app.id}, which was deleted; app restore ${app.id} brings it back`))
  }
  return problems
}

/** A line that is newer than the deletion, and says that the app is not deleted, describes an app that was restored. */
const isRestored = ({ deleted_at, updated_at }: Line, deletion: string) =>
  deleted_at === null && updated_at !== undefined && updated_at > deletion

/** The columns of an app that refer to categories. Those that the line does not mention are left out. */
type CategoryColumns = Pick<AppRow, 'category_id'> & Partial<Pick<AppRow, 'unreviewed_since' | 'unreviewed_changes'>>

/** `categories` holds ids by slug, or why a category could not be added. */
export function categoryColumns(line: Line, categories: Map<string, number | Problem>): CategoryColumns | Problem[] {
  const slug = typeof line.category === 'string' ? line.category : line.category.slug
  const category_id =
    categories.get(slug) ?? problem('/category', `does not exist: give slug and name to add it, not ${slug} alone`)
  if (typeof category_id !== 'number') return [category_id]
  if (line.unreviewed_since === undefined) return { category_id }
  if (line.unreviewed_since === null) return { category_id, ...reviewedColumns }
  const { category, ...changes } = line.unreviewed_changes ?? {}
  const id = category === undefined ? undefined : categories.get(category)
  if (category !== undefined && typeof id !== 'number')
    return [problem('/unreviewed_changes/category', `does not exist: ${category}`)]
  const unreviewed = { ...changes, ...(typeof id === 'number' && { category_id: id }) }
  return {
    category_id,
    unreviewed_since: line.unreviewed_since,
    unreviewed_changes: serializeUnreviewed(unreviewed),
  }
}

type Given = { developer_id: number; columns: CategoryColumns; now: string }

/** The row of a new app, without slug. */
export function toNewRow(line: Line, given: Given): NewAppRow {
  const columns = toColumns(line, undefined, given)
  const { created_at = given.now, approved_at = null } = columns
  return {
    ...pick(line, 'id'),
    status: 'pending',
    approved_at,
    created_at,
    updated_at: approved_at ?? created_at,
    total_downloads: 0,
    package_name: null,
    version: defaultVersion,
    short_description: null,
    rejection_reason: null,
    ...columns,
  }
}

/** The columns that a line sets in its app. What it leaves out is left out. */
export function toColumns(line: Line, existing: ExistingApp | undefined, { developer_id, columns, now }: Given) {
  const { short_description, status, rejection_reason = null, created_at, approved_at } = line
  // A new status is an operator's decision, so nothing is left to review. The same status says nothing.
  const isDecision = existing !== undefined && status !== undefined && status !== existing.status
  return omitUndefined({
    developer_id,
    ...pick(line, 'name', 'description', 'version', 'package_name', 'total_downloads'),
    ...pick(line, 'created_at', 'updated_at', 'deleted_at'),
    short_description: short_description === '' ? null : short_description,
    approved_at: approved_at ?? undefined,
    ...(status !== undefined && {
      status,
      rejection_reason,
      approved_at: approved_at ?? existing?.approved_at ?? (status === 'approved' ? (created_at ?? now) : null),
    }),
    ...ratingsAfter(line, existing ?? appDefaults),
    ...(isDecision && reviewedColumns),
    ...columns,
  }) satisfies AppRowChanges
}

/** Whether an app has exactly the reviews of a line, in any order. */
export function hasSameReviews(reviews: LineReview[], rows: ReviewRow[]): boolean {
  const textOf = ({ reviewer_name, rating, comment, created_at }: LineReview) =>
    JSON.stringify([reviewer_name, rating, comment, created_at])
  const textsOf = (list: LineReview[]) => list.map(textOf).toSorted().join('\n')
  return textsOf(reviews) === textsOf(rows)
}

type RatingTotals = Pick<AppRow, 'rating_sum' | 'review_count' | 'other_rating_sum' | 'other_rating_count'>

/** The rating columns of an app after its line. Ratings that the line leaves out stay. */
function ratingsAfter({ reviews, ...line }: Line, before: RatingTotals) {
  const other = otherRatings(line) ?? { sum: before.other_rating_sum, count: before.other_rating_count }
  const own = reviews
    ? ratingsOf(reviews)
    : { sum: before.rating_sum - before.other_rating_sum, count: before.review_count }
  return {
    other_rating_sum: other.sum,
    other_rating_count: other.count,
    review_count: own.count,
    ...ratingColumns(addRatings(own, other)),
  }
}

/** The ratings without a review, if the line has them. An average without a count counts as one rating. */
function otherRatings({ average_rating, rating_count }: Omit<Line, 'reviews'>): Ratings | undefined {
  if (average_rating === undefined) return undefined
  if (average_rating === null) return noRatings
  const count = rating_count ?? (average_rating === 0 ? 0 : 1)
  return { sum: Math.round(average_rating * count * 100), count }
}

type OptionalKey<T> = { [Key in keyof T]: undefined extends T[Key] ? Key : never }[keyof T]

const omitUndefined = <T extends object>(object: T) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Omit<T, OptionalKey<T>> & {
    [Key in OptionalKey<T>]?: Exclude<T[Key], undefined>
  }
