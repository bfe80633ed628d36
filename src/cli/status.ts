import { readdir } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { Command } from 'commander'
import document from '../../generated/openapi.json' with { type: 'json' }
import { type Config, readConfig } from '../config.ts'
import { statusFields } from '../moderation/describe.ts'
import { readStatus } from '../moderation/status.ts'
import { formatAge } from '../util/time.ts'
import { buildCommand, withUncheckedDatabase } from './command.ts'
import { cannotRead } from './file-errors.ts'
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

last_backup is the newest of the nightly backups (docs/running.md, One server).
at is when it began. It is null if their directory is missing or unknown; file
and at are null if there is no backup in it.

JSON: {version, server, last_backup: {directory, file, at}, engine, bytes,
free_bytes, pending_migrations, catalogue}; times are in ISO 8601 and UTC.
free_bytes is null on PostgreSQL. catalogue is null if migrations are
pending, or else {apps: {pending, changed, approved, rejected,
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
      last_backup: await findLastBackup(process.env.APPS_SERVICE_BACKUPS),
      ...status,
    }
  },
  print: ({ version, server, last_backup, ...status }) =>
    printFields({
      ...statusFields(status),
      'Last backup': last_backup && formatBackup(last_backup),
      Server: server,
      Version: version,
    }),
})

type LastBackup = { directory: string } & ({ file: string; at: string } | { file: null; at: null })

/** The name of a nightly backup has its time in UTC (deploy/backup.sh). */
const backupName = /^apps-(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)Z\.sqlite$/

/**
 * Finds the newest nightly backup. Like backup.sh, it does not count names in the future. The
 * directory is the one that deploy/as-service-account.sh passes. Throws an OperatorError if the
 * directory exists and cannot be read.
 */
async function findLastBackup(directory: string | undefined): Promise<LastBackup | null> {
  if (!directory) return null
  const entries = await readdir(directory, { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw cannotRead(directory, error)
    },
  )
  if (!entries) return null
  const backups = entries
    .filter((entry) => entry.isFile() && backupName.test(entry.name))
    .map(({ name }) => ({ file: name, at: name.replace(backupName, '$1$2:$3:$4.000Z') }))
    .filter(({ at }) => Date.parse(at) <= Date.now())
    .toSorted((one, other) => (one.at < other.at ? -1 : 1))
  return { directory, ...(backups.at(-1) ?? { file: null, at: null }) }
}

const formatBackup = ({ directory, file, at }: LastBackup) =>
  file === null ? `none in ${directory}` : `${formatAge(at)} ago: ${join(directory, file)}`

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
