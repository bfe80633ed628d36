import { Command } from 'commander'
import { type Account, findAccounts } from '../accounts/account-store.ts'
import { addressColumns, isAddressColumn, type OwnerColumn } from '../catalogue/app-columns.ts'
import type { Decision } from '../catalogue/policy.ts'
import { readConfig } from '../config.ts'
import { type AppReference, formatReference, parseReason } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import { decideEach, type GivenDecision } from '../moderation/decisions.ts'
import { appFields, formatAddress, formatSimilar } from '../moderation/describe.ts'
import {
  type AppReviewDetails,
  type Change,
  type DecisionResult,
  moderationStore,
  type QueuedApp,
} from '../moderation/moderation-store.ts'
import { formatCommand } from '../util/command.ts'
import { pick, required, secondsSince } from '../util/helpers.ts'
import { sanitize } from '../util/text.ts'
import { formatAge } from '../util/time.ts'
import { printEntries } from './audit.ts'
import {
  buildDatabaseCommand,
  buildListCommand,
  commandGroup,
  currentOperator,
  parseAppReference,
  parsePositiveInteger,
  parseWith,
  withDatabase,
  withFilterOptions,
} from './command.ts'
import { readDecisions } from './decision-file.ts'
import {
  addressLine,
  changedAddressLines,
  detailLine,
  formatChanges,
  messageOf,
  noValue,
  print,
  printError,
  printFields,
  printInfo,
  printTable,
} from './output.ts'
import { writeTimeout } from './serve.ts'

const queue = buildListCommand({
  command: withFilterOptions(new Command('queue'))
    .description('list apps that wait for a decision, longest first: pending ones, or changed ones')
    .option(
      '--changed',
      'approved apps that their owners have changed since the last decision, with the changes',
    ),
  help: `
Each id is printed with the app's revision, which is new after every change.
approve, reject and decide accept both, such as 42@k3f9a, and then refuse the
app if it has changed since.

Examples:
  ./apps-service moderation queue
  ./apps-service moderation queue --changed --limit 10
  ./apps-service moderation queue --developer "Harbour Software"
  ./apps-service moderation queue --changed --category games
  ./apps-service moderation queue --json | jq '.apps[].id'

JSON: {apps, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, revision, name, slug, short_description, website_url,
source_code_url, license, developer_name, category_slug, created_at, updated_at,
waiting_since, changes, similar, waiting_seconds}. A change: {field, before,
after}; before is the value at the last decision. A similar app: {id, name,
developer_name, status, total_downloads}, an app of another developer that is
listed (approved) or pending, too. Texts are not shortened.
Without --limit, JSON has the first 10,000 apps.`,
  rows: 'apps',
  jsonLimit: 10_000,
  async find(runner, options: AppFilter & { changed?: true }, limit, offset) {
    const name = options.changed ? 'changed' : 'pending'
    const { apps, ...page } = await moderationStore(runner).queue(name, options, limit, offset)
    return {
      apps: apps.map((app) => ({
        ...pick(app, 'id', 'revision', 'name', 'slug', 'short_description', ...addressColumns),
        ...pick(
          app,
          'license',
          'developer_name',
          'category_slug',
          'created_at',
          'updated_at',
          'waiting_since',
        ),
        ...pick(app, 'changes', 'similar'),
        waiting_seconds: secondsSince(app.waiting_since),
      })),
      ...page,
    }
  },
  print({ apps }, { changed }) {
    printTable(
      apps.map((app) => ({
        ID: formatReference(app),
        NAME: app.name,
        DEVELOPER: app.developer_name,
        CATEGORY: app.category_slug,
        WAITED: formatAge(app.waiting_since),
        UPDATED: formatAge(app.updated_at),
      })),
      ['NAME', 'DEVELOPER', 'CATEGORY'],
      apps.map((app) => [
        ...app.similar.map((one) => detailLine(`similar: ${formatSimilar(one)}`)),
        ...(changed ? changeLines(app.changes) : textLines(app)),
      ]),
    )
    const [first] = apps
    if (first) {
      printInfo(
        `A decision on ${formatReference(first)} is refused if the app has changed since; one on ${first.id} is not.`,
      )
    }
  },
})

