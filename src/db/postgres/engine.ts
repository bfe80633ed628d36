import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../../contract/errors.ts'
import type { ServerUrl } from '../database-url.ts'
import {
  type DatabaseOptions,
  defaultLockTimeout,
  defaultPoolSize,
  type Engine,
  notMigrated,
} from '../engine.ts'
import { applicationName, isPooled, openReader, openWriter } from './client.ts'
import { committedBefore } from './committed-before.ts'
import { explain, isStarting } from './errors.ts'
import { queryRunnerOf } from './query-runner.ts'
import { schema } from './schema.ts'

/** One connection reads the version of the data; the others are divided. */
function shareConnections(pool: number): Engine['concurrency'] {
  const expensive = Math.max(1, Math.floor(pool / 4))
  const write = Math.max(1, Math.floor(pool / 3))
  return { cheap: Math.max(1, pool - 1 - expensive - write), expensive, write }
}

/**
 * Key of the advisory lock for migrations, which other programs in the same database are unlikely
 * to use.
 */
const migrationLockId = 7_203_948_116

const minVersion = 140_000

/**
 * The lock that this statement itself has on pg_locks. CockroachDB lists none, and YugabyteDB none
 * younger than a second (`yb_locks_min_txn_age`). Both claim to be a PostgreSQL that is new enough.
 */
const ownTableLocks = `select 1 from pg_locks where locktype = 'relation' and pid = pg_backend_pid()`

const tableNames = 'select tablename from pg_tables where schemaname = current_schema()'

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
    async migrate(work) {
      const found = await findOpenError()
      if (found !== undefined && found !== notMigrated) throw new OperatorError(`it ${found}`)
      return writer.transaction(async (sql) => {
        await sql.raw('set local lock_timeout = 0')
        await sql.raw('select pg_advisory_xact_lock(?)', [migrationLockId])
        return work(sql, schema)
      })
    },
    explain,
    committedBefore: () => committedBefore(reader),
    // A writer locks a table before it gets an id from its sequence.
    waitForSmallerIds: () => committedBefore(reader),
    async restoreFrom() {
      throw new OperatorError(
        'restore works only on SQLite; on PostgreSQL, pg_restore does it: see docs/scaling.md',
      )
    },
    withExclusiveLock: (work) =>
      writer.transaction(async (sql) => {
        // A pooler hides which program a session belongs to.
        if (await isPooled(sql))
          throw new OperatorError(
            'a connection pooler cannot be used for this; set DATABASE_URL to the address of PostgreSQL itself',
          )
        // The work may leave this connection idle for minutes, for example while another database
        // commits what was read.
        await sql.raw('set local idle_in_transaction_session_timeout = 0')
        const own = await versionReader.raw('select pg_backend_pid() as pid')
        const { rows: others } = await sql.raw(
          `select pid from pg_stat_activity
           where datname = current_database() and application_name = ? and pid not in (pg_backend_pid(), ?)`,
          [applicationName, own.rows[0].pid],
        )
        if (others.length > 0)
          throw new OperatorError(`${url.name} is in use; stop the servers that have it open`)
        const { rows }: { rows: { tablename: string }[] } = await sql.raw(tableNames)
        await sql.raw(
          `lock table ${rows.map(({ tablename }) => tablename).join(', ')} in share mode`,
        )
        return work(sql)
      }),
    async optimize({ isLast }) {
      // Otherwise the planner has no statistics until autovacuum runs.
      if (isLast) await writer.raw('analyze')
    },
  }
}

const foreignDatabase = 'belongs to another program; set DATABASE_URL to another database'
