import { Command } from 'commander'
import { isAddressColumn, queueColumns } from '../catalogue/app-columns.ts'
import { parseKeywords, readableValue } from '../catalogue/keywords.ts'
import { readConfig } from '../config.ts'
import { formatReference } from '../contract/field-rules.ts'
import type { Change } from '../moderation/app-details.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import { formatLookAlike } from '../moderation/describe.ts'
import { listQueue, type QueuedApp } from '../moderation/queue.ts'
import { warningsOf } from '../moderation/warnings.ts'
import { pick, secondsSince } from '../util/helpers.ts'
import { formatAge } from '../util/time.ts'
import {
  buildListCommand,
  commandGroup,
  currentOperator,
  withDatabase,
  withFilterOptions,
  wrapNames,
} from './command.ts'
import { approve, decide, reject, reopen } from './decide.ts'
import {
  addressLine,
  changedAddressLines,
  changedFieldLine,
  detailLine,
  noValue,
  printInfo,
  printTable,
} from './output.ts'
import { writeTimeout } from './serve.ts'
import { show } from './show.ts'

const shownColumns = [
  'id',
  'revision',
  'name',
  'slug',
  'short_description',
  ...queueColumns,
  'developer_name',
  'category_slug',
  'created_at',
  'updated_at',
  'waiting_since',
] as const

const queue = buildListCommand({
  command: withFilterOptions(new Command('queue'))
    .description('list apps that wait for a decision, longest first: pending ones, or changed ones')
    .option(
      '--changed',
      'approved apps that their owners have changed since the last decision, with the changes',
    ),
  help: `
Each id is printed with the app's revision, which is new after every change,
except of reviews and counters. approve, reject and decide accept both, such as
42@k3f9a, and then refuse the app if it has changed since.

Examples:
  ./apps-service moderation queue
  ./apps-service moderation queue --changed --limit 10
  ./apps-service moderation queue --developer "Harbour Software"
  ./apps-service moderation queue --changed --category games
  ./apps-service moderation queue --json | jq '.apps[].id'

JSON: {apps, pagination: {current_page, total_pages, per_page, total}}.
An app: ${wrapNames(`{${shownColumns.join(', ')}, changes, similar, warnings, waiting_seconds}.`)}
A change: {field, before, after}; before is the value at the last decision. A
similar app: {id, name, developer_name, status, total_downloads}, an app of
another developer that is listed (approved) or pending, too. A warning is a
text. Texts are not shortened.
Without --limit, JSON has the first 10,000 apps.`,
  rows: 'apps',
  jsonLimit: 10_000,
  async find(runner, options: AppFilter & { changed?: true }, limit, offset) {
    const name = options.changed ? 'changed' : 'pending'
    const { apps, ...page } = await listQueue(runner, name, options, limit, offset)
    return {
      apps: apps.map((app) => ({
        ...pick(app, ...shownColumns),
        keywords: parseKeywords(app.keywords),
        changes: app.changes,
        similar: app.lookAlikes,
        warnings: warningsOf(app),
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
        ...app.similar.map((one) => detailLine(`similar: ${formatLookAlike(one)}`)),
        ...app.warnings.map((warning) => detailLine(`warning: ${warning}`)),
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

type Texts = Pick<QueuedApp, 'short_description'> &
  Record<(typeof queueColumns)[number], string | string[] | null>

const textLines = ({ short_description, ...texts }: Texts) => [
  ...[short_description ?? []].flat().map(detailLine),
  ...queueColumns.flatMap((field) => {
    const value = readableValue(field, texts[field])?.toString() ?? ''
    if (value === '') return []
    return [isAddressColumn(field) ? addressLine(field, value) : detailLine(`${field}: ${value}`)]
  }),
]

const changeLines = (changes: Change[]): string[] =>
  changes.length === 0
    ? ['changed and reverted']
    : changes.flatMap(({ field, before, after }) => {
        const values = [before ?? noValue, after ?? noValue] as const
        return isAddressColumn(field)
          ? changedAddressLines(field, ...values)
          : changedFieldLine(field, ...values)
      })

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
