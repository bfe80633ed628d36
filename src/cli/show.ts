import { Command } from 'commander'
import { type Account, findAccounts } from '../accounts/account-store.ts'
import { isAddressColumn, ownerTexts } from '../catalogue/app-columns.ts'
import { parseKeywords } from '../catalogue/keywords.ts'
import { type AppDetails, findAppDetails } from '../moderation/app-details.ts'
import { appFields, formatAddress, formatLookAlike } from '../moderation/describe.ts'
import { warningsOf } from '../moderation/warnings.ts'
import { formatCommand } from '../util/command.ts'
import { pick, required } from '../util/helpers.ts'
import { sanitize } from '../util/text.ts'
import { printEntries } from './audit.ts'
import { buildDatabaseCommand, parsePositiveInteger, wrapNames } from './command.ts'
import { noValue, print, printFields, printInfo } from './output.ts'

/** `moderation show`. */

/** History entries that `show` prints. */
const historyLimit = 100

const shownColumns = [
  'id',
  'revision',
  'slug',
  ...ownerTexts,
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
] as const

export const show = buildDatabaseCommand({
  command: new Command('show')
    .description('show an app with everything needed to decide on it, and its history')
    .argument('<id>', 'id of the app, which may be deleted', parsePositiveInteger),
  help: `
Examples:
  ./apps-service moderation show 42

JSON: ${wrapNames(`{${shownColumns.join(', ')}, category: {id, slug, name},`)}
developer: as in developer list, similar: as in queue, warnings: as in queue,
changes: as in queue,
history: the newest ${historyLimit} entries as in audit}.`,
  run: (database, id: number) =>
    database.snapshot(async (runner) => {
      const details = await findAppDetails(runner, id, historyLimit, (entry) => entry)
      const [developer] = await findAccounts(runner, [details.app.developer_id])
      return { ...details, developer: required(developer, `the developer of app ${id}`) }
    }),
  toJson: ({ app, developer, lookAlikes, changes, history }) => ({
    ...pick(app, ...shownColumns),
    keywords: parseKeywords(app.keywords),
    category: { id: app.category_id, slug: app.category_slug, name: app.category_name },
    developer,
    similar: lookAlikes,
    warnings: warningsOf(app),
    changes,
    history,
  }),
  print: (details) => printDetails(details),
})

function printDetails(details: AppDetails & { developer: Account }) {
  const { app, lookAlikes, changes, history, hasOlderHistory } = details
  printFields(appFields(details))
  for (const one of lookAlikes) printFields({ Similar: formatLookAlike(one) })
  for (const warning of warningsOf(app)) printFields({ Warning: warning })
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
