import { Command } from 'commander'
import { parseKeyId } from '../accounts/keys.ts'
import { addModerator, findModerators, revokeModerator } from '../accounts/moderator-store.ts'
import { UsageError } from '../contract/errors.ts'
import { formatCommand } from '../util/command.ts'
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
  ./apps-service moderator add "Ada Lovelace"
  ./apps-service moderator add Bo --expires 90d

JSON: {id, key, name, expires_at}.`,
  run: (database, name: string, { expires }: { expires?: string }) =>
    database.write((runner) => addModerator(runner, name, currentOperator(), expires)),
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
  ./apps-service moderator list

JSON: an array of {id, name, created_at, expires_at, revoked_at, last_used_at,
state}. state is active, expired or revoked; revoked_at and last_used_at may be
null. last_used_at is the last time that somebody signed in with the key.`,
  run: (database) => database.read(findModerators),
  print(moderators) {
    if (moderators.length === 0)
      return printInfo(`No moderators; ${formatCommand('moderator add NAME')} adds one.`)
    printTable(
      moderators.map(({ id, name, created_at, expires_at, last_used_at, state }) => ({
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
  const id = parseKeyId(text, 'moderator') ?? /^[0-9a-z]{12}$/.exec(text)?.[0]
  if (id === undefined) throw new UsageError('the argument must be a sign-in key or its id')
  return id
}

const revoke = buildDatabaseCommand({
  command: new Command('revoke')
    .description('revoke a sign-in key; its sessions end at their next request')
    .argument('<key>', 'id of the key, as moderator list shows it, or the whole key', parseId),
  help: `
Examples:
  ./apps-service moderator revoke 3k9x0v2m1qzt

JSON: {id, name, revoked_at}.`,
  run: (database, id: string) =>
    database.write((runner) => revokeModerator(runner, id, currentOperator())),
  print: ({ id, name }) => print(`The sign-in key ${id} of ${name} is revoked.`),
})

export const command = commandGroup(
  'moderator',
  'add people who can sign in to the moderation page',
  [add, list, revoke],
)
