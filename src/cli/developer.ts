import { Command } from 'commander'
import {
  findDevelopers,
  removeDeveloper,
  renameDeveloper,
  requireDeveloper,
  setContact,
} from '../accounts/account-store.ts'
import { OperatorError, UsageError } from '../contract/errors.ts'
import { formatQuantity } from '../util/text.ts'
import { buildDatabaseCommand, buildListCommand, commandGroup, currentOperator } from './command.ts'
import { contactLines, print, printTable } from './output.ts'
import { showCount } from './progress.ts'

const list = buildListCommand({
  command: new Command('list').description(
    'list developers by name, with the number of their apps in each state',
  ),
  help: `
Examples:
  ./apps-service developer list --page 2

JSON: {developers, pagination: {current_page, total_pages, per_page, total}}.
A developer: {id, name, created_at, contact, active_keys, apps: {pending,
approved, rejected, deleted}}. contact may be null. A deleted app counts only
as deleted.`,
  rows: 'developers',
  find: (runner, _options: object, limit, offset) => findDevelopers(runner, limit, offset),
  print: ({ developers }) =>
    printTable(
      developers.map(({ id, name, apps, active_keys }) => ({
        ID: id,
        NAME: name,
        PENDING: apps.pending,
        APPROVED: apps.approved,
        REJECTED: apps.rejected,
        DELETED: apps.deleted,
        'ACTIVE KEYS': active_keys,
      })),
      ['NAME'],
      developers.map(({ contact }) => contactLines(contact)),
    ),
})

const contact = buildDatabaseCommand({
  command: new Command('contact')
    .description('set, remove or print the e-mail address of a developer')
    .argument('<name>', 'current name')
    .argument('[address]', 'new address')
    .option('--none', 'remove the address'),
  help: `
With NOTIFY_OWNERS=1, deploy/notify.ts sends it the decisions about the apps of
the developer. The address is in backups and copies of the database; exports and
the API do not have it, and the audit log only says that it was changed.

Examples:
  ./apps-service developer contact "Harbour Software" ada@example.org
  ./apps-service developer contact "Harbour Software" --none

JSON: {id, name, contact}; contact may be null.`,
  async run(database, name: string, address: string | undefined, { none }: { none?: true }) {
    if (address !== undefined && none) throw new UsageError('choose an address or --none')
    const found = await database.read((runner) => requireDeveloper(runner, name))
    if (address === undefined && !none) return found
    return database.write((runner) => setContact(runner, name, address ?? null, currentOperator()))
  },
  print: ({ name, contact }) =>
    print(contact === null ? `${name} has no contact.` : `The contact of ${name} is ${contact}.`),
})

const rename = buildDatabaseCommand({
  command: new Command('rename')
    .description('rename a developer, in the catalogue and in search')
    .argument('<name>', 'current name')
    .requiredOption('--to <name>', 'new name, which no other developer may have'),
  help: `
All apps show the new name, and are found by it, from the same moment. With very
many apps a rename takes several seconds, during which other writes wait. An
interrupted rename changes nothing.

Examples:
  ./apps-service developer rename "Harbour Software" --to "Harbour & Sons"

JSON: {id, name, listed_apps}.`,
  async run(database, name: string, { to }: { to: string }) {
    await database.read((runner) => requireDeveloper(runner, name))
    return database.write((runner) =>
      renameDeveloper(runner, name, to, currentOperator(), showCount('app')),
    )
  },
  print: ({ name, listed_apps }) =>
    print(`The developer is ${name} now, with ${formatQuantity(listed_apps, 'listed app')}.`),
})

const remove = buildDatabaseCommand({
  command: new Command('remove')
    .description('remove a developer who has no apps and no active keys')
    .argument('<name>', 'current name'),
  help: `
The audit log keeps its entries about the developer.

Examples:
  ./apps-service developer remove "Habrour Software"

JSON: {id, name}.`,
  async run(database, name: string) {
    await database.read((runner) => requireDeveloper(runner, name))
    return database
      .write((runner) => removeDeveloper(runner, name, currentOperator()))
      .catch((error) => {
        if (!database.explain(error).violatesForeignKey) throw error
        throw new OperatorError(
          `${name} has apps, possibly deleted ones, or active keys; transfer the apps and revoke the keys first`,
        )
      })
  },
  print: ({ name }) => print(`Removed the developer ${name}.`),
})

export const command = commandGroup(
  'developer',
  'list, rename and remove developers, who own apps and keys',
  [list, contact, rename, remove],
)
