import {
  type AppCounts,
  countApps,
  findOldestWaiting,
  type OldestWaiting,
  type Queue,
  queues,
} from '../catalogue/app-states.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import { countRows, type QueryRunner } from '../db/engine.ts'
import { readPendingMigrations } from '../db/migrations.ts'
import type { AuditRow } from '../db/rows.ts'
import { required } from '../util/helpers.ts'

/**
 * Counts and dates for operators and moderators. Apps have stored counts or short indexes;
 * developers are counted.
 */

type ExpiringKey = { id: string; developer_name: string; expires_at: string }

type LastImport = Pick<AuditRow, 'at' | 'operator' | 'operator_name' | 'operator_id'>

export type CatalogueStatus = {
  apps: AppCounts
  oldest_pending: OldestWaiting | null
  oldest_changed: OldestWaiting | null
  developers: number
  /** Active keys that expire within 30 days, soonest first. */
  expiring_keys: ExpiringKey[]
  last_import: LastImport | null
}

export type Status = Awaited<ReturnType<QueryRunner['describe']>> & {
  pending_migrations: string[]
  catalogue: CatalogueStatus | null
}

/**
 * The state of the database, and of the catalogue if no migrations are missing. Throws an
 * OperatorError if the database cannot be used.
 */
export async function readStatus(database: Database, signal?: AbortSignal): Promise<Status> {
  const healthError = await database.checkHealth()
  if (healthError !== undefined)
    throw new OperatorError(`the database ${database.name} ${healthError}`)
  return database.snapshot(
    async (runner) => {
      const pending = await readPendingMigrations(runner.sql, database.name)
      const catalogue = pending.length > 0 ? null : await readCatalogueStatus(runner)
      return { ...(await runner.describe()), pending_migrations: pending, catalogue }
    },
    { signal },
  )
}

export async function readCatalogueStatus(runner: QueryRunner): Promise<CatalogueStatus> {
  return {
    apps: await countApps(runner),
    oldest_pending: await findOldestWaiting(runner, 'pending'),
    oldest_changed: await findOldestWaiting(runner, 'changed'),
    developers: await countRows(runner.sql('developers')),
    expiring_keys: await findExpiringKeys(runner, Date.now()),
    last_import: await findLastImport(runner),
  }
}

/** Counts the apps that wait, which have short indexes. */
export async function countQueues({ rows }: QueryRunner): Promise<Record<Queue, number>> {
  const count = (name: Queue) =>
    `(select count(*) from apps where ${queues[name].where}) as ${name}`
  const [counts] = await rows<Record<Queue, number>>(
    `select ${count('pending')}, ${count('changed')}`,
    [],
  )
  return required(counts, 'the counts')
}

/** Milliseconds. */
const expiryNotice = 30 * 24 * 60 * 60 * 1000

const findExpiringKeys = ({ sql }: QueryRunner, now: number): Promise<ExpiringKey[]> =>
  sql('api_keys')
    .join('developers', 'developers.id', 'api_keys.developer_id')
    .whereNull('revoked_at')
    .whereBetween('expires_at', [
      new Date(now).toISOString(),
      new Date(now + expiryNotice).toISOString(),
    ])
    .orderBy(['expires_at', 'api_keys.id'])
    .select('api_keys.id', 'developers.name as developer_name', 'expires_at')

/** The last app that an import created or updated; an import that changed nothing leaves no trace. */
const findLastImport = async ({ sql }: QueryRunner): Promise<LastImport | null> =>
  (await sql('audit')
    // Literal, so that the index applies.
    .whereRaw("action = 'app import'")
    .orderBy('id', 'desc')
    .first('at', 'operator', 'operator_name', 'operator_id')) ?? null
