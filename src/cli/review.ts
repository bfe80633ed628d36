import { Command } from 'commander'
import { findReviews, removeReview } from '../catalogue/reviews.ts'
import { parseReason } from '../contract/field-rules.ts'
import { requireApp } from '../moderation/app-details.ts'
import { formatMinute } from '../util/time.ts'
import {
  buildDatabaseCommand,
  buildListCommand,
  commandGroup,
  currentOperator,
  parsePositiveInteger,
  parseWith,
} from './command.ts'
import { print, printTable } from './output.ts'

const list = buildListCommand({
  command: new Command('list')
    .description('list the reviews of an app in any state, newest first')
    .requiredOption('--app <id>', 'id of the app', parsePositiveInteger),
  help: `
Examples:
  ./apps-service review list --app 42

JSON: {reviews, pagination: {current_page, total_pages, per_page, total}}.
A review: {id, reviewer_name, rating, comment, created_at}.`,
  rows: 'reviews',
  async find(runner, { app: appId }: { app: number }, limit, offset) {
    const { review_count } = await requireApp(runner, appId)
    return { reviews: await findReviews(runner, appId, limit, offset), total: review_count }
  },
  print: ({ reviews }) =>
    printTable(
      reviews.map((review) => ({
        ID: review.id,
        RATING: review.rating,
        REVIEWER: review.reviewer_name,
        'WHEN (UTC)': formatMinute(review.created_at),
      })),
      ['REVIEWER'],
      reviews.map(({ comment }) => (comment === '' ? [] : [comment])),
    ),
})

const remove = buildDatabaseCommand({
  command: new Command('remove')
    .description('remove a review and its rating; the audit log keeps it, with the reason')
    .argument('<id>', 'id of the review, as review list prints it', parsePositiveInteger)
    .requiredOption('--reason <text>', 'why, for the audit log', parseWith(parseReason)),
  help: `
Examples:
  ./apps-service review remove 1234 --reason "It names a private person."

JSON: {id, app_id, rating, created_at, reviewer_name, comment}.`,
  run: (database, id: number, { reason }: { reason: string }) =>
    database.write((runner) => removeReview(runner, id, reason, currentOperator())),
  print: ({ id, app_id }) => print(`Removed review ${id} of app ${app_id}.`),
})

export const command = commandGroup('review', 'list and remove reviews of apps', [list, remove])
