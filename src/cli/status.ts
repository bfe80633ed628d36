import { Command } from 'commander'
import { statusFields } from '../moderation/describe.ts'
import { readStatus } from '../moderation/status-store.ts'
import { buildCommand, withUncheckedDatabase } from './command.ts'
import { printFields } from './output.ts'

export const command = buildCommand({
  command: new Command('status').description(
    'show how many apps wait for a decision, and the state of the database',
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
  print: (status) => printFields(statusFields(status)),
})
