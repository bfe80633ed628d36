import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Decision } from '../catalogue/policy.ts'
import { OperatorError, ServiceError } from '../contract/errors.ts'
import { parseReason } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import type { AppFilter } from '../moderation/app-filter.ts'
import type { SimilarApp } from '../moderation/similar-names.ts'
import {
  type AppReviewDetails,
  type Change,
  type DecisionOptions,
  type DecisionResult,
  moderationStore,
} from '../moderation/store.ts'
import { printEntries } from './audit.ts'
import {
  buildCommand,
  buildListCommand,
  type CommandDescription,
  commandGroup,
  currentOperator,
  failUsage,
  parsePositiveInteger,
  print,
  printError,
  printFields,
  printInfo,
  printTable,
  withDatabase,
  withFilterOptions,
} from './command.ts'
import { type FileDecision, readDecisions } from './decision-file.ts'
import {
  detailWidth,
  formatCount,
  formatDifference,
  sanitize,
  terminalWidth,
  toSingleLine,
  truncate,
} from './terminal-text.ts'
import { age, parsePastTime, secondsSince } from './time.ts'

export const moderationCommand = () =>
  commandGroup('moderation', 'decide which apps the catalogue shows', [queue(), show(), approve(), reject(), decide()])

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
    jsonLimit: 10_000,
    json: `An app: {id, name, slug, short_description, developer_name, category_slug,
created_at, updated_at, waiting_since, changes, similar, waiting_seconds}. A
change: {field, before, after}, before being the value at the last decision.
A similar app: {id, name, developer_name, total_downloads}, listed, of another
developer, with a name that this one could be taken for. Texts are not
shortened. There is also {as_of}, for --as-of of approve and reject; null
without apps. Without --limit, JSON has the first 10,000 apps.`,
    async find(connection, options: AppFilter & { changed?: true }, limit, offset) {
      const name = options.changed ? 'changed' : 'pending'
      const { apps, ...page } = await moderationStore(connection).queue(name, options, limit, offset)
      // Updates are committed one after the other, so one that is missing here is not older.
      const updates = apps.map(({ updated_at }) => updated_at).toSorted()
      return {
        apps: apps.map((app) => ({ ...app, waiting_seconds: secondsSince(app.waiting_since) })),
        as_of: updates.at(-1) ?? null,
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
          details: apps.map(({ similar, changes }) => [
            ...similar.map((app) => truncate(`similar: ${formatSimilar(app)}`, detailWidth())),
            ...(changed ? changeLines(changes) : []),
          ]),
        },
      )
      printInfo(`As of ${as_of}, which approve and reject take as --as-of.`)
    },
  })

const formatSimilar = ({ id, name, developer_name, total_downloads }: SimilarApp) =>
  toSingleLine(`${id} ${name} by ${developer_name}, ${formatCount(total_downloads)} downloads`)

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
  run: (database: Database, id: number, options: Options) => Promise<Result>
  toJson?: (results: (Result | FailedApp)[], args: [Id[], Options]) => unknown
  /** Prints the result for people. `index` is the number of ids before its own. */
  print: (result: NoInfer<Result>, index: number) => void
}

/** A command for several apps. If one fails, it prints the error, and goes on. */
const buildAppsCommand = <Options extends { json?: true }, Result>(parts: AppsParts<Options, Result>) =>
  buildCommand<[Id[], Options], (Result | FailedApp)[]>({
    ...parts,
    command: parts.command.argument(
      '<ids...>',
      `ids of ${parts.ids}; - reads them from standard input, one per line`,
      (id: string, others: Id[] = []): Id[] => [...others, id === '-' ? id : parsePositiveInteger(id)],
    ),
    async run(given, options) {
      const listed = given.includes('-') ? await readIdsFromStdin() : []
      // Each id once, in the given order.
      const ids = [...new Set(given.flatMap((id) => (id === '-' ? listed : id)))]
      const items = ids.map((id) => ({ id }))
      return runForEach(items, (database, { id }) => parts.run(database, id, options), options.json, parts.print)
    },
    // `run` has printed each result.
    print: () => {},
  })

