import { Command } from 'commander'
import {
  findKeys,
  findLookAlikesOfNewDeveloper,
  findOrAddDeveloper,
  issueKey,
  requireDeveloper,
  revokeKey,
} from '../accounts/account-store.ts'
import { keyPrefix, parseKeyIdOrPrefix } from '../accounts/keys.ts'
import { OperatorError, UsageError } from '../contract/errors.ts'
import { lockActiveApp } from '../moderation/decisions.ts'
import { formatAge, formatMinute } from '../util/time.ts'
import {
  buildDatabaseCommand,
  buildListCommand,
  commandGroup,
  currentOperator,
  parsePositiveInteger,
} from './command.ts'
import { contactLines, print, printInfo, printTable } from './output.ts'
import { expiresOption } from './time.ts'

const issue = buildDatabaseCommand({
  command: new Command('issue')
    .description('issue a key and print it once; adds the developer if the name is new')
    .requiredOption('--developer <name>', 'name of the developer, as the catalogue shows it')
    .addOption(expiresOption)
    .option('--name <text>', 'what the key is for; key list shows it')
    .option('--app <id>', 'only for this app of the developer', parsePositiveInteger)
    .option('--read-only', 'only for reading'),
  help: `
Only the key goes to standard output. A key with --app updates and deletes this
app, and creates none. It reads the developer's other apps as a stranger does
and, once this app is transferred, this one, too.

Examples:
  ./apps-service key issue --developer "Harbour Software"
  ./apps-service key issue --developer Ada --expires 90d --name nightly --app 42

JSON: {id, key, name, developer_name, expires_at, app_id, read_only}; name and
app_id may be null.`,
  async run(
    database,
    {
      developer: developerName,
      expires: expiresAt,
      app: app_id = null,
      readOnly: read_only = false,
      name,
    }: IssueOptions,
  ) {
    // Before the transaction, which other writes may wait for.
    const lookAlikes = await database.read((runner) =>
      findLookAlikesOfNewDeveloper(runner, developerName),
    )
    return database.write(async (runner) => {
      const developer = await findOrAddDeveloper(runner, developerName)
      const app = app_id === null ? undefined : await lockActiveApp(runner, app_id)
      if (app && app.developer_id !== developer.id)
        throw new OperatorError(`app ${app_id} belongs to ${JSON.stringify(app.developer_name)}`)
      const options = { name, expiresAt, app_id, read_only }
      const issued = await issueKey(runner, developer, currentOperator(), options)
      return { developer, lookAlikes, issued }
    })
  },
  toJson: ({ issued }) => issued,
  print({ developer, lookAlikes, issued }) {
    if (developer.isNew && lookAlikes.length > 0)
      printInfo(`New developer; similar: ${lookAlikes.join(', ')}.`)
    const owner = `${developer.isNew ? 'the new developer ' : ''}${developer.name}`
    const { app_id, read_only, expires_at, key } = issued
    const facts = [owner, app_id && `for app ${app_id}`, read_only && 'read-only'].filter(Boolean)
    printInfo(
      `Key of ${facts.join(', ')}, until ${formatMinute(expires_at)} UTC. It is not shown again:`,
    )
    print(key)
  },
})

type IssueOptions = {
  developer: string
  expires?: string
  name?: string
  app?: number | null
  readOnly?: boolean
}

const list = buildListCommand({
  command: new Command('list')
    .description('list keys by developer, oldest first, without their secret part')
    .option('--developer <name>', 'only keys of this developer'),
  help: `
Examples:
  ./apps-service key list --developer "Harbour Software"

JSON: {keys, pagination: {current_page, total_pages, per_page, total}}.
A key: {id, name, developer_name, developer_contact, created_at, expires_at,
last_used_at, revoked_at, app_id, read_only, state}. state is active, expired
or revoked; name, developer_contact, last_used_at, revoked_at and app_id may be
null. last_used_at is updated at most once an hour.`,
  rows: 'keys',
  async find(runner, { developer: name }: { developer?: string }, limit, offset) {
    const developer = name === undefined ? undefined : await requireDeveloper(runner, name)
    return findKeys(runner, developer?.id, limit, offset)
  },
  print: ({ keys }) =>
    printTable(
      keys.map((key) => ({
        KEY: keyPrefix(key.id),
        DEVELOPER: key.developer_name,
        NAME: key.name,
        AGE: formatAge(key.created_at),
        'EXPIRES (UTC)': formatMinute(key.expires_at),
        USED: key.last_used_at ? formatAge(key.last_used_at) : 'never',
        STATE: key.state,
      })),
      ['DEVELOPER', 'NAME'],
      keys.map(({ developer_contact, app_id, read_only }) =>
        [
          ...contactLines(developer_contact),
          app_id && `app: ${app_id}`,
          read_only && 'read-only',
        ].flatMap((line) => line || []),
      ),
    ),
})

/** The error does not quote the text, which may be a mistyped secret. */
function parseKey(text: string): string {
  const id = parseKeyIdOrPrefix(text)
  if (id === undefined) throw new UsageError('the argument must be an API key or its id')
  return id
}

const revoke = buildDatabaseCommand({
  command: new Command('revoke')
    .description('revoke a key; it is refused from the next request on')
    .argument('<key>', 'id of the key, as key list shows it, or the whole key', parseKey),
  help: `
Examples:
  ./apps-service key revoke apps_3k9x0v2m1qzt

JSON: {id, developer_name, revoked_at}.`,
  run: (database, id: string) =>
    database.write((runner) => revokeKey(runner, id, currentOperator())),
  print: ({ id, developer_name }) =>
    print(`The key ${keyPrefix(id)} of ${developer_name} is revoked.`),
})

export const command = commandGroup('key', 'issue, list and revoke the API keys of developers', [
  issue,
  list,
  revoke,
])
