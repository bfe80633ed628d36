import { Command } from 'commander'
import { renameDeveloper } from '../accounts/rename-developer.ts'
import { accountStore } from '../accounts/store.ts'
import type { StateCounts } from '../catalogue/store.ts'
import {
  currentOperator,
  type PageOptions,
  pageOffset,
  print,
  printJson,
  printPage,
  printTable,
  withDatabase,
  withPageOptions,
} from './command.ts'

export const developerCommand = () =>
  new Command('developer')
    .description('developers, to whom apps and keys belong')
    .addCommand(
      withPageOptions(new Command('list'))
        .description('list developers by name, with how many apps they have in each state')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service developer list --page 2

JSON: {developers, pagination: {current_page, total_pages, per_page, total}}.
A developer: {id, name, created_at, active_keys, apps: {pending, approved,
rejected, deleted}}. A deleted app counts as deleted alone.`,
        )
        .action(list),
    )
    .addCommand(
      new Command('rename')
        .description('give a developer another name, in the catalogue and in search')
        .argument('<name>', 'name that the developer has')
        .requiredOption('--to <name>', 'name that the developer is given; no other may have it')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
All apps show the new name at one moment, and search finds them by it from then
on. Others may write meanwhile: of a developer with very many apps it takes a
while. Stopped half-way and started again, it finishes.

Example:
  npx apps-service developer rename "Harbour Software" --to "Harbour & Sons"

JSON: {id, name, listed_apps}.`,
        )
        .action(rename),
    )

async function list(options: PageOptions) {
  const { developers, total } = await withDatabase((database) =>
    database.snapshot((connection) => accountStore(connection).developers(options.limit, pageOffset(options))),
  )
  printPage('developers', { rows: developers, total }, options, (rows) =>
    printTable(
      ['ID', 'NAME', 'PENDING', 'APPROVED', 'REJECTED', 'DELETED', 'ACTIVE KEYS'],
      rows.map(({ id, name, apps, active_keys }) => [
        id,
        name,
        apps.pending,
        apps.approved,
        apps.rejected,
        apps.deleted,
        active_keys,
      ]),
      ['NAME'],
    ),
  )
}

async function rename(name: string, options: { to: string; json?: true }) {
  const renamed = await withDatabase((database) => renameDeveloper(database, name, options.to, currentOperator()))
  if (options.json) return printJson(renamed)
  print(`The developer is ${renamed.name} now, with ${renamed.listed_apps} listed apps.`)
}

export const countsText = ({ pending, approved, rejected, deleted }: StateCounts) =>
  `${pending} pending, ${approved} approved, ${rejected} rejected, ${deleted} deleted`
