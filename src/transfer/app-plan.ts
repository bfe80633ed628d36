import { addRatings, noRatings, type Ratings, ratingColumns, ratingsOf } from '../catalogue/ratings.ts'
import { toSlug } from '../catalogue/slug.ts'
import type { AppRowChanges, NewAppRow } from '../catalogue/store.ts'
import { reviewedColumns, serializeUnreviewed, type UnreviewedChanges } from '../catalogue/unreviewed-changes.ts'
import type { Problem } from '../contract/contract.ts'
import type { AppRow, OwnerColumn, ReviewRow } from '../db/tables.ts'
import type { SearchDocument } from '../search/document.ts'
import { defaultVersion, isSet, type Line, type LineCategory, type LineReview, problem } from './line.ts'

/** What is to be done with the lines of a catalogue file. Pure: the apps that are there come in, rows and changes go out. */

/** A valid line, with the bytes that it was read from; its search document is cut beforehand where the app will be listed. */
export type ParsedLine = { number: number; bytes: Buffer; line: Line; document?: SearchDocument | undefined }

/** `deferred`: its package name is an app's that a line behind it may give another. */
export type LineOutcome = 'deferred' | 'created' | 'created with another slug' | 'updated' | 'unchanged' | Problem[]

export type ExistingApp = AppRow & { developer_name: string }
/** With the apps that it knows, none, one, or several of one owner and name; and whose its slug and its package name are. */
export type MatchedLine = ParsedLine & {
  existing: ExistingApp[]
  appWithSlug: ExistingApp | undefined
  appWithPackageName: ExistingApp | undefined
}
type UnreviewedColumns = Partial<Pick<AppRow, 'unreviewed_since' | 'unreviewed_changes'>>

export type AppPlan = {
  line: Line
  category_id: number
  unreviewed: UnreviewedColumns
  document: SearchDocument | undefined
  existing: ExistingApp | undefined
  /** The slug of the line is another developer's app's: a new app is given one of its own. */
  hasForeignSlug: boolean
}

/** A line of a category alone. */
export type ParsedCategory = { number: number; bytes: Buffer; category: LineCategory }

/** What an app may be claimed by: package name or slug, and without these its owner and name. */
function identityKeys({ package_name, slug, developer_name, name }: Line): string[] {
  const keys = []
  if (isSet(package_name)) keys.push(packageIdentity(package_name))
  if (slug !== undefined) keys.push(slugIdentity(slug))
  return keys.length > 0 ? keys : [nameIdentity(developer_name, name)]
}

/** The same with what the app will be known by when it is there: two lines that share one must not share a batch. */
export const claimedKeys = (line: Line): string[] =>
  isKnownByName(line) ? [...identityKeys(line), slugIdentity(toSlug(line.name))] : identityKeys(line)

/** Whether a line knows its app by owner and name alone. */
export const isKnownByName = ({ package_name, slug }: Line) => !isSet(package_name) && slug === undefined

export const packageIdentity = (name: string) => `package ${name.toLowerCase()}`
export const slugIdentity = (slug: string) => `slug ${slug}`
export const nameIdentity = (developer: string, name: string) => `name ${developer}\n${name}`

/** Of an app that was given another slug than its line's, which a stranger's app has. */
export const replacedSlugIdentity = (developer: string, slug: string) => `instead ${developer}\n${slug}`

export const isAppPlan = (plan: AppPlan | Problem[]): plan is AppPlan => !Array.isArray(plan)

/** An export, or a file made of one, names all three: that app it is, whoever owns it now and whatever it is called. */
const isSameApp = ({ id, slug, created_at }: Line, app: ExistingApp | undefined) =>
  app !== undefined && app.id === id && app.slug === slug && app.created_at === created_at

/** Whether the slug of a line is an app's of another developer, which the line does not speak of. */
export const isForeignSlug = (line: Line, appWithSlug: ExistingApp | undefined) =>
  appWithSlug !== undefined && appWithSlug.developer_name !== line.developer_name && !isSameApp(line, appWithSlug)

/**
 * The apps that a line knows, by the first of these that holds: id, slug and time of creation; the package name; the slug,
 * within one developer; where it has neither, developer and name.
 */
export function matchLine(existing: Map<string, ExistingApp[]>, ready: ParsedLine): MatchedLine {
  const { line } = ready
  const of = (identity: string | null | undefined) => (isSet(identity) ? (existing.get(identity) ?? []) : [])
  const [appWithSlug] = of(line.slug && slugIdentity(line.slug))
  const [appWithPackageName] = of(line.package_name && packageIdentity(line.package_name))
  const apps = () => {
    if (appWithSlug && isSameApp(line, appWithSlug)) return [appWithSlug]
    if (appWithPackageName) return [appWithPackageName]
    if (appWithSlug && !isForeignSlug(line, appWithSlug)) return [appWithSlug]
    if (line.slug !== undefined) return of(replacedSlugIdentity(line.developer_name, line.slug))
    return isSet(line.package_name) ? [] : of(nameIdentity(line.developer_name, line.name))
  }
  return { ...ready, appWithSlug, appWithPackageName, existing: apps() }
}

/** The lines of a batch that know an app first, and those that know one of these again. */
export function splitRepeats(lines: MatchedLine[]): [MatchedLine[], MatchedLine[]] {
  const ids = new Set<number | undefined>()
  const first: MatchedLine[] = []
  const repeated: MatchedLine[] = []
  for (const matched of lines) {
    const id = matched.existing[0]?.id
    if (ids.has(id)) repeated.push(matched)
    else first.push(matched)
    if (id !== undefined) ids.add(id)
  }
  return [first, repeated]
}

