import { addRatings, ratingColumns, ratingsOf } from '../../src/catalogue/ratings.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import type { ReviewRow } from '../../src/db/rows.ts'
import { required } from '../../src/util/helpers.ts'

/** Adds reviews to apps and updates their ratings. The service itself gets reviews by import only. */
export async function addReviews(runner: QueryRunner, reviews: Omit<ReviewRow, 'id'>[]) {
  const { sql, insertRows, markPublicChange } = runner
  markPublicChange()
  const reviewsByApp = Map.groupBy(reviews, ({ app_id }) => app_id)
  // In the order of their ids, so that two transactions cannot deadlock.
  const apps = await sql('apps')
    .whereIn('id', [...reviewsByApp.keys()])
    .orderBy('id')
    .forUpdate()
    .select('id', 'review_count', 'rating_sum', 'rating_count')
  await insertRows('reviews', reviews)
  const changed_at = new Date().toISOString()
  for (const { id, review_count, rating_sum, rating_count } of apps) {
    const added = ratingsOf(required(reviewsByApp.get(id), 'the reviews'))
    const ratings = ratingColumns(addRatings({ sum: rating_sum, count: rating_count }, added))
    const columns = { review_count: review_count + added.count, ...ratings, changed_at }
    await sql('apps').where({ id }).update(columns)
  }
}
