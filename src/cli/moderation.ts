import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import type { Decision } from '../apps/policy.ts'
import type { OwnersColumn } from '../db/tables.ts'
import { Refusal, ServiceError } from '../errors.ts'
import { type Change, type Dossier, moderationStore, type Outcome, type QueueEntry } from '../moderation/store.ts'
import { printHistory } from './audit.ts'
import {
  complain,
  detailWidth,
  note,
  offsetOf,
  operator,
  type PageOptions,
  paged,
  print,
  printDetailedTable,
  printJson,
  printPage,
  wholeNumber,
  withDatabase,
} from './command.ts'
import { countsText } from './developer.ts'
import { cut, difference, oneLine, safe } from './text.ts'
import { age, pastTime, secondsSince } from './time.ts'

export const moderationCommand = () =>
  new Command('moderation')
    .description('decide which apps the catalogue shows')
    .addCommand(
      paged(new Command('queue'))
        .description('list what waits for a decision, longest first: pending apps, or approved ones with changes')
        .option('--changed', 'approved apps that their owners have changed since, with what has changed')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Examples:
  npx apps-service moderation queue
  npx apps-service moderation queue --changed --limit 10
  npx apps-service moderation queue --json | jq '.apps[].id'

JSON: {apps, pagination: {current_page, total_pages, per_page, total}}.
An app: {id, name, slug, developer_name, category_slug, created_at, updated_at,
waiting_since, waiting_seconds, changes}. A change: {field, before, after},
before being the value at the last decision. Texts are whole.`,
        )
        .action(queue),
    )
    .addCommand(
      new Command('show')
        .description('show all that a decision on an app may need, with its history')
        .argument('<id>', 'id of the app, deleted or not', wholeNumber)
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service moderation show 42

JSON: {id, slug, name, short_description, description, version, package_name,
status, rejection_reason, deleted_at, unreviewed_since, created_at, updated_at,
approved_at, total_downloads, average_rating, review_count, category: {id, slug,
name}, developer: as in developer list, changes: as in queue, history: as in
audit, the newest ${historyLimit} entries}.`,
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
        .action((ids: Id[], options: DecideOptions, command: Command) => decide('reject', ids, options, command)),
    )

/** `-` stands for the ids on standard input. */
type Id = number | '-'
type DecideOptions = { reason?: string; asOf?: string; json?: true }

const historyLimit = 100

const decisionCommand = (decision: Decision) =>
  new Command(decision)
    .argument('<ids...>', 'ids of apps; - reads them from standard input, one a line', (id: string, ids: Id[] = []) => [
      ...ids,
      id === '-' ? id : wholeNumber(id),
    ])
    .option('--as-of <time>', 'refuse apps that were updated after this time: when you looked', pastTime)
    .option('--json', 'print a JSON array')

const decisionHelp = (...examples: string[]) => `
Each app is decided on by itself: where one is refused, the others are done
nevertheless, and the exit code is 1.

Examples:
${examples.map((example) => `  npx apps-service moderation ${example}`).join('\n')}

JSON: an array in the order of the ids: {id, slug, status}, or {id, error}.`

async function queue(options: PageOptions & { changed?: true }) {
  const { apps, total } = await withDatabase((database) =>
    database.snapshot((connection) =>
      moderationStore(connection).queue(options.changed ? 'changed' : 'pending', options.limit, offsetOf(options)),
    ),
  )
  const rows = apps.map(({ changes, ...app }) => ({
    ...app,
    waiting_seconds: secondsSince(app.waiting_since),
    changes,
  }))
  printPage('apps', { rows, total }, options, (entries) => printQueue(entries, options.changed === true))
}

function printQueue(entries: QueueEntry[], withChanges: boolean) {
  printDetailedTable(
    ['ID', 'NAME', 'DEVELOPER', 'CATEGORY', 'WAITED', 'UPDATED'],
    entries.map(({ id, name, developer_name, category_slug, waiting_since, updated_at, changes }) => ({
      cells: [id, name, developer_name, category_slug, age(waiting_since), age(updated_at)],
      details: withChanges ? changeLines(changes) : [],
    })),
    ['NAME', 'DEVELOPER', 'CATEGORY'],
  )
  // An update that is missing here is no older than the newest: the database takes one after the other.
  const newest = entries.map(({ updated_at }) => updated_at).reduce((a, b) => (a > b ? a : b))
  note(`As of ${newest}, which approve and reject take as --as-of.`)
}

