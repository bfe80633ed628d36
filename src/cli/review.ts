import { Command } from 'commander'
import { removeReview } from '../catalogue/reviews.ts'
import { parseReason } from '../contract/field-rules.ts'
import { buildDatabaseCommand, commandGroup, currentOperator, parsePositiveInteger, print } from './command.ts'

export const reviewCommand = () => commandGroup('review', 'remove reviews of apps', [remove()])

const remove = () =>
  buildDatabaseCommand({
    command: new Command('remove')
      .description('remove a review and its rating; the audit log keeps it, with the reason')
      .argument('<id>', 'id of the review, as GET /apps/{id} returns it', parsePositiveInteger)
      .requiredOption('--reason <text>', 'why, for the audit log'),
    examples: ['review remove 1234 --reason "It names a private person."'],
    json: '{id, app_id, rating, created_at, reviewer_name, comment}.',
    run: (database, id: number, { reason }: { reason: string }) =>
      database.write((connection) => removeReview(connection, id, parseReason(reason), currentOperator())),
    print: ({ id, app_id }) => print(`Removed review ${id} of app ${app_id}.`),
  })
