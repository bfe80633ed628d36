import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Decision } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { OwnerColumn } from '../db/tables.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import {
  type AppReviewDetails,
  type Change,
  type DecisionResult,
  moderationStore,
  type QueueEntry,
} from '../moderation/store.ts'
import { printHistory } from './audit.ts'
import {
  currentOperator,
  detailWidth,
  type PageOptions,
  pageOffset,
  parsePositiveInteger,
  print,
  printDetailedTable,
  printError,
  printInfo,
  printJson,
  printPage,
  withDatabase,
  withFilterOptions,
  withPageOptions,
} from './command.ts'
import { countsText } from './developer.ts'
import { formatDifference, sanitize, terminalWidth, toSingleLine, truncate } from './terminal-text.ts'
import { age, parsePastTime, secondsSince } from './time.ts'

export const moderationCommand = () =>
  new Command('moderation')
    .description('decide which apps the catalogue shows')
    .addCommand(
      withPageOptions(withFilterOptions(new Command('queue')))
        .description('list what waits for a decision, longest first: pending apps, or approved ones with changes')
        .option('--changed', 'approved apps that their owners have changed since, with what has changed')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Examples:
  npx apps-service moderation queue
  npx apps-service moderation queue --changed --limit 10
  npx apps-service moderation queue --developer "Harbour Software"
  npx apps-service moderation queue --category games --search tide
  npx apps-service moderation queue --json | jq '.apps[].id'

JSON: {apps, as_of, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, name, slug, short_description, developer_name, category_slug,
created_at, updated_at, waiting_since, waiting_seconds, changes}. A change:
{field, before, after}, before being the value at the last decision. Texts are
whole. as_of is what approve and reject take as --as-of, null without apps.`,
        )
        .action(queue),
    )
    .addCommand(
      new Command('show')
        .description('show all that decisions on apps may need, with their history')
        .argument('<ids...>', `ids of apps, deleted or not; ${stdinHelp}`, collectId)
        .option('--json', 'print one JSON object, or an array of several')
        .addHelpText(
          'after',
          `
Examples:
  npx apps-service moderation show 42
  npx apps-service moderation queue --json | jq '.apps[].id' |
    npx apps-service moderation show -

JSON: of one id an object, of several or of - an array of such, and {id, error}
where there is no such app. An app: {id, slug, name, short_description,
description, version, package_name, status, rejection_reason, deleted_at,
unreviewed_since, created_at, updated_at, approved_at, total_downloads,
average_rating, rating_count, review_count, category: {id, slug, name},
developer: as in developer list, changes: as in queue, history: the newest
${historyLimit} entries as in audit}.`,
        )
        .action(show),
    )
    .addCommand(
      decisionCommand('approve')
        .description(
          'show pending or rejected apps to everyone, at once; of an approved one, accept what its owner has changed',
        )
        .addHelpText('after', decisionHelp('approve 42', 'approve 42 43 --as-of 2026-01-31T09:30:00Z', 'approve -'))
        .action((ids: Id[], options: DecideOptions, command: Command) => decide('approve', ids, options, command)),
    )
    .addCommand(
      decisionCommand('reject')
        .description('refuse pending apps, or take approved ones down, at once')
        .requiredOption('--reason <text>', 'why; the owner reads it')
        .addHelpText('after', decisionHelp('reject 42 --reason "The link is dead."', 'reject - --reason Spam'))
        .action((ids: Id[], options: DecideOptions, command: Command) => {
          assertReason(options.reason ?? '', command)
          return decide('reject', ids, options, command)
        }),
    )

/** `-` stands for the ids on standard input. */
type Id = number | '-'
type DecideOptions = { reason?: string; asOf?: string; json?: true }

const historyLimit = 100

const stdinHelp = '- reads them from standard input, one a line'
const collectId = (id: string, ids: Id[] = []): Id[] => [...ids, id === '-' ? id : parsePositiveInteger(id)]

const decisionCommand = (decision: Decision) =>
  new Command(decision)
    .argument('<ids...>', `ids of apps; ${stdinHelp}`, collectId)
    .option('--as-of <time>', 'refuse apps that were updated after this time: when you looked', parsePastTime)
    .option('--json', 'print a JSON array')

const decisionHelp = (...examples: string[]) => `
Each app is decided on by itself: where one is refused, the others are done
nevertheless, and the exit code is 1.

Examples:
${examples.map((example) => `  npx apps-service moderation ${example}`).join('\n')}

JSON: an array in the order of the ids: {id, slug, status}, or {id, error}.`

async function queue(options: PageOptions & AppFilter & { changed?: true }) {
  const name = options.changed ? 'changed' : 'pending'
  const { apps, total } = await withDatabase((database) =>
    database.snapshot((connection) =>
      moderationStore(connection).queue(name, options, options.limit, pageOffset(options)),
    ),
  )
  const rows = apps.map(({ changes, ...app }) => ({
    ...app,
    waiting_seconds: secondsSince(app.waiting_since),
    changes,
  }))
  const as_of = newestUpdate(apps)
  printPage('apps', { rows, total, extra: { as_of } }, options, (entries) => {
    printQueue(entries, options.changed === true)
    printInfo(`As of ${as_of}, which approve and reject take as --as-of.`)
  })
}

/** An update that is missing among these is no older than the newest: the database takes one after the other. */
const newestUpdate = (apps: QueueEntry[]): string | null =>
  apps.reduce<string | null>((newest, { updated_at }) => (newest && newest > updated_at ? newest : updated_at), null)

function printQueue(entries: QueueEntry[], withChanges: boolean) {
  printDetailedTable(
    ['ID', 'NAME', 'DEVELOPER', 'CATEGORY', 'WAITED', 'UPDATED', 'IN SHORT'],
    entries.map(
      ({ id, name, developer_name, category_slug, waiting_since, updated_at, short_description, changes }) => ({
        cells: [id, name, developer_name, category_slug, age(waiting_since), age(updated_at), short_description ?? ''],
        details: withChanges ? changeLines(changes) : [],
      }),
    ),
    ['NAME', 'DEVELOPER', 'CATEGORY'],
    'IN SHORT',
  )
}

function changeLines(changes: Change[]): string[] {
  if (changes.length === 0) return ['changed, and changed back']
  return changes.map(({ field, before, after }) => {
    const label = `${field}: `
    const width = Math.floor((detailWidth() - label.length - ' → '.length) / 2)
    return label + formatDifference(before ?? noValue, after ?? noValue, width)
  })
}

const noValue = '(none)'

async function show(given: Id[], options: { json?: true }, command: Command) {
  const ids = await expandIds(given, command)
  const results: (AppReviewDetails | FailedApp)[] = []
  await withDatabase(async (database) => {
    for (const id of ids) {
      const details = await orFailed(
        id,
        database.snapshot((connection) => moderationStore(connection).reviewDetails(id, historyLimit)),
      )
      results.push(details)
      if ('error' in details) printError(details.error)
      else if (!options.json) {
        if (results.length > 1) print(`\n${'─'.repeat(terminalWidth())}\n`)
        printDetails(details)
      }
    }
  })
  if (!options.json) return
  const values = results.map((details) => ('error' in details ? details : detailsJson(details)))
  const [only] = values
  if (given.length > 1 || given[0] === '-') printJson(values)
  else if (only && !('error' in only)) printJson(only)
}

function detailsJson({ app, developer, changes, history }: AppReviewDetails) {
  const { developer_id, developer_name, category_id, category_slug, category_name, package_key, reviews, ...kept } = app
  const { changed_at, unreviewed_changes, rating_sum, weighted_rating, other_rating_sum, other_rating_count, ...own } =
    kept
  const category = { id: category_id, slug: category_slug, name: category_name }
  return { ...own, category, developer, changes, history }
}

type LabelledValue = [label: string, value: string | null]

function printDetails({ app, developer, changes, history, hasOlderHistory }: AppReviewDetails) {
  const {
    short_description,
    ...own
  }: Record<Exclude<OwnerColumn, 'description'>, LabelledValue> = {
    name: ['Name', app.name],
    version: ['Version', app.version],
    package_name: ['Package name', app.package_name],
    category_id: ['Category', `${app.category_name} (${app.category_slug})`],
    short_description: ['In short', app.short_description],
  }
  const rows: LabelledValue[] = [
    ['App', `${app.id} (${app.slug})`],
    ['Status', app.status + (app.deleted_at ? `, deleted at ${app.deleted_at}` : '')],
    ['Reason', app.rejection_reason],
    ['Changed since', app.unreviewed_since],
    ...Object.values(own),
    ['Developer', `${developer.name}: ${countsText(developer.apps)}`],
    ['Downloads', String(app.total_downloads)],
    ['Ratings', app.rating_count === 0 ? 'none' : `${app.rating_count}, ${app.average_rating} on average`],
    ['Reviews', String(app.review_count)],
    ['Created', app.created_at],
    ['First approved', app.approved_at],
    ['Updated', app.updated_at],
    short_description,
  ]
  for (const [label, value] of rows) if (value !== null) print(`${label.padEnd(16)}${toSingleLine(value)}`)
  print(`\n${sanitize(app.description)}`)
  if (changes.length > 0) print('\nChanged since the last decision')
  for (const { field, before, after } of changes) {
    print(`\n  ${field}\n${prefixLines('  - ', before)}\n${prefixLines('  + ', after)}`)
  }
  print('\nHistory\n')
  printHistory(history)
  if (hasOlderHistory) printInfo(`The newest ${historyLimit} entries; audit --app ${app.id} --limit shows more.`)
}

const prefixLines = (prefix: string, text: string | null) =>
  sanitize(text ?? noValue)
    .split('\n')
    .map((line) => prefix + line)
    .join('\n')

/** What is wrong with the reason is wrong with the command, whatever the apps are. */
function assertReason(reason: string, command: Command) {
  try {
    parseReason(reason)
  } catch (error) {
    if (error instanceof OperatorError) command.error(`error: ${error.message}`)
    throw error
  }
}

async function decide(decision: Decision, given: Id[], options: DecideOptions, command: Command) {
  const results: (DecisionResult | FailedApp)[] = []
  const ids = await expandIds(given, command)
  await withDatabase(async (database) => {
    for (const id of ids) {
      const result = await orFailed(
        id,
        database.write((connection) => moderationStore(connection).decide(decision, id, currentOperator(), options)),
      )
      results.push(result)
      if ('error' in result) printError(result.error)
      else if (!options.json) print(`App ${result.id} (${result.slug}) is ${result.status} now.`)
    }
  })
  if (options.json) printJson(results)
}

/** An app that could not be shown or decided on; the others are. */
type FailedApp = { id: number; error: string }

const orFailed = <T>(id: number, done: Promise<T>): Promise<T | FailedApp> =>
  done.catch((error: unknown) => {
    if (error instanceof OperatorError || error instanceof ServiceError) return { id, error: error.message }
    throw error
  })

/** Each once, in order. */
async function expandIds(given: Id[], command: Command): Promise<Set<number>> {
  const listed = given.includes('-') ? await readIdsFromStdin(command) : []
  return new Set(given.flatMap((id) => (id === '-' ? listed : id)))
}

/** How many bad lines are named. */
const maxNamedLines = 10

/** Nothing is done where a line is not an id: the list may be another one than was meant. */
async function readIdsFromStdin(command: Command): Promise<number[]> {
  const lines = (await text(process.stdin)).split('\n').map((line, index) => ({ number: index + 1, text: line.trim() }))
  const filled = lines.filter((line) => line.text !== '')
  const bad = filled.filter((line) => !/^[1-9]\d{0,14}$/.test(line.text))
  if (bad.length > 0) {
    const named = bad
      .slice(0, maxNamedLines)
      .map((line) => `line ${line.number} (${truncate(toSingleLine(line.text), 40)})`)
    const more = bad.length > maxNamedLines ? ` and ${bad.length - maxNamedLines} more` : ''
    command.error(`error: standard input has lines that are not ids: ${named.join(', ')}${more}`)
  }
  return filled.map((line) => Number(line.text))
}
