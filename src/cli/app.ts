import { Command, Option } from 'commander'
import type { AppFilter, AppState } from '../moderation/app-filter.ts'
import { type AppEntry, moderationStore } from '../moderation/store.ts'
import {
  currentOperator,
  type PageOptions,
  pageOffset,
  parsePositiveInteger,
  print,
  printJson,
  printPage,
  printTable,
  withDatabase,
  withFilterOptions,
  withPageOptions,
} from './command.ts'
import { age } from './time.ts'

const states: AppState[] = ['pending', 'approved', 'rejected', 'deleted']

export const appCommand = () =>
  new Command('app')
    .description('find apps in any state, bring them back, and hand them over')
    .addCommand(
      withPageOptions(withFilterOptions(new Command('list')))
        .description('list apps, newest first, whoever may see them')
        .addOption(new Option('--status <status>', 'in this state').choices(states))
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Approved apps are found as the catalogue's search finds them, best match first,
unless they are those of one developer; without --status the others come before
them. A deleted app is in no other state.

Examples:
  npx apps-service app list --search "tide clock"
  npx apps-service app list --status rejected --developer "Harbour Software"
  npx apps-service app list --status deleted --json | jq '.apps[].id'

JSON: {apps, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, name, slug, package_name, developer_name, category_slug, status,
deleted_at, created_at, updated_at}; status is that before the deletion, where
deleted_at is not null.`,
        )
        .action(list),
    )
    .addCommand(
      new Command('restore')
        .description('bring a deleted app back in the status it had, at once')
        .argument('<id>', 'id of the app', parsePositiveInteger)
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
        .argument('<id>', 'id of the app', parsePositiveInteger)
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

async function list(options: PageOptions & AppFilter & { status?: AppState }) {
  const { apps, total } = await withDatabase((database) =>
    database.snapshot((connection) =>
      moderationStore(connection).list(options.status, options, options.limit, pageOffset(options)),
    ),
  )
  printPage('apps', { rows: apps, total }, options, printApps)
}

function printApps(apps: AppEntry[]) {
  printTable(
    ['ID', 'NAME', 'DEVELOPER', 'CATEGORY', 'STATUS', 'UPDATED'],
    apps.map(({ id, name, developer_name, category_slug, status, deleted_at, updated_at }) => [
      id,
      name,
      developer_name,
      category_slug,
      deleted_at === null ? status : 'deleted',
      age(updated_at),
    ]),
    ['NAME', 'DEVELOPER', 'CATEGORY'],
  )
}

async function restore(id: number, options: { json?: true }) {
  const restored = await withDatabase((database) =>
    database.write((connection) => moderationStore(connection).restore(id, currentOperator())),
  )
  if (options.json) return printJson(restored)
  print(`App ${id} (${restored.slug}) is back; it is ${restored.status}.`)
}

async function transfer(id: number, options: { to: string; json?: true }) {
  const transferred = await withDatabase((database) =>
    database.write((connection) => moderationStore(connection).transfer(id, options.to, currentOperator())),
  )
  if (options.json) return printJson(transferred)
  print(`App ${id} (${transferred.slug}) belongs to ${transferred.developer_name} now.`)
}
