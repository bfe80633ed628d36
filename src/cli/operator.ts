import { Command } from 'commander'
import { parseKeyId } from '../accounts/keys.ts'
import { operatorStore } from '../accounts/operator-store.ts'
import { UsageError } from '../contract/errors.ts'
import { formatAge, formatMinute } from '../util/time.ts'
import { buildDatabaseCommand, commandGroup, currentOperator } from './command.ts'
import { print, printInfo, printTable } from './output.ts'
import { expiresOption } from './time.ts'

const add = buildDatabaseCommand({
  command: new Command('add')
    .description('add a person who decides on the moderation page, and print a sign-in key once')
    .argument('<name>', 'name of the person, for the audit log')
    .addOption(expiresOption),
  help: `
Only the key goes to standard output. A name that exists gets a further key.

Examples:
  ./apps-service operator add "Ada Lovelace"
  ./apps-service operator add Bo --expires 90d

JSON: {id, key, name, expires_at}.`,
  run: (database, name: string, { expires }: { expires?: string }) =>
    database.write((runner) => operatorStore(runner).add(name, currentOperator(), expires), {
      changesPublicData: () => false,
    }),
  print({ name, key, expires_at }) {
    printInfo(
      `Sign-in key of ${name}, until ${formatMinute(expires_at)} UTC. It is not shown again:`,
    )
    print(key)
  },
})

const list = buildDatabaseCommand({
  command: new Command('list').description('list the people who can sign in, by name'),
  help: `
Examples:
  ./apps-service operator list

JSON: an array of {id, name, created_at, expires_at, revoked_at, last_used_at,
state}. state is active, expired or revoked; revoked_at and last_used_at may be
null. last_used_at is the last time that somebody signed in with the key.`,
  run: (database) => database.read((runner) => operatorStore(runner).all()),
  print(operators) {
    if (operators.length === 0) return printInfo('No operators; operator add NAME adds one.')
    printTable(
      operators.map(({ id, name, created_at, expires_at, last_used_at, state }) => ({
        ID: id,
        NAME: name,
        AGE: formatAge(created_at),
        'EXPIRES (UTC)': formatMinute(expires_at),
        USED: last_used_at ? formatAge(last_used_at) : 'never',
        STATE: state,
      })),
      ['NAME'],
    )
  },
})

/** The error does not quote the text, which may be a mistyped secret. */
function parseId(text: string): string {
  const id = parseKeyId(text, 'operator') ?? /^[0-9a-z]{12}$/.exec(text)?.[0]
  if (id === undefined) throw new UsageError('the argument must be a sign-in key or its id')
  return id
}

const revoke = buildDatabaseCommand({
  command: new Command('revoke')
    .description('revoke a sign-in key; its sessions end at their next request')
    .argument('<key>', 'id of the key, as operator list shows it, or the whole key', parseId),
  help: `
Examples:
  ./apps-service operator revoke 3k9x0v2m1qzt

JSON: {id, name, revoked_at}.`,
  run: (database, id: string) =>
    database.write((runner) => operatorStore(runner).revoke(id, currentOperator()), {
      changesPublicData: () => false,
    }),
  print: ({ id, name }) => print(`The sign-in key ${id} of ${name} is revoked.`),
})

export const command = commandGroup(
  'operator',
  'add people who can sign in to the moderation page',
  [add, list, revoke],
)