function changeLines(changes: Change[]): string[] {
  if (changes.length === 0) return ['changed, and changed back']
  return changes.map(({ field, before, after }) => {
    const label = `${field}: `
    const width = Math.floor((detailWidth() - label.length - ' → '.length) / 2)
    return label + difference(before ?? nothing, after ?? nothing, width)
  })
}

const nothing = '(none)'

async function show(id: number, options: { json?: true }) {
  const dossier = await withDatabase((database) =>
    database.snapshot((connection) => moderationStore(connection).dossier(id, historyLimit)),
  )
  if (options.json) return printJson(dossierJson(dossier))
  printDossier(dossier)
}

function dossierJson({ app, developer, changes, history }: Dossier) {
  const { developer_id, developer_name, category_id, category_slug, category_name, package_key, reviews, ...own } = app
  const category = { id: category_id, slug: category_slug, name: category_name }
  return { ...own, category, developer, changes, history }
}

type Fact = [label: string, value: string | null]

function printDossier({ app, developer, changes, history, hasOlderHistory }: Dossier) {
  const {
    short_description,
    ...own
  }: Record<Exclude<OwnersColumn, 'description'>, Fact> = {
    name: ['Name', app.name],
    version: ['Version', app.version],
    package_name: ['Package name', app.package_name],
    category_id: ['Category', `${app.category_name} (${app.category_slug})`],
    short_description: ['In short', app.short_description],
  }
  const facts: Fact[] = [
    ['App', `${app.id} (${app.slug})`],
    ['Status', app.status + (app.deleted_at ? `, deleted at ${app.deleted_at}` : '')],
    ['Reason', app.rejection_reason],
    ['Changed since', app.unreviewed_since],
    ...Object.values(own),
    ['Developer', `${developer.name}: ${countsText(developer.apps)}`],
    ['Downloads', String(app.total_downloads)],
    ['Reviews', app.review_count === 0 ? 'none' : `${app.review_count}, ${app.average_rating} on average`],
    ['Created', app.created_at],
    ['First approved', app.approved_at],
    ['Updated', app.updated_at],
    short_description,
  ]
  for (const [label, value] of facts) if (value !== null) print(`${label.padEnd(16)}${oneLine(value)}`)
  print(`\n${safe(app.description)}`)
  if (changes.length > 0) print('\nChanged since the last decision')
  for (const { field, before, after } of changes) {
    print(`\n  ${field}\n${prefixed('  - ', before)}\n${prefixed('  + ', after)}`)
  }
  print('\nHistory\n')
  printHistory(history)
  if (hasOlderHistory) note(`The newest ${historyLimit} entries; audit --app ${app.id} --limit shows more.`)
}

const prefixed = (prefix: string, text: string | null) =>
  safe(text ?? nothing)
    .split('\n')
    .map((line) => prefix + line)
    .join('\n')

async function decide(decision: Decision, given: Id[], options: DecideOptions, command: Command) {
  const listed = given.includes('-') ? await idsFromInput(command) : []
  const ids = new Set(given.flatMap((id) => (id === '-' ? listed : id)))
  const results: (Outcome | { id: number; error: string })[] = []
  await withDatabase(async (database) => {
    for (const id of ids) {
      const result = await database
        .write((connection) => moderationStore(connection).decide(decision, id, operator(), options))
        .catch((error: unknown) => {
          if (error instanceof Refusal || error instanceof ServiceError) return { id, error: error.message }
          throw error
        })
      results.push(result)
      if ('error' in result) complain(result.error)
      else if (!options.json) print(`App ${result.id} (${result.slug}) is ${result.status} now.`)
    }
  })
  if (options.json) printJson(results)
}

/** How many bad lines are named. */
const namedLines = 10

/** Nothing is done where a line is not an id: the list may be another one than was meant. */
async function idsFromInput(command: Command): Promise<number[]> {
  const lines = (await text(process.stdin)).split('\n').map((line, index) => ({ number: index + 1, text: line.trim() }))
  const filled = lines.filter((line) => line.text !== '')
  const bad = filled.filter((line) => !/^[1-9]\d{0,14}$/.test(line.text))
  if (bad.length > 0) {
    const named = bad.slice(0, namedLines).map((line) => `line ${line.number} (${cut(oneLine(line.text), 40)})`)
    const more = bad.length > namedLines ? ` and ${bad.length - namedLines} more` : ''
    command.error(`error: standard input has lines that are not ids: ${named.join(', ')}${more}`)
  }
  return filled.map((line) => Number(line.text))
}
