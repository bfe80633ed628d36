import type { StateCounts } from '../catalogue/app-store.ts'
import { OperatorError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import { readPendingMigrations } from '../db/migrations.ts'
import type { AuditRow } from '../db/rows.ts'
import { required } from '../util/helpers.ts'
import { type Queue, queues, states } from './app-filter.ts'

/**
 * Counts and dates for operators, moderators and monitoring. Apps have stored counts or short
 * indexes; developers are counted.
 */

export type OldestWaiting = { id: number; name: string; waiting_since: string }

type ExpiringKey = { id: string; developer_name: string; expires_at: string }

type LastImport = Pick<AuditRow, 'at' | 'operator' | 'operator_name' | 'operator_id'>

export type CatalogueStatus = {
  apps: StateCounts & { changed: number }
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
  const developers = await runner.sql('developers').count({ count: '*' }).first()
  return {
    apps: await countApps(runner),
    oldest_pending: await findOldestWaiting(runner, 'pending'),
    oldest_changed: await findOldestWaiting(runner, 'changed'),
    developers: Number(required(developers, 'the count').count),
    expiring_keys: await findExpiringKeys(runner, Date.now()),
    last_import: await findLastImport(runner),
  }
}

/**
 * Counts apps by state; `changed`: approved apps whose owners have changed them since the last
 * decision. The approved ones are not counted here: each category stores how many it has.
 */
export async function countApps({ rows }: QueryRunner): Promise<CatalogueStatus['apps']> {
  const count = (where: string) => `(select count(*) from apps where ${where})`
  const [counts] = await rows<CatalogueStatus['apps']>(
    `select ${count(states.pending.where)} as pending, ${count(queues.changed.where)} as changed,
       ${count(states.rejected.where)} as rejected, ${count(states.deleted.where)} as deleted,
       (select cast(coalesce(sum(listed_apps), 0) as bigint) from categories) as approved`,
    [],
  )
  return required(counts, 'the counts')
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

/** The app that has waited longest; null if none waits. */
export async function findOldestWaiting(
  { rows }: QueryRunner,
  queue: Queue,
): Promise<OldestWaiting | null> {
  const { where, order } = queues[queue]
  const [oldest] = await rows<OldestWaiting>(
    `select id, name, coalesce(unreviewed_since, created_at) as waiting_since
     from apps where ${where} order by ${order} limit 1`,
    [],
  )
  return oldest ?? null
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
