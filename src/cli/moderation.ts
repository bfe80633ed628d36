import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Decision } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import type { OwnerColumn } from '../db/tables.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import { type AppReviewDetails, type Change, moderationStore } from '../moderation/store.ts'
import { printEntries } from './audit.ts'
import {
  addListAction,
  currentOperator,
  detailWidth,
  parsePositiveInteger,
  print,
  printError,
  printInfo,
  printJson,
  printTable,
  withDatabase,
  withFilterOptions,
} from './command.ts'
import { formatDifference, sanitize, terminalWidth, toSingleLine, truncate } from './terminal-text.ts'
import { age, parsePastTime, secondsSince } from './time.ts'

export const moderationCommand = () =>
  new Command('moderation')
    .description('decide which apps the catalogue shows')
    .addCommand(queue())
    .addCommand(show())
    .addCommand(approve())
    .addCommand(reject())

const queue = () =>
  addListAction(
    withFilterOptions(new Command('queue'))
      .description('list apps that wait for a decision, longest first: pending ones, or changed ones')
      .option('--changed', 'approved apps that their owners have changed since the last decision, with the changes'),
    'apps',
    {
      help: `
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
not shortened. as_of is for --as-of of approve and reject; null without apps.`,
      async find(connection, options: AppFilter & { changed?: true }, limit, offset) {
        const name = options.changed ? 'changed' : 'pending'
        const { apps, total } = await moderationStore(connection).queue(name, options, limit, offset)
        return {
          apps: apps.map(({ changes, ...app }) => ({
            ...app,
            waiting_seconds: secondsSince(app.waiting_since),
            changes,
          })),
          // Updates are committed one after the other, so one that is missing here is not older.
          as_of:
            apps
              .map(({ updated_at }) => updated_at)
              .toSorted()
              .at(-1) ?? null,
          total,
        }
      },
      print({ apps, as_of }, { changed }) {
        printTable(
          ['ID', 'NAME', 'DEVELOPER', 'CATEGORY', 'WAITED', 'UPDATED', 'IN SHORT'],
          apps.map(({ id, name, developer_name, category_slug, waiting_since, updated_at, short_description }) => {
            const ages = [age(waiting_since), age(updated_at)]
            return [id, name, developer_name, category_slug, ...ages, short_description ?? '']
          }),
          {
            shrinkable: ['NAME', 'DEVELOPER', 'CATEGORY'],
            optionalColumn: 'IN SHORT',
            details: changed ? apps.map(({ changes }) => changeLines(changes)) : [],
          },
        )
        printInfo(`As of ${as_of}, which approve and reject take as --as-of.`)
      },
    },
  )

const noValue = '(none)'

function changeLines(changes: Change[]): string[] {
  if (changes.length === 0) return ['changed, and changed back']
  return changes.map(({ field, before, after }) => {
    const label = `${field}: `
    const width = Math.floor((detailWidth() - label.length - ' → '.length) / 2)
    return label + formatDifference(before ?? noValue, after ?? noValue, width)
  })
}

/** `-` stands for the ids on standard input. */
type Id = number | '-'

const withIds = (command: Command, which: string) =>
  command.argument(
    '<ids...>',
    `ids of ${which}; - reads them from standard input, one per line`,
    (id: string, ids: Id[] = []): Id[] => [...ids, id === '-' ? id : parsePositiveInteger(id)],
  )

/** How many history entries `show` prints. */
const historyLimit = 100

