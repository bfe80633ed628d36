import type { NewAppRow } from '../catalogue/app-store.ts'
import { reviewedColumns } from '../catalogue/policy.ts'
import {
  addRatings,
  noRatings,
  type Ratings,
  ratingColumns,
  ratingsOf,
} from '../catalogue/ratings.ts'
import type { Problem } from '../contract/contract.ts'
import { type AppRow, appDefaults, type ReviewRow } from '../db/tables.ts'
import { required } from '../util/helpers.ts'
import {
  defaultVersion,
  isSet,
  type Line,
  type LineChange,
  type LineReview,
  problem,
} from './line.ts'
import type { ExistingApp } from './match-lines-to-apps.ts'

/** Computes the columns of an app from a line of a catalogue file. Pure. */

/** Ids of developers by name, ids of categories by slug, and the time of the import. */
export type Given = { ownerIds: Map<string, number>; categoryIds: Map<string, number>; now: string }

/**
 * The columns that a line can set, for an existing app or a new one. Fields that the line leaves
 * out keep their values.
 */
export function toColumns(
  line: Line,
  existing: AppRow | undefined,
  { ownerIds, categoryIds, now }: Given,
) {
  const before = existing ?? { ...newAppColumns, created_at: firstTime(line, now) }
  const {
    status = before.status,
    version = before.version,
    package_name = before.package_name,
  } = line
  const { short_description = before.short_description, total_downloads = before.total_downloads } =
    line
  const { created_at = before.created_at, deleted_at = before.deleted_at } = line
  return {
    developer_id: required(ownerIds.get(line.developer_name), 'the owner of an app'),
    category_id: required(categoryIds.get(slugOf(line.category)), 'the category of a line'),
    name: line.name,
    short_description: short_description || null,
    description: line.description,
    version,
    package_name,
    total_downloads,
    status,
    rejection_reason:
      line.status === undefined ? before.rejection_reason : (line.rejection_reason ?? null),
    created_at,
    approved_at:
      line.approved_at ??
      before.approved_at ??
      (status === 'approved' ? (line.created_at ?? (existing ? now : created_at)) : null),
    deleted_at,
    ...ratingsAfter(line, before),
    // A new status is an operator's decision, so nothing is left to review.
    ...(status !== before.status && reviewedColumns),
    ...(line.updated_at !== undefined && { updated_at: line.updated_at }),
  }
}

const newAppColumns = {
  ...appDefaults,
  status: 'pending',
  version: defaultVersion,
  package_name: null,
  short_description: null,
  rejection_reason: null,
  approved_at: null,
  total_downloads: 0,
} as const

/** The first time that the line gives, since nothing happens to an app before its creation. */
const firstTime = ({ updated_at, approved_at, deleted_at }: Line, now: string): string =>
  [updated_at, approved_at, deleted_at]
    .filter(isSet)
    .reduce((first, time) => (time < first ? time : first), now)

/** The row of a new app. */
export function toNewRow(line: Line, given: Given): NewAppRow {
  const { id, slug } = line
  const columns = toColumns(line, undefined, given)
  const updated_at = columns.approved_at ?? columns.created_at
  return {
    ...(id !== undefined && { id }),
    ...(slug !== undefined && { slug }),
    updated_at,
    ...columns,
  }
}

const changeableFields = [
  'name',
  'short_description',
  'description',
  'version',
  'package_name',
  'category',
  'developer_name',
  'status',
  'rejection_reason',
  'total_downloads',
  'average_rating',
  'rating_count',
  'created_at',
  'updated_at',
  'approved_at',
  'deleted_at',
] as const satisfies (keyof Line)[]

/**
 * Returns the fields of an app, except its reviews, that a line changes. `slugs` has the slugs of
 * categories by id.
 */
export function listChanges(
  line: Line,
  app: ExistingApp,
  columns: ReturnType<typeof toColumns>,
  slugs: Map<number, string>,
): LineChange[] {
  const before = {
    ...app,
    category: required(slugs.get(app.category_id), 'the category of an app'),
  }
  const after = {
    ...app,
    ...columns,
    developer_name: line.developer_name,
    category: slugOf(line.category),
  }
  return listDifferences(before, after, changeableFields)
}

export const listDifferences = <Field extends string>(
  before: Record<Field, LineChange['before']>,
  after: Record<Field, LineChange['after']>,
  fields: readonly Field[],
): LineChange[] =>
  fields
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ field, before: before[field], after: after[field] }))

/** Why the category of a line cannot be used. */
export function categoryProblems({ category }: Line, ids: Map<string, number>): Problem[] {
  const slug = slugOf(category)
  return ids.has(slug)
    ? []
    : [problem('/category', `does not exist: give slug and name to add it, not ${slug} alone`)]
}

const slugOf = (category: Line['category']) =>
  typeof category === 'string' ? category : category.slug

/** Whether an app has exactly the reviews of a line, in any order. */
export function hasSameReviews(reviews: LineReview[], rows: ReviewRow[]): boolean {
  const textOf = ({ reviewer_name, rating, comment, created_at }: LineReview) =>
    JSON.stringify([reviewer_name, rating, comment, created_at])
  const textsOf = (list: LineReview[]) => list.map(textOf).toSorted().join('\n')
  return textsOf(reviews) === textsOf(rows)
}

type RatingTotals = Pick<
  AppRow,
  'rating_sum' | 'review_count' | 'other_rating_sum' | 'other_rating_count'
>

type LineRatings = Pick<Line, 'average_rating' | 'rating_count' | 'reviews'>

export function ratingsAfter({ reviews, ...line }: LineRatings, before: RatingTotals) {
  const other = otherRatings(line) ?? {
    sum: before.other_rating_sum,
    count: before.other_rating_count,
  }
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

/**
 * The ratings without a review, if the line has them. An average without a count counts as one
 * rating.
 */
function otherRatings({ average_rating, rating_count }: LineRatings): Ratings | undefined {
  if (average_rating === undefined) return undefined
  if (average_rating === null) return noRatings
  const count = rating_count ?? (average_rating === 0 ? 0 : 1)
  return { sum: Math.round(average_rating * count * 100), count }
}
