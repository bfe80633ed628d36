import { OperatorError } from '../../contract/errors.ts'
import { type Engine, notMigrated } from '../engine.ts'
import type { EngineTools } from '../tools.ts'
import { applicationName, isPooled } from './client.ts'
import { committedBefore } from './committed-before.ts'
import { tableNames } from './engine.ts'
import { schema } from './schema.ts'

/**
 * Key of the advisory lock for migrations, which other programs in the same database are unlikely
 * to use.
 */
const migrationLockId = 7_203_948_116

export function postgresTools({
  name,
  checkHealth,
  reader,
  writer,
  versionReader,
}: Engine): EngineTools {
  return {
    async withMigrationLock(work) {
      const found = await checkHealth()
      if (found !== undefined && found !== notMigrated) throw new OperatorError(`it ${found}`)
      return writer.transaction(async (sql) => {
        await sql.raw('set local lock_timeout = 0')
        await sql.raw('select pg_advisory_xact_lock(?)', [migrationLockId])
        return work(sql, schema)
      })
    },
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
          throw new OperatorError(`${name} is in use; stop the servers that have it open`)
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
