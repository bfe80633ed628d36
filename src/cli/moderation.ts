import { Command } from 'commander'
import type { Decision } from '../apps/policy.ts'
import { moderationStore } from '../moderation/store.ts'
import { note, operator, print, printJson, printTable, wholeNumber, withDatabase } from './command.ts'

export const moderationCommand = () =>
  new Command('moderation')
    .description('decide which apps the catalogue shows')
    .addCommand(
      new Command('queue')
        .description('list pending apps, those waiting longest first')
        .option('--limit <number>', 'how many at most', wholeNumber, 50)
        .option('--json', 'print a JSON array')
        .addHelpText('after', '\nExample:\n  npx apps-service moderation queue --limit 10')
        .action(queue),
    )
    .addCommand(
      new Command('approve')
        .description('show a pending or rejected app to everyone, at once')
        .argument('<id>', 'id of the app', wholeNumber)
        .option('--json', 'print one JSON object')
        .addHelpText('after', '\nExample:\n  npx apps-service moderation approve 42')
        .action((id: number, options: { json?: true }) => decide('approve', id, null, options)),
    )
    .addCommand(
      new Command('reject')
        .description('refuse a pending app, or take an approved one down, at once')
        .argument('<id>', 'id of the app', wholeNumber)
        .requiredOption('--reason <text>', 'why; the owner reads it')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          '\nExample:\n  npx apps-service moderation reject 42 --reason "The link in the description is dead."',
        )
        .action((id: number, options: { reason: string; json?: true }) =>
          decide('reject', id, options.reason, options),
        ),
    )

async function queue(options: { limit: number; json?: true }) {
  const entries = await withDatabase((database) =>
    database.read((connection) => moderationStore(connection).queue(options.limit)),
  )
  if (options.json) return printJson(entries)
  if (entries.length === 0) return note('No app is waiting.')
  printTable(
    ['ID', 'NAME', 'DEVELOPER', 'CATEGORY', 'SINCE'],
    entries.map((entry) => [entry.id, entry.name, entry.developer_name, entry.category_slug, entry.created_at]),
  )
}

async function decide(decision: Decision, id: number, reason: string | null, options: { json?: true }) {
  const decided = await withDatabase((database) =>
    database.write((connection) => moderationStore(connection).decide(decision, id, operator(), reason)),
  )
  if (options.json) return printJson(decided)
  print(`App ${decided.id} (${decided.slug}) is ${decided.status} now.`)
}