/** Runs the work for each app and prints its result, or with `json` returns the results. If one fails, prints the error, and goes on. */
const runForEach = <Item extends { id: number }, Result>(
  items: Item[],
  run: (database: Database, item: Item) => Promise<Result>,
  json: true | undefined,
  print: (result: NoInfer<Result>, index: number) => void,
): Promise<(Result | FailedApp)[]> =>
  withDatabase(async (database) => {
    const results: (Result | FailedApp)[] = []
    for (const [index, item] of items.entries()) {
      try {
        const result = await run(database, item)
        if (json) results.push(result)
        else print(result, index)
      } catch (error) {
        if (!(error instanceof OperatorError || error instanceof ServiceError)) throw error
        printError(error.message)
        results.push({ id: item.id, error: error.message })
      }
    }
    return results
  })

/** How many bad lines an error names. */
const maxNamedLines = 10

/** Throws if any line is not an id: it may be the wrong list. */
async function readIdsFromStdin(): Promise<number[]> {
  const lines = (await text(process.stdin)).split('\n').map((line) => line.trim())
  const bad = lines.flatMap((line, index) =>
    /^([1-9]\d{0,14})?$/.test(line) ? [] : `line ${index + 1} (${truncate(toSingleLine(line), 40)})`,
  )
  if (bad.length > 0) {
    const more = bad.length > maxNamedLines ? ` and ${bad.length - maxNamedLines} more` : ''
    failUsage(`standard input has lines that are not ids: ${bad.slice(0, maxNamedLines).join(', ')}${more}`)
  }
  return lines.filter((line) => line !== '').map(Number)
}

/** How many history entries `show` prints. */
const historyLimit = 100

const show = () =>
  buildAppsCommand({
    command: new Command('show').description('show everything that a decision on an app may need, with its history'),
    ids: 'apps, also deleted ones',
    examples: [
      'moderation show 42',
      `moderation queue --json | jq '.apps[].id' |\n    ./apps-service moderation show -`,
    ],
    json: `an object for one id, an array for several or for -, with {id, error} for
each missing app. An app: {id, slug, name, short_description, description,
version, package_name, status, rejection_reason, deleted_at, unreviewed_since,
created_at, updated_at, approved_at, total_downloads, average_rating,
rating_count, review_count, category: {id, slug, name},
developer: as in developer list, similar: as in queue, changes: as in queue,
history: the newest
${historyLimit} entries as in audit}.`,
    run: (database, id) =>
      database.snapshot((connection) => moderationStore(connection).reviewDetails(id, historyLimit)),
    toJson(results, [given]) {
      const apps = results.map((result) => ('error' in result ? result : detailsJson(result)))
      if (given.length > 1 || given[0] === '-') return apps
      return apps.find((app) => !('error' in app))
    },
    print(details, index) {
      if (index > 0) print(`\n${'─'.repeat(terminalWidth())}\n`)
      printDetails(details)
    },
  })

function detailsJson({ app, developer, similar, changes, history }: AppReviewDetails) {
  const { developer_id, developer_name, category_id, category_slug, category_name, package_key, reviews, ...kept } = app
  const { changed_at, unreviewed_changes, rating_sum, weighted_rating, other_rating_sum, other_rating_count, ...own } =
    kept
  const category = { id: category_id, slug: category_slug, name: category_name }
  return { ...own, category, developer, similar, changes, history }
}

