import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Decision } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import type { OwnerColumn } from '../db/tables.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import { type AppReviewDetails, type Change, type DecisionOptions, moderationStore } from '../moderation/store.ts'
import { printEntries } from './audit.ts'
import {
  buildCommand,
  buildListCommand,
  type CommandDescription,
  currentOperator,
  detailWidth,
  parsePositiveInteger,
  print,
  printError,
  printInfo,
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
  buildListCommand({
    command: withFilterOptions(new Command('queue'))
      .description('list apps that wait for a decision, longest first: pending ones, or changed ones')
      .option('--changed', 'approved apps that their owners have changed since the last decision, with the changes'),
    examples: [
      'moderation queue',
      'moderation queue --changed --limit 10',
      'moderation queue --developer "Harbour Software"',
      'moderation queue --category games --search tide',
      "moderation queue --json | jq '.apps[].id'",
    ],
    rows: 'apps',
    json: `{apps, as_of, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, name, slug, short_description, developer_name, category_slug,
created_at, updated_at, waiting_since, waiting_seconds, changes}. A change:
{field, before, after}, before being the value at the last decision. Texts are
not shortened. as_of is for --as-of of approve and reject; null without apps.`,
    async find(connection, options: AppFilter & { changed?: true }, limit, offset) {
      const name = options.changed ? 'changed' : 'pending'
      const { apps, ...page } = await moderationStore(connection).queue(name, options, limit, offset)
      // Updates are committed one after the other, so one that is missing here is not older.
      const newest = apps
        .map(({ updated_at }) => updated_at)
        .toSorted()
        .at(-1)
      return {
        apps: apps.map(({ changes, ...app }) => ({
          ...app,
          waiting_seconds: secondsSince(app.waiting_since),
          changes,
        })),
        as_of: newest ?? null,
        ...page,
      }
    },
    print({ apps, as_of }, { changed }) {
      printTable(
        ['ID', 'NAME', 'DEVELOPER', 'CATEGORY', 'WAITED', 'UPDATED', 'IN SHORT'],
        apps.map(({ id, name, developer_name, category_slug, waiting_since, updated_at, short_description }) => {
          const ages = [age(waiting_since), age(updated_at)]
          return [id, name, developer_name, category_slug, ...ages, short_description]
        }),
        {
          shrinkable: ['NAME', 'DEVELOPER', 'CATEGORY'],
          optionalColumn: 'IN SHORT',
          details: changed ? apps.map(({ changes }) => changeLines(changes)) : [],
        },
      )
      printInfo(`As of ${as_of}, which approve and reject take as --as-of.`)
    },
  })

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

type FailedApp = { id: number; error: string }

type AppsParts<Options, Result> = CommandDescription & {
  /** Which ids the command takes. */
  ids: string
  /** Prints its result, unless `--json` is given. `position` is the number of apps before it. Returns what `--json` prints. */
  work: (database: Database, id: number, options: Options, position: number) => Promise<Result>
  toJson?: (results: (Result | FailedApp)[], args: [Id[], Options, Command]) => unknown
}

/** A command for several apps. If one fails, it prints the error, and goes on. */
const buildAppsCommand = <Options, Result>({ ids, work, ...parts }: AppsParts<Options, Result>) =>
  buildCommand<[Id[], Options, Command], (Result | FailedApp)[]>({
    ...parts,
    command: parts.command.argument(
      '<ids...>',
      `ids of ${ids}; - reads them from standard input, one per line`,
      (id: string, others: Id[] = []): Id[] => [...others, id === '-' ? id : parsePositiveInteger(id)],
    ),
    async run(given, options, command) {
      const listed = given.includes('-') ? await readIdsFromStdin(command) : []
      // Each id once, in the given order.
      const all = new Set(given.flatMap((id) => (id === '-' ? listed : id)))
      return withDatabase(async (database) => {
        const results: (Result | FailedApp)[] = []
        let position = 0
        for (const id of all) {
          try {
            results.push(await work(database, id, options, position))
            position++
          } catch (error) {
            if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
            printError(error.message)
            results.push({ id, error: error.message })
          }
        }
        return results
      })
    },
    // `work` has printed each result.
    print: () => {},
  })

/** How many history entries `show` prints. */
const historyLimit = 100

const show = () =>
  buildAppsCommand({
    command: new Command('show').description('show everything that a decision on an app may need, with its history'),
    ids: 'apps, also deleted ones',
    examples: [
      'moderation show 42',
      `moderation queue --json | jq '.apps[].id' |\n    npx apps-service moderation show -`,
    ],
    json: `an object for one id, an array for several or for -, with {id, error} for
each missing app. An app: {id, slug, name, short_description, description,
version, package_name, status, rejection_reason, deleted_at, unreviewed_since,
created_at, updated_at, approved_at, total_downloads, average_rating,
rating_count, review_count, category: {id, slug, name},
developer: as in developer list, changes: as in queue, history: the newest
${historyLimit} entries as in audit}.`,
    async work(database, id, { json }: { json?: true }, position) {
      const details = await database.snapshot((connection) =>
        moderationStore(connection).reviewDetails(id, historyLimit),
      )
      if (json) return detailsJson(details)
      if (position > 0) print(`\n${'─'.repeat(terminalWidth())}\n`)
      return printDetails(details)
    },
    toJson(results, [given]) {
      if (given.length > 1 || given[0] === '-') return results
      return results.find((result) => result && !('error' in result))
    },
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
  decisionCommand('approve', {
    command: new Command('approve').description(
      'show pending or rejected apps to everyone; accept the changes of approved ones',
    ),
    examples: ['approve 42', 'approve 42 43 --as-of 2026-01-31T09:30:00Z', 'approve -'],
  })

function reject() {
  const command: Command = new Command('reject')
    .description('reject pending apps, or take approved ones down')
    .requiredOption('--reason <text>', 'why; the owner reads it', (reason) => assertReason(reason, command))
  return decisionCommand('reject', {
    command,
    examples: ['reject 42 --reason "The link is dead."', 'reject - --reason Spam'],
  })
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

const decisionCommand = (decision: Decision, { command, examples }: { command: Command; examples: string[] }) =>
  buildAppsCommand({
    command: command.option(
      '--as-of <time>',
      'refuse apps that were updated after this time: when you looked',
      parsePastTime,
    ),
    ids: 'apps',
    about: `Each app is decided on separately: if one fails, the others are still decided
on, and the exit code is 1.`,
    examples: examples.map((example) => `moderation ${example}`),
    json: 'an array in the order of the ids: {id, slug, status}, or {id, error}.',
    async work(database, id, { json, ...options }: DecisionOptions & { json?: true }) {
      const result = await database.write((connection) =>
        moderationStore(connection).decide(decision, id, currentOperator(), options),
      )
      if (!json) print(`App ${id} (${result.slug}) is ${result.status} now.`)
      return result
    },
  })

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
