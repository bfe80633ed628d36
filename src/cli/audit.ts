import { Command, InvalidArgumentError, Option } from 'commander'
import type { AuditEntry } from '../audit/read-entries.ts'
import { isAddressColumn } from '../catalogue/app-columns.ts'
import { actorOf, changesOf, type EntryChange, subjectOf } from '../moderation/describe-entry.ts'
import { type EntryFilter, findEntries, findEntriesAfter } from '../moderation/entries.ts'
import { toSingleLine } from '../util/text.ts'
import { formatMinute } from '../util/time.ts'
import { buildDatabaseCommand, parsePositiveInteger } from './command.ts'
import {
  addressLine,
  changedAddressLines,
  detailLine,
  formatDifference,
  printInfo,
  printTable,
  truncate,
} from './output.ts'
import { parsePastTime } from './time.ts'

export const command = buildDatabaseCommand({
  command: new Command('audit')
    .description(
      'list who changed which apps, developers, keys and categories: the newest entries, oldest first',
    )
    .option('--app <id>', 'only entries about this app', parsePositiveInteger)
    .option('--developer <name>', 'only entries about this developer, their keys and their apps')
    .option('--moderator <name>', 'only what this moderator did on the moderation page')
    .option(
      '--until <time>',
      'begin before this time, in UTC: 30d, 12h, 2026-01-31, 2026-01-31T09:30:00Z (default: now)',
      parsePastTime,
    )
    .option('--since <time>', 'stop at this time', parsePastTime)
    .addOption(
      new Option('--after <id>', 'all entries after this id instead, in the order of their ids')
        .argParser(parseEntryId)
        .conflicts(['app', 'developer', 'moderator', 'until', 'since']),
    )
    .option('--limit <number>', 'maximum number of entries', parsePositiveInteger, 50),
  help: `
Examples:
  ./apps-service audit --app 42
  ./apps-service audit --developer "Harbour Software" --since 30d
  ./apps-service audit --moderator "Ada Lovelace" --until 2026-01-31 --limit 10
  ./apps-service audit --after 1234 --json

--app, --developer and --moderator are three lists, of which one can be read.

With --after, each entry is listed once if each call continues after the last
id of the one before: no entry with a smaller id appears later. Ids may have
gaps. On PostgreSQL it waits for writes that are running, and fails if one takes
longer than a minute. On Citus, run it on the coordinator, which gives all ids.

JSON: an array of {id, at, action, operator, operator_name, operator_id, key_id,
app_id, app_slug, app_name, developer_id, developer_name, category_id,
category_slug, before, after}. operator is an account on the machine.
operator_name is the value of OPERATOR, or the name of a person who has signed
in; then operator_id is the id of the sign-in key. Either operator or key_id is
null. Fields of other subjects and names of removed ones are null. before and
after have the columns that differ; before is null if something was added.`,
  async run(database, { after, limit, ...filter }: Options) {
    if (after !== undefined) {
      const { entries, hasNewer } = await findEntriesAfter(database, after, limit)
      const note = `Newer entries are not listed. Use --after ${entries.at(-1)?.id} to go on.`
      return { entries, note: hasNewer && note }
    }
    const { entries, hasOlder } = await findEntries(database.read, filter, limit, (entry) => entry)
    return {
      entries,
      note: hasOlder && 'Older entries are not listed. Use a higher --limit, or --until.',
    }
  },
  toJson: ({ entries }) => entries,
  print({ entries, note }) {
    if (entries.length === 0) return printInfo('No entries.')
    printEntries(entries, true)
    if (note) printInfo(note)
  },
})

type Options = EntryFilter & { after?: number; limit: number }

function parseEntryId(text: string): number {
  const id = Number(text)
  if (/^(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(id)) return id
  throw new InvalidArgumentError('It must be a whole number from 0.')
}

/** Prints entries as a table, each with its changes below. */
export function printEntries(entries: AuditEntry[], withSubject: boolean): void {
  printTable(
    entries.map((entry) => ({
      'WHEN (UTC)': formatMinute(entry.at),
      WHO: actorOf(entry),
      WHAT: entry.action,
      ...(withSubject && { ON: subjectOf(entry) }),
    })),
    ['ON', 'WHO'],
    entries.map(changeLines),
  )
}

/** In terminal columns. Narrow, because several changes share a line. */
const maxValueWidth = 24

/** Returns one line with all changes but those of addresses, which have their own. */
function changeLines(entry: AuditEntry): string[] {
  const changes = changesOf(entry)
  const addresses = changes.filter(({ column }) => isAddressColumn(column))
  const others = changes.filter(({ column }) => !isAddressColumn(column)).map(formatChange)
  return [
    ...(others.length > 0 ? [detailLine(others.join('; '))] : []),
    ...addresses.flatMap(({ column, before, after }) =>
      before === undefined
        ? [addressLine(column, after)]
        : changedAddressLines(column, before, after),
    ),
  ]
}

const formatChange = ({ column, before, after }: EntryChange) =>
  before === undefined
    ? `${column}: ${truncate(toSingleLine(after), maxValueWidth)}`
    : `${column}: ${formatDifference(before, after, maxValueWidth)}`
