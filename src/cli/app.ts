import { Command } from 'commander'
import { moderationStore } from '../moderation/store.ts'
import { operator, print, printJson, wholeNumber, withDatabase } from './command.ts'

export const appCommand = () =>
  new Command('app')
    .description('bring apps back, and hand them over')
    .addCommand(
      new Command('restore')
        .description('bring a deleted app back in the status it had, at once')
        .argument('<id>', 'id of the app', wholeNumber)
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service app restore 42

JSON: {id, slug, status}.`,
        )
        .action(restore),
    )
    .addCommand(
      new Command('transfer')
        .description('hand an app over to another developer: only their keys change it from now on')
        .argument('<id>', 'id of the app', wholeNumber)
        .requiredOption('--to <developer>', 'name of the developer, who must be there')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service app transfer 42 --to "Harbour Software"

JSON: {id, slug, developer_name}.`,
        )
        .action(transfer),
    )

async function restore(id: number, options: { json?: true }) {
  const restored = await withDatabase((database) =>
    database.write((connection) => moderationStore(connection).restore(id, operator())),
  )
  if (options.json) return printJson(restored)
  print(`App ${id} (${restored.slug}) is back; it is ${restored.status}.`)
}

async function transfer(id: number, options: { to: string; json?: true }) {
  const transferred = await withDatabase((database) =>
    database.write((connection) => moderationStore(connection).transfer(id, options.to, operator())),
  )
  if (options.json) return printJson(transferred)
  print(`App ${id} (${transferred.slug}) belongs to ${transferred.developer_name} now.`)
}
