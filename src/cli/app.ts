import { Command, Option } from 'commander'
import { assertDeveloper } from '../accounts/account-store.ts'
import type { AppReference } from '../contract/field-rules.ts'
import type { AppFilter, AppState } from '../moderation/app-filter.ts'
import { restoreApp } from '../moderation/decisions.ts'
import { moderationStore } from '../moderation/moderation-store.ts'
import { formatAge } from '../util/time.ts'
import {
  buildDatabaseCommand,
  buildListCommand,
  commandGroup,
  currentOperator,
  parseAppReference,
  parsePositiveInteger,
  withFilterOptions,
} from './command.ts'
import { print, printTable } from './output.ts'

const states: AppState[] = ['pending', 'approved', 'rejected', 'deleted']

const list = buildListCommand({
  command: withFilterOptions(new Command('list'))
    .description('list apps in any state, newest first')
    .addOption(new Option('--status <status>', 'only apps in this state').choices(states)),
  help: `
With --search and without --developer, approved apps come in the order of the
catalogue's search, best match first, after the matches in other states. A
deleted app counts only as deleted.

Examples:
  ./apps-service app list --search "tide clock"
  ./apps-service app list --status rejected --developer "Harbour Software"
  ./apps-service app list --status deleted --json | jq '.apps[].id'

JSON: {apps, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, name, slug, package_name, developer_name, category_slug, status,
deleted_at, created_at, updated_at}. If deleted_at is not null, status
is the one before the deletion; otherwise the current one.`,
  rows: 'apps',
  find: (runner, options: AppFilter & { status?: AppState }, limit, offset) =>
    moderationStore(runner).list(options.status, options, limit, offset),
  print: ({ apps }) =>
    printTable(
      apps.map((app) => ({
        ID: app.id,
        NAME: app.name,
        DEVELOPER: app.developer_name,
        CATEGORY: app.category_slug,
        STATUS: app.deleted_at === null ? app.status : 'deleted',
        UPDATED: formatAge(app.updated_at),
      })),
      ['NAME', 'DEVELOPER', 'CATEGORY'],
    ),
})

const restore = buildDatabaseCommand({
  command: new Command('restore')
    .description('restore a deleted app, in the status it had')
    .argument(
      '<id>',
      'id of the app, optionally with the revision that moderation show prints',
      parseAppReference,
    ),
  help: `
Examples:
  ./apps-service app restore 42
  ./apps-service app restore 42@k3f9a

JSON: {id, slug, status}.`,
  run: (database, app: AppReference) => restoreApp(database, app, currentOperator()),
  print: ({ id, slug, status }) => print(`Restored app ${id} (${slug}); its status is ${status}.`),
})

const transfer = buildDatabaseCommand({
  command: new Command('transfer')
    .description('transfer an app to another developer; from then on only their keys can change it')
    .argument('<id>', 'id of the app', parsePositiveInteger)
    .requiredOption('--to <developer>', 'name of an existing developer'),
  help: `
Examples:
  ./apps-service app transfer 42 --to "Harbour Software"

JSON: {id, slug, developer_name}.`,
  async run(database, id: number, { to }: { to: string }) {
    await assertDeveloper(database, to)
    return database.write((runner) => moderationStore(runner).transfer(id, to, currentOperator()))
  },
  print: ({ id, slug, developer_name }) =>
    print(`App ${id} (${slug}) belongs to ${developer_name} now.`),
})

export const command = commandGroup('app', 'find apps in any state, restore and transfer them', [
  list,
  restore,
  transfer,
])
