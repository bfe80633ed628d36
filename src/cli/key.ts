import { Command } from 'commander'
import { keyPrefix, parseKeyIdOrPrefix } from '../accounts/keys.ts'
import { accountStore } from '../accounts/store.ts'
import {
  currentOperator,
  type PageOptions,
  pageOffset,
  print,
  printInfo,
  printJson,
  printPage,
  printTable,
  withDatabase,
  withPageOptions,
} from './command.ts'
import { age, formatDate, parseFutureTime } from './time.ts'

export const keyCommand = () =>
  new Command('key')
    .description('API keys of developers')
    .addCommand(
      new Command('issue')
        .description('issue a key and print it, this once; the developer is made where there is none of that name')
        .requiredOption('--developer <name>', 'name of the developer, as the catalogue shows it')
        .option('--expires <time>', 'when it ends: 90d, 12h, 2027-01-31 (default: 365d)', parseFutureTime)
        .option('--name <text>', 'what it is for, as key list shows it')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
The key alone goes to standard output.

Examples:
  npx apps-service key issue --developer "Harbour Software"
  npx apps-service key issue --developer Ada --expires 90d --name nightly

JSON: {id, key, name, developer_name, expires_at}; name may be null.`,
        )
        .action(issue),
    )
    .addCommand(
      withPageOptions(new Command('list'))
        .description('list keys by developer, oldest first: never their secret part')
        .option('--developer <name>', 'those of this developer')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service key list --developer "Harbour Software"

JSON: {keys, pagination: {current_page, total_pages, per_page, total}}.
A key: {id, name, developer_name, created_at, expires_at, last_used_at,
revoked_at, state}. state is active, expired or revoked; name, last_used_at and
revoked_at may be null. The last use is noted once an hour at most.`,
        )
        .action(list),
    )
    .addCommand(
      new Command('revoke')
        .description('end a key, from the next request on')
        .argument('<key>', 'id of the key as key list shows it, or the whole key')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service key revoke apps_3k9x0v2m1qzt

JSON: {id, developer_name, revoked_at}.`,
        )
        .action(revoke),
    )

type IssueOptions = { developer: string; expires?: string; name?: string; json?: true }

async function issue({ developer: developerName, expires, name, json }: IssueOptions) {
  const { developer, issued } = await withDatabase((database) =>
    database.write(async (connection) => {
      const accounts = accountStore(connection)
      const developer = await accounts.findOrAddDeveloper(developerName)
      return { developer, issued: await accounts.issueKey(developer, currentOperator(), { name, expiresAt: expires }) }
    }),
  )
  if (json) return printJson(issued)
  const owner = `${developer.isNew ? 'the new developer ' : ''}${developer.name}`
  printInfo(`Key of ${owner}, until ${issued.expires_at}. It is not shown again:`)
  print(issued.key)
}

async function list(options: PageOptions & { developer?: string }) {
  const { keys, total } = await withDatabase((database) =>
    database.snapshot(async (connection) => {
      const accounts = accountStore(connection)
      const developer = options.developer === undefined ? undefined : await accounts.requireDeveloper(options.developer)
      return accounts.keys(developer?.id, options.limit, pageOffset(options))
    }),
  )
  printPage('keys', { rows: keys, total }, options, (rows) =>
    printTable(
      ['KEY', 'DEVELOPER', 'NAME', 'CREATED', 'EXPIRES', 'USED', 'STATE'],
      rows.map((key) => [
        keyPrefix(key.id),
        key.developer_name,
        key.name ?? '',
        formatDate(key.created_at),
        formatDate(key.expires_at),
        key.last_used_at === null ? 'never' : age(key.last_used_at),
        key.state,
      ]),
      ['DEVELOPER', 'NAME'],
    ),
  )
}

async function revoke(text: string, options: { json?: true }, command: Command) {
  const id = parseKeyIdOrPrefix(text)
  // Not said again: it may be a secret with a slip in it.
  if (id === undefined) return command.error('error: that is neither a key nor the id of one')
  const revoked = await withDatabase((database) =>
    database.write((connection) => accountStore(connection).revoke(id, currentOperator())),
  )
  if (options.json) return printJson(revoked)
  print(`The key ${keyPrefix(id)} of ${revoked.developer_name} is revoked.`)
}
