import { type Actor, recordEntry } from '../audit/audit-store.ts'
import { OperatorError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow, ReviewRow } from '../db/rows.ts'
import { type AppReview, newestFirst, reviewColumns } from './app-store.ts'
import { isListed } from './policy.ts'
import { ratingColumns } from './ratings.ts'

/** A page of an app's reviews, newest first. Comments end at `maxComment` characters, if given. */
export const findReviews = (
  { sql }: QueryRunner,
  appId: number,
  limit: number,
  offset: number,
  maxComment?: number,
): Promise<AppReview[]> =>
  sql('reviews')
    .where({ app_id: appId })
    .orderByRaw(newestFirst)
    .limit(limit)
    .offset(offset)
    .select(...reviewColumns.filter((column) => column !== 'comment'))
    .select(
      maxComment === undefined
        ? 'comment'
        : sql.raw('substr(comment, 1, ?) as comment', [maxComment]),
    )

/** Throws an OperatorError if the app has no such review. */
export async function requireReview(
  { sql }: QueryRunner,
  appId: number,
  id: number,
): Promise<AppReview> {
  const review = await sql('reviews')
    .where({ app_id: appId, id })
    .first(...reviewColumns)
  if (!review) throw new OperatorError(`app ${appId} has no review ${id}`)
  return review
}

/** A review to insert, with its app. Without an id, it gets a free one. */
export type NewReview = Omit<ReviewRow, 'id' | 'app_id'> & { id?: number } & {
  app: Pick<AppRow, 'id' | 'status' | 'deleted_at'>
}

/** Inserts reviews. The numbers and ratings of their apps are saved with the apps. */
export async function insertReviews(runner: QueryRunner, reviews: NewReview[]): Promise<void> {
  if (reviews.some(({ app }) => isListed(app))) runner.markPublicChange()
  const rows = reviews.map(({ app, ...review }) => ({ ...review, app_id: app.id }))
  await runner.insertRows('reviews', rows)
}

/** Removes all reviews of an app. Its number and ratings are saved with the app. */
export async function clearReviews(runner: QueryRunner, app: NewReview['app']): Promise<void> {
  if (isListed(app)) runner.markPublicChange()
  await runner.sql('reviews').where({ app_id: app.id }).delete()
}

/** Removes a review and its rating. Throws an OperatorError if there is no such review. */
export async function removeReview(
  runner: QueryRunner,
  id: number,
  reason: string,
  actor: Actor,
): Promise<ReviewRow> {
  const { sql } = runner
  // Locked first, as by an import, so that its counts and ratings do not change meanwhile.
  const app = await sql('apps')
    .whereIn('id', sql('reviews').where({ id }).select('app_id'))
    .forUpdate()
    .first()
  const review = await sql('reviews').where({ id }).first()
  if (!app || !review) throw new OperatorError(`there is no review ${id}`)
  if (isListed(app)) runner.markPublicChange()
  await sql('reviews').where({ id }).delete()
  const sum = app.rating_sum - 100 * review.rating
  const ratings = ratingColumns({ sum, count: app.rating_count - 1 })
  const at = new Date().toISOString()
  await sql('apps')
    .where({ id: app.id })
    .update({ review_count: app.review_count - 1, ...ratings, changed_at: at })
  await recordEntry(runner, actor, {
    action: 'review remove',
    at,
    app_id: app.id,
    developer_id: app.developer_id,
    before: review,
    after: { reason },
  })
  return review
}
