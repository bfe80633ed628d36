import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../../contract/errors.ts'
import { required } from '../../util/helpers.ts'
import { type Dialect, defaultPoolSize, type Engine, notMigrated, type ServerOptions } from '../dialect.ts'
import { applicationName, openReader, openWriter } from './client.ts'
import { committedBefore } from './committed-before.ts'
import { connectionOf } from './connection.ts'
import { dataVersionReader, dedicatedConnection } from './data-version.ts'
import { copyToTemporaryTables } from './dry-run.ts'
import { classifyError, isStarting, isUnavailable, reasonOf } from './errors.ts'
import { schema } from './schema.ts'
import { assertDirectConnection } from './snapshots.ts'
import { parseServerUrl, type ServerUrl } from './url.ts'

/** PostgreSQL, 14 or newer. Several servers of this program may share a database. */
export const postgres: Dialect = {
  urlFormat: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  openerOf(text) {
    const url = parseServerUrl(text)
    return url && ((options = {}) => openServer(url, options))
  },
}

/** One connection reads the data's version; the others are divided. */
function shareConnections(pool: number): Engine['concurrency'] {
  const expensive = Math.max(1, Math.floor(pool / 4))
  const write = Math.max(1, Math.floor(pool / 3))
  return { cheap: Math.max(1, pool - 1 - expensive - write), expensive, write }
}

/** A number that other programs are unlikely to lock in the same database. */
const migrationLockId = 7_203_948_116

const minVersion = 140_000

/** Milliseconds for a statement of a long-running command, which may build an index or copy a table. */
const longTimeout = 3_600_000

function openServer(url: ServerUrl, options: ServerOptions): Engine {
  const { pool = defaultPoolSize, writeTimeout = longTimeout } = options
  const direct = options.direct === undefined ? undefined : required(parseServerUrl(options.direct), 'a direct URL')
  const concurrency = shareConnections(pool)
  const writer = openWriter(url, concurrency.write, writeTimeout)
  const reader = openReader(url, concurrency.cheap + concurrency.expensive)
  const connection = dedicatedConnection(url)
  // Past the pooler, if there is one.
  const directWriter = direct ? openWriter(direct, 1, writeTimeout) : writer
  const directConnection = direct ? dedicatedConnection(direct) : connection
  const versionReader = dataVersionReader(directConnection, connection)

  /** Whether the database has tables, and whether they are this program's. */
  async function ownership(): Promise<'own' | 'empty' | 'foreign'> {
    const { row } = await connection.query<{ tables: string; is_own: boolean }>(
      `select count(*) as tables, coalesce(bool_or(tablename = 'knex_migrations'), false) as is_own
       from pg_tables where schemaname = current_schema()`,
    )
    if (row?.is_own) return 'own'
    return Number(row?.tables) === 0 ? 'empty' : 'foreign'
  }

  async function findOpenError(): Promise<string | undefined> {
    return orUnreachableMessage('cannot be reached', async () => {
      const { row } = await repeatWhileStarting(url.connectTimeout, () =>
        connection.query<{ version: number; encoding: string }>(
          `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
        ),
      )
      if (!row || row.version < minVersion) return 'is of a PostgreSQL older than 14'
      if (row.encoding !== 'UTF8') return `is in ${row.encoding}; it has to be in UTF8`
      const known =
        direct && (await orUnreachableMessage('cannot be reached by DATABASE_DIRECT_URL', versionReader.findMismatch))
      return known ?? { own: undefined, empty: notMigrated, foreign: foreignDatabase }[await ownership()]
    })
  }

  let isAccepted = false

  const engine: Engine = {
    name: url.name,
    async checkHealth() {
      if (!isAccepted) {
        const reason = await findOpenError()
        isAccepted = reason === undefined
        return reason
      }
      try {
        // Uses the writer pool, but does not wait behind queued writes.
        await writer.raw('select 1').options({ query_timeout: url.connectTimeout })
        await connection.query('select 1')
      } catch (error) {
        if (isUnavailable(error)) return 'does not answer'
        throw error
      }
      return undefined
    },

    reader,
    writer,
    concurrency,
    connectionOf,
    async migrate(work) {
      const found = await findOpenError()
      if (found !== undefined && found !== notMigrated) throw new OperatorError(`it ${found}`)
      return directWriter.transaction(async (sql) => {
        await sql.raw('set local lock_timeout = 0')
        await sql.raw('select pg_advisory_xact_lock(?)', [migrationLockId])
        return work(sql, schema)
      })
    },
    classifyError,

    committedBefore: () => committedBefore(reader),
    dataVersion: versionReader.version,
    async copyTo() {
      throw new OperatorError(
        'PostgreSQL has its own: pg_dump --format=custom --no-owner --no-privileges --file=FILE, and into an empty database ' +
          'pg_restore --no-owner --no-privileges --exit-on-error --single-transaction --dbname=ADDRESS FILE',
      )
    },
    async dryRun(work) {
      const singleConnection = openReader(direct ?? url, 1, longTimeout)
      const close = () => singleConnection.destroy()
      try {
        await copyToTemporaryTables(singleConnection)
        const concurrency = { cheap: 1, expensive: 1, write: 1 }
        // Statistics of temporary tables are of no use.
        const optimize = async () => {}
        return await work({
          ...engine,
          reader: singleConnection,
          writer: singleConnection,
          concurrency,
          optimize,
          close,
        })
      } finally {
        await close()
      }
    },
    withExclusiveLock: (work) =>
      writer.transaction(async (sql) => {
        // A pooler hides which program a session belongs to.
        await assertDirectConnection(sql)
        // The work may leave this connection idle for minutes, for example while another database commits what was read.
        await sql.raw('set local idle_in_transaction_session_timeout = 0')
        const { row: own } = await connection.query<{ pid: number }>('select pg_backend_pid() as pid')
        const { rows: others } = await sql.raw(
          `select pid from pg_stat_activity
           where datname = current_database() and application_name = ? and pid not in (pg_backend_pid(), ?)`,
          [applicationName, required(own, 'the backend').pid],
        )
        if (others.length > 0) throw new OperatorError(`${url.name} is in use; stop the servers that have it open`)
        const { rows: tables } = await sql.raw(
          'select tablename as name from pg_tables where schemaname = current_schema()',
        )
        await sql.raw(`lock table ${tables.map(({ name }: { name: string }) => name).join(', ')} in share mode`)
        return work(sql)
      }),
    async optimize({ isLast }) {
      // Otherwise the planner has no statistics until autovacuum runs.
      if (isLast) await directWriter.raw('analyze')
    },
    // Autovacuum does it by itself.
    async close() {
      const pools = new Set([reader, writer, directWriter])
      const connections = new Set([connection, directConnection])
      await Promise.all([...[...pools].map((pool) => pool.destroy()), ...[...connections].map((each) => each.close())])
    },
  }
  return engine
}

/** A server that starts gets as many milliseconds as one that does not respond. */
async function repeatWhileStarting<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + milliseconds
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isStarting(error) || performance.now() > deadline) throw error
      await delay(200)
    }
  }
}

/** Returns the result of the work; if the database is unavailable, the message and the reason. */
async function orUnreachableMessage(
  message: string,
  work: () => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await work()
  } catch (error) {
    const reason = isUnavailable(error) ? reasonOf(error) : undefined
    if (reason === undefined) throw error
    return `${message}: ${reason}`
  }
}

const foreignDatabase = 'is a database of another program; DATABASE_URL has to name another one'
