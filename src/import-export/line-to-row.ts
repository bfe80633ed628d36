import { defaultVersion, importedColumns } from '../catalogue/app-columns.ts'
import type { NewAppRow } from '../catalogue/app-store.ts'
import { storedKeywords } from '../catalogue/keywords.ts'
import { decidedColumns } from '../catalogue/policy.ts'
import {
  addRatings,
  noRatings,
  type Ratings,
  ratingColumns,
  ratingsOf,
} from '../catalogue/ratings.ts'
import type { Problem } from '../contract/contract.ts'
import { type AppRow, appDefaults, type ReviewRow } from '../db/rows.ts'
import { pick, required } from '../util/helpers.ts'
import { isSet, type Line, type LineReview, problem } from './line.ts'

/** Computes the columns of an app from a line of a catalogue file. Pure. */

/** What the columns of a line depend on besides the line. */
export type RowContext = {
  /** Developers by name. */
  ownerIds: Map<string, number>
  /** Categories by slug. */
  categoryIds: Map<string, number>
  /** The time of the import. */
  now: string
}

/**
 * The columns that a line can set, for an existing app or a new one. Fields that the line leaves
 * out keep their values.
 */
export function toColumns(
  line: Line,
  existing: AppRow | undefined,
  { ownerIds, categoryIds, now }: RowContext,
) {
  const before = existing ?? { ...newAppColumns, created_at: firstTime(line, now) }
  const after = { ...before, ...line }
  return {
    ...withoutEmpty(pick(after, ...plainColumns)),
    keywords: line.keywords === undefined ? before.keywords : storedKeywords(line.keywords ?? []),
    developer_id: required(ownerIds.get(line.developer_name), 'the owner of an app'),
    category_id: required(categoryIds.get(slugOf(line.category)), 'the category of a line'),
    rejection_reason:
      line.status === undefined ? before.rejection_reason : (line.rejection_reason ?? null),
    approved_at:
      line.approved_at ??
      before.approved_at ??
      (after.status === 'approved'
        ? (line.created_at ?? (existing ? now : after.created_at))
        : null),
    ...ratingsAfter(line, before),
    // A new status of an existing app is an operator's decision, so nothing is left to review.
    ...(existing && after.status !== before.status && decidedColumns(now)),
    ...(line.updated_at !== undefined && { updated_at: line.updated_at }),
  }
}

/** The columns that a line sets to its values, or leaves as they are. */
const plainColumns = importedColumns.filter(
  (column) => column !== 'id' && column !== 'slug' && column !== 'updated_at',
)

/** An empty text removes what was there, as in the API. */
const withoutEmpty = <Row extends object>(row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, value === '' ? null : value]),
  ) as Row

const newAppColumns = {
  ...appDefaults,
  status: 'pending',
  version: defaultVersion,
  total_downloads: 0,
} as const

/** The first time that the line gives, since nothing happens to an app before its creation. */
const firstTime = ({ updated_at, approved_at, deleted_at }: Line, now: string): string =>
  [updated_at, approved_at, deleted_at]
    .filter(isSet)
    // biome-ignore lint/complexity/useMathMinMax: Math.min takes numbers, these are texts.
    .reduce((first, time) => (time < first ? time : first), now)

/** The row of a new app. */
export function toNewRow(line: Line, context: RowContext): NewAppRow {
  const columns = toColumns(line, undefined, context)
  return {
    ...(line.id !== undefined && { id: line.id }),
    ...(line.slug !== undefined && { slug: line.slug }),
    updated_at: columns.approved_at ?? columns.created_at,
    ...columns,
  }
}

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
  const textsOf = (list: LineReview[]) =>
    list
      .map((review) =>
        JSON.stringify(pick(review, 'reviewer_name', 'rating', 'comment', 'created_at')),
      )
      .toSorted()
      .join('\n')
  return textsOf(reviews) === textsOf(rows)
}

type LineRatings = Pick<Line, 'average_rating' | 'rating_count' | 'reviews'>
type StoredRatings = Pick<
  AppRow,
  'rating_sum' | 'review_count' | 'other_rating_sum' | 'other_rating_count'
>

/** The columns of the ratings of an app. */
export function ratingsAfter({ reviews, ...line }: LineRatings, before: StoredRatings) {
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
