import { Command } from 'commander'
import { keyPrefix } from '../accounts/keys.ts'
import { accountStore } from '../accounts/store.ts'
import { type AuditEntry, auditStore } from '../audit/store.ts'
import { moderationStore } from '../moderation/store.ts'
import { detailWidth, parsePositiveInteger, printDetailedTable, printInfo, printJson, withDatabase } from './command.ts'
import { formatDifference, toSingleLine, truncate } from './terminal-text.ts'
import { formatMinute, parsePastTime } from './time.ts'

export const auditCommand = () =>
  new Command('audit')
    .description(
      'what was done, by whom, to apps, developers, keys and categories: the newest entries, in the order they were made',
    )
    .option('--app <id>', 'of this app', parsePositiveInteger)
    .option('--developer <name>', 'of this developer, their keys and their apps')
    .option('--since <time>', 'from this time on: 30d, 12h, 2026-01-31, 2026-01-31T09:30:00Z', parsePastTime)
    .option('--limit <number>', 'how many at most, the newest', parsePositiveInteger, 50)
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      `
Examples:
  npx apps-service audit --app 42
  npx apps-service audit --developer "Harbour Software" --since 30d

JSON: an array of {id, at, action, operator, key_id, app_id, app_slug,
developer_id, developer_name, category_id, category_slug, before, after}. Either
operator or key_id is null; so is what an entry is not about, and before where
something was made. before and after hold the columns that differ.`,
    )
    .action(audit)

type Options = { app?: number; developer?: string; since?: string; limit: number; json?: true }

async function audit(options: Options) {
  const { entries, hasOlder } = await withDatabase((database) =>
    database.snapshot(async (connection) => {
      const { app: appId, developer: name, since, limit } = options
      if (appId !== undefined) await moderationStore(connection).requireApp(appId)
      const developer = name === undefined ? undefined : await accountStore(connection).requireDeveloper(name)
      return auditStore(connection).list({ appId, developerId: developer?.id, since }, limit)
    }),
  )
  if (options.json) return printJson(entries)
  if (entries.length === 0) return printInfo('No entries.')
  printDetailedTable(
    ['WHEN (UTC)', 'WHO', 'WHAT', 'ON'],
    entries.map((entry) => ({ cells: [...leadingCells(entry), subjectOf(entry)], details: changeLines(entry) })),
    ['ON', 'WHO'],
  )
  if (hasOlder) printInfo(`The newest ${options.limit}; there are older ones (--limit).`)
}

export function printHistory(entries: AuditEntry[]) {
  printDetailedTable(
    ['WHEN (UTC)', 'WHO', 'WHAT'],
    entries.map((entry) => ({ cells: leadingCells(entry), details: changeLines(entry) })),
    ['WHO'],
  )
}

/** An operator by name, a developer by key. */
const leadingCells = ({ at, operator, key_id, action }: AuditEntry) => [
  formatMinute(at),
  operator ?? keyPrefix(key_id ?? ''),
  action,
]

function subjectOf({ app_id, app_slug, developer_name, category_slug }: AuditEntry): string {
  if (app_id !== null) return `app ${app_id} ${app_slug}`
  return category_slug === null ? `developer ${developer_name}` : `category ${category_slug}`
}

/** How wide a value is shown, beside the others that changed. */
const valueWidth = 24

/** One line; none where no column of the audit changed. */
function changeLines({ before, after }: AuditEntry): string[] {
  const changes = Object.entries(after)
    .filter(([, value]) => value !== null || before !== null)
    .map(([column, value]) => {
      const now = formatValue(value)
      const isNew = before === null || before[column] === value
      return `${column}: ${isNew ? truncate(toSingleLine(now), valueWidth) : formatDifference(formatValue(before[column]), now, valueWidth)}`
    })
  return changes.length === 0 ? [] : [truncate(changes.join('; '), detailWidth())]
}

const formatValue = (value: unknown) => (value === null || value === undefined ? '–' : String(value))