type Texts = Pick<QueuedApp, 'short_description' | 'license' | (typeof addressColumns)[number]>

const textLines = ({ short_description, license, ...addresses }: Texts) => [
  ...[short_description ?? []].flat().map(detailLine),
  ...addressColumns.flatMap((field) => {
    const address = addresses[field]
    return address === null ? [] : [addressLine(field, address)]
  }),
  ...(license === null ? [] : [detailLine(`license: ${license}`)]),
]

const changeLines = (changes: Change[]): string[] =>
  changes.length === 0
    ? ['changed and reverted']
    : changes.flatMap((change) => {
        const { field, before, after } = change
        return isAddressColumn(field)
          ? changedAddressLines(field, before ?? noValue, after ?? noValue)
          : formatChanges([change])
      })

/** History entries that `show` prints. */
const historyLimit = 100

const show = buildDatabaseCommand({
  command: new Command('show')
    .description('show an app with everything needed to decide on it, and its history')
    .argument('<id>', 'id of the app, which may be deleted', parsePositiveInteger),
  help: `
Examples:
  ./apps-service moderation show 42

JSON: {id, revision, slug, name, short_description, description, version,
package_name, website_url, source_code_url, license, status, rejection_reason,
deleted_at, unreviewed_since, created_at, updated_at, approved_at,
total_downloads, average_rating, rating_count, review_count,
category: {id, slug, name},
developer: as in developer list, similar: as in queue, changes: as in queue,
history: the newest ${historyLimit} entries as in audit}.`,
  run: (database, id: number) =>
    database.snapshot(async (runner) => {
      const details = await moderationStore(runner).reviewDetails(
        id,
        historyLimit,
        (entry) => entry,
      )
      const [developer] = await findAccounts(runner, [details.app.developer_id])
      return { ...details, developer: required(developer, `the developer of app ${id}`) }
    }),
  toJson: ({ app, developer, similar, changes, history }) => ({
    ...(pick(
      app,
      'id',
      'revision',
      'slug',
      'name',
      'short_description',
      'description',
      'version',
      'package_name',
      'website_url',
      'source_code_url',
      'license',
      'status',
      'rejection_reason',
      'deleted_at',
      'unreviewed_since',
      'created_at',
      'updated_at',
      'approved_at',
      'total_downloads',
      'average_rating',
      'rating_count',
      'review_count',
    ) satisfies Record<Exclude<OwnerColumn, 'category_id'>, unknown>),
    category: { id: app.category_id, slug: app.category_slug, name: app.category_name },
    developer,
    similar,
    changes,
    history,
  }),
  print: (details) => printDetails(details),
})

function printDetails(details: AppReviewDetails & { developer: Account }) {
  const { app, similar, changes, history, hasOlderHistory } = details
  printFields(appFields(details))
  for (const one of similar) printFields({ Similar: formatSimilar(one) })
  print(`\n${sanitize(app.description)}`)
  if (changes.length > 0) print('\nChanged since the last decision')
  for (const { field, before, after } of changes) {
    const shown = (text: string | null) =>
      text !== null && isAddressColumn(field) ? formatAddress(text) : text
    print(
      `\n  ${field}\n${prefixLines('  - ', shown(before))}\n${prefixLines('  + ', shown(after))}`,
    )
  }
  if (history.length > 0) {
    print('\nHistory\n')
    printEntries(history, false)
  }
  if (hasOlderHistory)
    printInfo(
      `The newest ${historyLimit} entries; ${formatCommand(`audit --app ${app.id} --limit 1000`)} shows more.`,
    )
}

const prefixLines = (prefix: string, text: string | null) =>
  sanitize(text ?? noValue).replace(/^/gm, prefix)