/** What to do with a line, or why nothing can be. */
export function planLine(
  { line, document, existing: [existing], appWithSlug }: MatchedLine,
  categories: Map<string, number | Problem>,
): AppPlan | Problem[] {
  const slug = typeof line.category === 'string' ? line.category : line.category.slug
  const category =
    categories.get(slug) ?? problem('/category', `is not there: give slug and name to make it, not ${slug} alone`)
  if (typeof category !== 'number') return [category]
  const unreviewed = planUnreviewed(line, categories)
  if (Array.isArray(unreviewed)) return unreviewed
  return {
    line,
    category_id: category,
    unreviewed,
    document,
    existing,
    hasForeignSlug: isForeignSlug(line, appWithSlug),
  }
}

/** Both columns; nothing where the line says nothing of it. */
function planUnreviewed(line: Line, categories: Map<string, number | Problem>): UnreviewedColumns | Problem[] {
  if (line.unreviewed_since === undefined) return {}
  if (line.unreviewed_since === null) return reviewedColumns
  const { category, ...before } = line.unreviewed_changes ?? {}
  const category_id = isSet(category) ? categories.get(category) : undefined
  if (isSet(category) && typeof category_id !== 'number')
    return [problem('/unreviewed_changes/category', `is not there: ${category}`)]
  const existing = typeof category_id === 'number' ? { category_id } : {}
  // Of the texts, the contract lets only those be left out that may be null here.
  const unreviewed_changes = serializeUnreviewed({ ...before, ...existing } as UnreviewedChanges)
  return { unreviewed_since: line.unreviewed_since, unreviewed_changes }
}

/** The app that a line is of without a doubt. */
const ownApp = ({ line, appWithSlug }: MatchedLine) => (isSameApp(line, appWithSlug) ? appWithSlug : undefined)

/**
 * Whether a line, of an app that it names in full, takes a package name that another app has here. In the catalogue that the
 * line is of, that one has it no more.
 */
export const takesPackageName = (matched: MatchedLine) =>
  matched.appWithPackageName !== undefined &&
  matched.line.id !== undefined &&
  matched.line.created_at !== undefined &&
  matched.line.slug !== undefined &&
  matched.line.slug !== matched.appWithPackageName.slug

/** The apps that give up their package names to lines, of those that take one: what each takes, one of them gives. */
export function packageNameGivers(lines: MatchedLine[]): number[] {
  const linesByApp = Map.groupBy(lines, (line) => ownApp(line)?.id)
  const takers = Map.groupBy(lines.filter(takesPackageName), ({ appWithPackageName }) => appWithPackageName?.id)
  const refused = new Set<MatchedLine>()
  // Whoever would take what another keeps is refused, and keeps its own.
  const keepers = [...takers.keys()].filter((id) => !linesByApp.has(id))
  for (const keeper of keepers) {
    for (const taker of takers.get(keeper) ?? []) {
      refused.add(taker)
      const own = ownApp(taker)?.id
      if (linesByApp.get(own)?.every((line) => refused.has(line))) keepers.push(own)
    }
  }
  return lines.filter((line) => !refused.has(line)).flatMap((line) => ownApp(line)?.id ?? [])
}

/** Why a line cannot change the app that it knows. */
export function findConflicts({
  line,
  existing: [existing, ...others],
  appWithSlug,
  appWithPackageName,
}: MatchedLine): Problem[] {
  if (!existing) return []
  if (others.length > 0)
    return [problem('/name', 'is that of several apps of this owner: say which by slug or package_name')]
  const problems = []
  if (line.slug !== undefined && line.slug !== existing.slug && !isForeignSlug(line, appWithSlug)) {
    problems.push(problem('/slug', `is ${existing.slug} for this app, and does not change`))
  }
  if (appWithPackageName && appWithPackageName.id !== existing.id) {
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

/** A line that was written after an app was deleted, and says that it is not, is of an app that was restored. */
const isRestored = ({ deleted_at, updated_at }: Line, deletion: string) =>
  deleted_at === null && updated_at !== undefined && updated_at > deletion

export function toNewRow(
  { line, category_id, unreviewed }: AppPlan,
  slug: string | undefined,
  developer_id: number,
  now: string,
): NewAppRow {
  const status = line.status ?? 'pending'
  const created_at = line.created_at ?? now
  const approved_at = line.approved_at ?? (status === 'approved' ? created_at : null)
  return {
    developer_id,
    category_id,
    status,
    deleted_at: line.deleted_at ?? null,
    ...unreviewed,
    approved_at,
    created_at,
    updated_at: line.updated_at ?? approved_at ?? created_at,
    total_downloads: line.total_downloads ?? 0,
    ...ratingsAfter(line, undefined),
    ...(slug !== undefined && { slug }),
    package_name: line.package_name ?? null,
    version: line.version ?? defaultVersion,
    name: line.name,
    short_description: line.short_description || null,
    rejection_reason: line.rejection_reason ?? null,
    description: line.description,
  }
}

/** What a line says of an app that is there; what it leaves out stays. */
export function lineChanges(
  { line, category_id, unreviewed }: AppPlan,
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
    // A line that says nothing new is no operator's look at what has changed.
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

/** Whether the reviews of a line are those that the app has, in whatever order. */
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

/** What the ratings of an app are by its line; those of which it says nothing stay. */
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

/** The ratings without a review that a line tells of, if it does. An average alone is that of one. */
function otherRatings({ average_rating, rating_count }: Line): Ratings | undefined {
  if (average_rating === undefined) return undefined
  if (average_rating === null) return noRatings
  const count = rating_count ?? (average_rating === 0 ? 0 : 1)
  return { sum: Math.round(average_rating * count * 100), count }
}

/** Without what is undefined. */
const omitUndefined = <T extends object>(object: T) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>
  }
