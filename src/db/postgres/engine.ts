import { setTimeout as delay } from 'node:timers/promises'
import type { ServerUrl } from '../database-url.ts'
import {
  type DatabaseOptions,
  defaultLockTimeout,
  defaultPoolSize,
  type Engine,
  notMigrated,
} from '../engine.ts'
import { openReader, openWriter } from './client.ts'
import { explain, isStarting } from './errors.ts'
import { queryRunnerOf } from './query-runner.ts'

/** One connection reads the version of the data; the others are divided. */
function shareConnections(pool: number): Engine['concurrency'] {
  const expensive = Math.max(1, Math.floor(pool / 4))
  const write = Math.max(1, Math.floor(pool / 3))
  return { cheap: Math.max(1, pool - 1 - expensive - write), expensive, write }
}

const minVersion = 140_000

/**
 * The lock that this statement itself has on pg_locks. CockroachDB lists none, and YugabyteDB none
 * younger than a second (`yb_locks_min_txn_age`). Both claim to be a PostgreSQL that is new enough.
 */
const ownTableLocks = `select 1 from pg_locks where locktype = 'relation' and pid = pg_backend_pid()`

export const tableNames = 'select tablename from pg_tables where schemaname = current_schema()'

/**
 * Blocks no reader or writer, and is allowed on a standby. Citus takes the lock on all nodes, which
 * writes need, too. The second statement makes both a transaction.
 */
const lockEverywhere = 'lock table catalogue_version in access share mode; select 1'

/** Milliseconds for a statement of the connection that reads the version. */
const versionTimeout = 5000

/**
 * Milliseconds for a statement of a long-running command, which may build an index or copy a table.
 */
const longTimeout = 3_600_000

/** PostgreSQL, 14 or newer. Several servers of this program may share a database. */
export function openPostgres(
  url: ServerUrl,
  {
    pool = defaultPoolSize,
    writeTimeout = longTimeout,
    lockTimeout = defaultLockTimeout,
  }: DatabaseOptions = {},
): Engine {
  const concurrency = shareConnections(pool)
  const writer = openWriter(url, concurrency.write, { writeTimeout, lockTimeout })
  const reader = openReader(url, concurrency.cheap + concurrency.expensive, { lockTimeout })
  const versionReader = openReader(url, 1, { lockTimeout, readTimeout: versionTimeout })

  async function findOpenError(
    deadline = performance.now() + url.connectTimeout,
  ): Promise<string | undefined> {
    try {
      const { rows } = await versionReader.raw(
        `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
           version() as engine, exists (${ownTableLocks}) as lists_locks, exists (${tableNames}) as has_tables,
           exists (${tableNames} and tablename = 'knex_migrations') as is_own`,
      )
      const [{ version, encoding, engine, lists_locks, has_tables, is_own }] = rows
      if (!lists_locks)
        return `runs ${engine.split(/ on | \(/)[0]}, which does not list table locks in pg_locks; use PostgreSQL`
      if (version < minVersion)
        return `runs PostgreSQL < ${minVersion / 10_000}; upgrade the server`
      if (encoding !== 'UTF8') return `has the encoding ${encoding}; it must be UTF8`
      if (!is_own) return has_tables ? foreignDatabase : notMigrated
      return undefined
    } catch (error) {
      if (isStarting(error) && performance.now() < deadline) {
        await delay(200)
        return findOpenError(deadline)
      }
      const { isUnavailable, reason } = explain(error)
      if (!isUnavailable || reason === undefined) throw error
      return `cannot be reached: ${reason}`
    }
  }

  let isAccepted = false

  return {
    name: url.name,
    async checkHealth() {
      if (!isAccepted) {
        const reason = await findOpenError()
        isAccepted = reason === undefined
        return reason
      }
      try {
        // Uses the writer pool, but does not wait behind queued writes.
        await writer.raw(lockEverywhere).options({ query_timeout: url.connectTimeout })
        await versionReader.raw('select 1')
      } catch (error) {
        if (explain(error).isUnavailable) return 'does not answer'
        throw error
      }
    },

    reader,
    writer,
    transaction: (work) => writer.transaction(work),
    groupCommitSize: 1,
    versionReader,
    concurrency,
    queryRunnerOf,
    explain,
  }
}

const foreignDatabase = 'belongs to another program; set DATABASE_URL to another database'
