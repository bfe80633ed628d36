import { Command } from 'commander'
import { keyPrefix } from '../accounts/keys.ts'
import { formatOperator } from '../audit/describe-entry.ts'
import { type OldestWaiting, readStatus } from '../moderation/catalogue-status.ts'
import { formatAge, formatMinute } from '../util/time.ts'
import { buildCommand, withUncheckedDatabase } from './command.ts'
import { formatCount, formatMegabytes, printFields } from './output.ts'

export const command = buildCommand({
  command: new Command('status').description(
    'show what waits for operators, and the state of the database',
  ),
  help: `
If the database is not migrated, only the database and its pending migrations
are shown.

Examples:
  ./apps-service status
  ./apps-service status --json | jq '.catalogue.apps.pending'

JSON: {engine, bytes, pending_migrations, catalogue}; catalogue is null if
migrations are pending, or else {apps: {pending, changed, approved, rejected,
deleted}, oldest_pending: {id, name, waiting_since}, oldest_changed, developers,
expiring_keys: [{id, developer_name, expires_at}], last_import: {at, operator,
operator_name, operator_id}}.
changed apps are approved ones that moderation queue --changed lists.
expiring_keys expire within 30 days. The oldest apps and last_import may be
null.`,
  run: () => withUncheckedDatabase(readStatus),
  print({ engine, bytes, pending_migrations, catalogue }) {
    if (catalogue) {
      const { apps, expiring_keys, last_import } = catalogue
      const [firstKey] = expiring_keys
      printFields({
        Pending: formatQueue(apps.pending, catalogue.oldest_pending),
        Changed: formatQueue(apps.changed, catalogue.oldest_changed),
        Approved: formatCount(apps.approved),
        Rejected: formatCount(apps.rejected),
        Deleted: formatCount(apps.deleted),
        Developers: formatCount(catalogue.developers),
        'Expiring keys': firstKey
          ? `${formatCount(expiring_keys.length)} within 30 days, first ${keyPrefix(firstKey.id)} of ${firstKey.developer_name} on ${formatMinute(firstKey.expires_at)}`
          : '0 within 30 days',
        'Last import': last_import
          ? `${formatMinute(last_import.at)} by ${formatOperator(last_import)}`
          : 'none',
      })
    }
    printFields({
      Database: `${engine}, ${formatMegabytes(bytes)}`,
      Migrations:
        pending_migrations.length === 0
          ? null
          : `missing: ${pending_migrations.join(', ')}; run migrate`,
    })
  },
})

const formatQueue = (count: number, oldest: OldestWaiting | null) =>
  oldest
    ? `${formatCount(count)}, longest for ${formatAge(oldest.waiting_since)}: ${oldest.id} ${oldest.name}`
    : '0'