function printDetails({ app, developer, similar, changes, history, hasOlderHistory }: AppReviewDetails) {
  const states = Object.entries(developer.apps).map(([state, count]) => `${count} ${state}`)
  printFields({
    App: `${app.id} (${app.slug})`,
    Status: app.status + (app.deleted_at ? `, deleted at ${app.deleted_at}` : ''),
    Reason: app.rejection_reason,
    'Changed since': app.unreviewed_since,
    Name: app.name,
    Version: app.version,
    'Package name': app.package_name,
    Category: `${app.category_name} (${app.category_slug})`,
    Developer: `${developer.name}: ${states.join(', ')}`,
    Downloads: app.total_downloads,
    Ratings: app.rating_count === 0 ? 'none' : `${app.rating_count}, ${app.average_rating} on average`,
    Reviews: app.review_count,
    Created: app.created_at,
    'First approved': app.approved_at,
    Updated: app.updated_at,
    'In short': app.short_description,
  })
  for (const one of similar) printFields({ Similar: formatSimilar(one) })
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
  decisionCommand(
    'approve',
    new Command('approve').description(
      'show pending or rejected apps to everyone; accept the changes of approved ones',
    ),
    ['approve 42', 'approve 42 43 --as-of 2026-01-31T09:30:00Z', 'approve -'],
  )

const reject = () =>
  decisionCommand(
    'reject',
    new Command('reject')
      .description('reject pending apps, or take approved ones down')
      .requiredOption('--reason <text>', 'why; the owner reads it', checkReason),
    ['reject 42 --reason "The link is dead."', 'reject - --reason Spam'],
  )

/** Unlike an error about an app, a bad reason is a usage error. */
function checkReason(reason: string): string {
  try {
    return parseReason(reason)
  } catch (error) {
    if (error instanceof OperatorError) failUsage(error.message)
    throw error
  }
}

const decisionCommand = (decision: Decision, command: Command, examples: string[]) =>
  buildAppsCommand({
    command: command.option('--as-of <time>', 'refuse apps that were updated after this time', parsePastTime),
    ids: 'apps',
    about: 'Each app is decided separately. If one fails, the others are not affected, and\nthe exit code is 1.',
    examples: examples.map((example) => `moderation ${example}`),
    json: 'an array in the order of the ids: {id, slug, status}, or {id, error}.',
    run: (database, id, { reason, asOf }: DecisionOptions & { json?: true }) =>
      writeDecision(database, decision, id, { reason, asOf }),
    print: (result) => printDecision(result),
  })

async function writeDecision(
  database: Database,
  decision: Decision,
  id: number,
  options: DecisionOptions,
): Promise<DecisionResult> {
  const { wasListed, ...result } = await database.write(
    (connection) => moderationStore(connection).decide(decision, id, currentOperator(), options),
    { changesPublicData: ({ wasListed, status }) => !options.dryRun && (wasListed || status === 'approved') },
  )
  return result
}

const printDecision = ({ id, slug, status }: DecisionResult) => print(`App ${id} (${slug}) is ${status} now.`)

const decide = () =>
  buildCommand({
    command: new Command('decide')
      .description('approve and reject apps as a file says')
      .argument('<file>', 'CSV whose header is id,decision,reason, or NDJSON with these fields')
      .option('--dry-run', 'only check the decisions, and list those that would be refused')
      .option('--as-of <time>', 'refuse apps that were updated after this time', parsePastTime),
    about: `A decision is approve or reject; reject needs a reason. If a row is not valid,
nothing is decided. Then each app is decided separately. If one fails, the
others are not affected, and the exit code is 1.`,
    examples: ['moderation decide decisions.csv --dry-run', 'moderation decide decisions.csv'],
    json: 'an array in the order of the file: {id, slug, status}, or {id, error}.',
    run: async (file: string, { dryRun, asOf, json }: DecisionOptions & { json?: true }) =>
      runForEach<FileDecision, DecisionResult>(
        await readDecisions(file),
        (database, { decision, id, reason }) => writeDecision(database, decision, id, { reason, asOf, dryRun }),
        json,
        dryRun ? ({ id, slug, status }) => print(`App ${id} (${slug}) would be ${status}.`) : printDecision,
      ),
    print: () => {},
  })
