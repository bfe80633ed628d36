import { Command, Option } from 'commander'
import { requireDeveloper } from '../accounts/account-store.ts'
import type { AppState } from '../catalogue/app-states.ts'
import { UsageError } from '../contract/errors.ts'
import type { AppReference } from '../contract/field-rules.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import { describeLostName, restoreApp, transferApp } from '../moderation/decisions.ts'
import { listApps, listFoundApps } from '../moderation/finder.ts'
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
    .description('list apps in any state, newest first, or find them by a text')
    .argument(
      '[text]',
      'id, slug, package name or a part of it, or words of the name or the developer',
    )
    .addOption(new Option('--status <status>', 'only apps in this state').choices(states)),
  help: `
A text finds apps in all states, categories and of all developers: first those
with this id, slug or package name, then those whose names look like it, those
of the developer with exactly this name, those whose names have all of its
words, whole or as beginnings, those with such a part of the package name, and
those of developers with such words. It finds at most 1,000 apps. A deleted app
counts only as deleted.

Examples:
  ./apps-service app list "tide clock"
  ./apps-service app list --status rejected --developer "Harbour Software"
  ./apps-service app list --status deleted --json | jq '.apps[].id'

JSON: {apps, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, name, slug, package_name, developer_name, category_slug, status,
deleted_at, created_at, updated_at}. If deleted_at is not null, status
is the one before the deletion; otherwise the current one.`,
  rows: 'apps',
  find(
    runner,
    { status, developer, category }: AppFilter & { status?: AppState },
    limit,
    offset,
    text: string | undefined,
  ) {
    if (text === undefined) return listApps(runner, status, { developer, category }, limit, offset)
    if (status ?? developer ?? category)
      throw new UsageError('a text finds apps in any state; leave out the options that filter')
    return listFoundApps(runner, text, limit, offset)
  },
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
If its developer has given its package name to another app since, the app comes
back without it, and the output says which app has it.

Examples:
  ./apps-service app restore 42
  ./apps-service app restore 42@k3f9a

JSON: {id, slug, status, lost_package_name: {name, app_id}}. The last is only
there if the app comes back without it; app_id is null if no app has it.`,
  run: (database, { id, revision }: AppReference) =>
    database.write((runner) => restoreApp(runner, id, currentOperator(), revision), { app: id }),
  print({ id, slug, status, lost_package_name: lost }) {
    const name = lost ? ` ${describeLostName(lost)}` : ''
    print(`Restored app ${id} (${slug}); its status is ${status}.${name}`)
  },
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
    await database.read((runner) => requireDeveloper(runner, to))
    return database.write((runner) => transferApp(runner, id, to, currentOperator()))
  },
  print: ({ id, slug, developer_name }) =>
    print(`App ${id} (${slug}) belongs to ${developer_name} now.`),
})

export const command = commandGroup('app', 'find apps in any state, restore and transfer them', [
  list,
  restore,
  transfer,
])