const decisionCommand = (decision: Decision, command: Command, examples: string) =>
  buildDatabaseCommand({
    command: command.argument(
      '<ids...>',
      'ids of apps, optionally with the revisions that queue and show print',
      (text: string, others: AppReference[] = []) => [...others, parseAppReference(text)],
    ),
    help: `
With a revision, an app that has changed since is refused. Each app is decided
separately. If one fails, the others are not affected, and the exit code is 1.

Examples:
${examples}

JSON: an array in the order of the ids: {id, slug, status}, or {id, error}.`,
    run: (
      database,
      apps: AppReference[],
      { reason = '', json }: { reason?: string; json?: true },
    ) => {
      const unique = new Map(apps.map((app) => [formatReference(app), app])).values()
      return decideAll(database, [...unique.map((app) => ({ ...app, decision, reason }))], json)
    },
  })

const approve = decisionCommand(
  'approve',
  new Command('approve').description(
    'show pending or rejected apps to everyone; accept the changes of approved ones',
  ),
  `  ./apps-service moderation approve 42@k3f9a
  ./apps-service moderation approve 42@k3f9a 43@q09zb`,
)

const reject = decisionCommand(
  'reject',
  new Command('reject')
    .description('reject pending apps, or take approved ones down')
    .requiredOption('--reason <text>', 'why; the owner reads it', parseWith(parseReason)),
  '  ./apps-service moderation reject 42@k3f9a --reason "The link is dead."',
)

const reopen = decisionCommand(
  'reopen',
  new Command('reopen').description('put approved or rejected apps back into the queue'),
  '  ./apps-service moderation reopen 42@k3f9a',
)

const decide = buildDatabaseCommand({
  command: new Command('decide')
    .description('apply decisions from a file')
    .argument('<file>', 'NDJSON, or - for standard input: {id, decision, reason} on each line'),
  help: `
A decision is approve, reject or reopen; reject needs a reason. An id may have
the revision that queue and show print, such as 42@k3f9a: an app that has
changed since is refused. If a line is not valid, nothing is decided. Then each
app is decided separately. If one fails, the others are not affected, and the
exit code is 1.

Examples:
  ./apps-service moderation decide decisions.ndjson
  ./apps-service moderation queue --json | jq -c '.apps[] |
    {id: "\\(.id)@\\(.revision)", decision: "approve"}' |
    ./apps-service moderation decide -

JSON: an array in the order of the file: {id, slug, status}, or {id, error}.`,
  run: async (database, file: string, { json }: { json?: true }) =>
    decideAll(database, await readDecisions(file), json),
})

/**
 * Applies the decisions. Prints each result unless `json`, and each refusal as an error. Returns the
 * results in the order of the decisions.
 */
async function decideAll(database: Database, decisions: GivenDecision[], json?: true) {
  const results: (DecisionResult | { id: number; error: string })[] = []
  for await (const result of decideEach(database, decisions, currentOperator())) {
    if ('error' in result) {
      const error = messageOf(result.error)
      printError(error)
      results.push({ id: result.id, error })
      continue
    }
    const { before, ...decided } = result
    results.push(decided)
    if (json) continue
    // Shows the current name: the owner may have changed it since it was read.
    print(
      `App ${decided.id} (${decided.slug}) is ${decided.status} now: ${JSON.stringify(before.name)}, last changed ${formatAge(before.updated_at)} ago.`,
    )
  }
  return results
}

const serve = new Command('serve')
  .description('serve a page for moderators, who sign in with keys of moderator add, until SIGTERM')
  .addHelpText(
    'after',
    `
It listens on HOST and MODERATION_PORT. MODERATION_URL is the address at which
browsers open it; use https outside this machine. It is not part of the public
server, which does not need it. DATABASE_URL, TRUST_PROXY, LOG_LEVEL and
REFUSED_KEY_LIMIT apply as to serve.

Examples:
  ./apps-service moderator add "Ada Lovelace"
  ./apps-service moderation serve`,
  )
  .action(async () => {
    const config = readConfig()
    // Imported here, because no other command needs it.
    const { serveModerationUntilSignal } = await import('../servers.ts')
    await withDatabase(
      (database) => serveModerationUntilSignal(config, database, currentOperator().operator),
      { writeTimeout },
    )
  })

export const command = commandGroup('moderation', 'decide which apps the catalogue shows', [
  queue,
  show,
  approve,
  reject,
  reopen,
  decide,
  serve,
])
