import type { AppRow } from '../db/rows.ts'

/**
 * An app's average and weighted rating. Pure. Sums are whole numbers: a rating is 100 to 500
 * hundredths.
 */

/** Ratings with and without a review. */
export type Ratings = { sum: number; count: number }

export const noRatings: Ratings = { sum: 0, count: 0 }

export const addRatings = (one: Ratings, other: Ratings): Ratings => ({
  sum: one.sum + other.sum,
  count: one.count + other.count,
})

export const ratingsOf = (reviews: readonly { rating: number }[]): Ratings => ({
  sum: reviews.reduce((sum, { rating }) => sum + 100 * rating, 0),
  count: reviews.length,
})

/** The columns that are computed from all ratings of an app. */
export const ratingColumns = ({
  sum,
  count,
}: Ratings): Pick<
  AppRow,
  'rating_sum' | 'rating_count' | 'average_rating' | 'weighted_rating'
> => ({
  rating_sum: sum,
  rating_count: count,
  average_rating: count === 0 ? 0 : Math.round(sum / count) / 100,
  weighted_rating: weightedRating({ sum, count }),
})

/**
 * Ratings that are added to each app's own for the order by rating. The document states them, too.
 */
const priorRatings: Ratings = { sum: 10 * 350, count: 10 }

/**
 * The mean including the prior ratings, in whole millionths; 0 without ratings, which sorts last.
 */
function weightedRating(own: Ratings): number {
  if (own.count === 0) return 0
  const { sum, count } = addRatings(own, priorRatings)
  return Number((BigInt(sum) * 10_000n) / BigInt(count))
}
