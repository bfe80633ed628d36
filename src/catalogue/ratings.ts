import type { AppRow } from '../db/tables.ts'

/** What an app shows of its ratings, and where it stands by them. Pure. Sums are whole numbers: a rating is 100 to 500 hundredths. */

/** All ratings of an app: those of its reviews, and those that came beside them. */
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

/** The columns that follow from all ratings of an app. */
export const ratingColumns = ({
  sum,
  count,
}: Ratings): Pick<AppRow, 'rating_sum' | 'rating_count' | 'average_rating' | 'weighted_rating'> => ({
  rating_sum: sum,
  rating_count: count,
  average_rating: count === 0 ? 0 : Math.round(sum / count) / 100,
  weighted_rating: weightedRating({ sum, count }),
})

/** The ratings that every app is taken to have beside its own when apps are ordered by rating. The document names them, too. */
const priorRatings: Ratings = { sum: 10 * 350, count: 10 }

/** The mean with the assumed ratings, in whole millionths; 0 of no ratings, which is less than any. Also in migration 0002. */
function weightedRating(own: Ratings): number {
  if (own.count === 0) return 0
  const { sum, count } = addRatings(own, priorRatings)
  return Number((BigInt(sum) * 10_000n) / BigInt(count))
}
