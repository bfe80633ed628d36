import { isIPv6 } from 'node:net'
import { Command } from 'commander'
import document from '../../generated/openapi.json' with { type: 'json' }
import { type Config, readConfig } from '../config.ts'
import { statusFields } from '../moderation/describe.ts'
import { readStatus } from '../moderation/status.ts'
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

server is what /readyz of the server says on this machine, at HOST and PORT:
"ready", "not ready" or "no answer".

JSON: {version, server, engine, bytes, free_bytes, pending_migrations,
catalogue}; free_bytes is null on PostgreSQL. catalogue is null if
migrations are pending, or else {apps: {pending, changed, approved, rejected,
deleted}, oldest_pending: {id, name, waiting_since}, oldest_changed, developers,
expiring_keys: [{id, developer_name, expires_at}], last_import: {at, operator,
operator_name, operator_id}}.
changed apps are approved ones that moderation queue --changed lists.
expiring_keys expire within 30 days. The oldest apps and last_import may be
null.`,
  async run() {
    const status = await withUncheckedDatabase(readStatus)
    return {
      version: document.info.version,
      server: await findServerState(readConfig()),
      ...status,
    }
  },
  print: ({ version, server, ...status }) =>
    printFields({ ...statusFields(status), Server: server, Version: version }),
})

/** Milliseconds: `/readyz` answers within five seconds. */
const serverTimeout = 6000

async function findServerState({ host, port }: Pick<Config, 'host' | 'port'>): Promise<string> {
  const name = ['::', '0.0.0.0'].includes(host) ? 'localhost' : host
  try {
    const { ok } = await fetch(`http://${isIPv6(name) ? `[${name}]` : name}:${port}/readyz`, {
      signal: AbortSignal.timeout(serverTimeout),
    })
    return ok ? 'ready' : 'not ready'
  } catch {
    return 'no answer'
  }
}