const show = () =>
  withIds(new Command('show'), 'apps, also deleted ones')
    .description('show everything that a decision on an app may need, with its history')
    .option('--json', 'print one JSON object, or an array of several')
    .addHelpText(
      'after',
      `
Examples:
  npx apps-service moderation show 42
  npx apps-service moderation queue --json | jq '.apps[].id' |
    npx apps-service moderation show -

JSON: an object for one id, an array for several or for -, with {id, error} for
each missing app. An app: {id, slug, name, short_description, description,
version, package_name, status, rejection_reason, deleted_at, unreviewed_since,
created_at, updated_at, approved_at, total_downloads, average_rating,
rating_count, review_count, category: {id, slug, name},
developer: as in developer list, changes: as in queue, history: the newest
${historyLimit} entries as in audit}.`,
    )
    .action(async (given: Id[], { json }: { json?: true }, command: Command) => {
      let shown = 0
      const results = await forEachApp(await expandIds(given, command), async (database, id) => {
        const details = await database.snapshot((connection) =>
          moderationStore(connection).reviewDetails(id, historyLimit),
        )
        if (json) return detailsJson(details)
        if (shown++ > 0) print(`\n${'─'.repeat(terminalWidth())}\n`)
        return printDetails(details)
      })
      if (!json) return
      const [only] = results
      if (given.length > 1 || given[0] === '-') printJson(results)
      else if (only && !('error' in only)) printJson(only)
    })

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
  const states = Object.entries(developer.apps).map(([state, count]) => `${count} ${state}`)
  const rows: LabelledValue[] = [
    ['App', `${app.id} (${app.slug})`],
    ['Status', app.status + (app.deleted_at ? `, deleted at ${app.deleted_at}` : '')],
    ['Reason', app.rejection_reason],
    ['Changed since', app.unreviewed_since],
    ...Object.values(own),
    ['Developer', `${developer.name}: ${states.join(', ')}`],
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
  printEntries(history, false)
  if (hasOlderHistory) printInfo(`The newest ${historyLimit} entries; audit --app ${app.id} --limit shows more.`)
}

const prefixLines = (prefix: string, text: string | null) => sanitize(text ?? noValue).replace(/^/gm, prefix)

const approve = () =>
  decisionCommand(new Command('approve'), 'approve', [
    'approve 42',
    'approve 42 43 --as-of 2026-01-31T09:30:00Z',
    'approve -',
  ]).description('show pending or rejected apps to everyone; accept the changes of approved ones')

function reject() {
  const command = new Command('reject')
  command
    .description('reject pending apps, or take approved ones down')
    .requiredOption('--reason <text>', 'why; the owner reads it', (reason) => assertReason(reason, command))
  return decisionCommand(command, 'reject', ['reject 42 --reason "The link is dead."', 'reject - --reason Spam'])
}

/** Unlike an error about an app, a bad reason is a usage error. */
function assertReason(reason: string, command: Command): string {
  try {
    parseReason(reason)
    return reason
  } catch (error) {
    if (error instanceof OperatorError) command.error(`error: ${error.message}`)
    throw error
  }
}

type DecisionOptions = { reason?: string; asOf?: string; json?: true }

const decisionCommand = (command: Command, decision: Decision, examples: string[]) =>
  withIds(command, 'apps')
    .option('--as-of <time>', 'refuse apps that were updated after this time: when you looked', parsePastTime)
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      `
Each app is decided on separately: if one fails, the others are still decided
on, and the exit code is 1.

Examples:
${examples.map((example) => `  npx apps-service moderation ${example}`).join('\n')}

JSON: an array in the order of the ids: {id, slug, status}, or {id, error}.`,
    )
    .action(async (given: Id[], options: DecisionOptions) => {
      const results = await forEachApp(await expandIds(given, command), async (database, id) => {
        const result = await database.write((connection) =>
          moderationStore(connection).decide(decision, id, currentOperator(), options),
        )
        if (!options.json) print(`App ${result.id} (${result.slug}) is ${result.status} now.`)
        return result
      })
      if (options.json) printJson(results)
    })

/** Does the work for each app. If one fails, prints the error, returns it with the results, and goes on. */
async function forEachApp<Result>(
  ids: Set<number>,
  work: (database: Database, id: number) => Promise<Result>,
): Promise<(Result | { id: number; error: string })[]> {
  const results: (Result | { id: number; error: string })[] = []
  await withDatabase(async (database) => {
    for (const id of ids) {
      try {
        results.push(await work(database, id))
      } catch (error) {
        if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
        printError(error.message)
        results.push({ id, error: error.message })
      }
    }
  })
  return results
}

/** Each id once, in the given order. */
async function expandIds(given: Id[], command: Command): Promise<Set<number>> {
  const listed = given.includes('-') ? await readIdsFromStdin(command) : []
  return new Set(given.flatMap((id) => (id === '-' ? listed : id)))
}

/** How many bad lines an error names. */
const maxNamedLines = 10

/** Fails if any line is not an id: it may be the wrong list. */
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
