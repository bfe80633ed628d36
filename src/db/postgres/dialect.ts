import { Refusal } from '../../contract/errors.ts'
import { type Dialect, type Engine, unmigrated, usualPool } from '../dialect.ts'
import { filling } from './bulk-load.ts'
import { horizonOf } from './committed-before.ts'
import { applicationName, openReader, openWriter } from './connections.ts'
import { lineTo, versionTeller } from './data-version.ts'
import { copyTables } from './dry-run.ts'
import { isConflict, isUnavailable, reasonOf } from './errors.ts'
import { attempt, giveIdsBehind, insertion, jsonOf, jsonRows, lastId, lock, newIds, rowsOf, select } from './rows.ts'
import { schema } from './schema.ts'
import { foundBefore, searchIndex } from './search.ts'
import { demandDirect } from './snapshots.ts'
import { type Address, parseAddress } from './url.ts'

/** PostgreSQL, 14 or newer: a server that several servers of this program may use side by side. */
export const postgres: Dialect = {
  addressForm: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE',
  accepts: (address) => parseAddress(address) !== undefined,
  hasPoolers: true,
  open: (address, { pool = usualPool, direct } = {}) =>
    openServer(parsed(address), pool, direct === undefined ? undefined : parsed(direct)),
}

function parsed(text: string): Address {
  const address = parseAddress(text)
  if (!address) throw new Error('no address of PostgreSQL')
  return address
}

/** Of all connections one tells the version; the others are shared out. */
function widthsOf(pool: number): Engine['widths'] {
  const dear = Math.max(1, Math.floor(pool / 4))
  const write = Math.max(1, Math.floor(pool / 3))
  return { cheap: Math.max(1, pool - 1 - dear - write), dear, write }
}

/** Any number that another program is not likely to lock in the same database. */
const migrating = 7_203_948_116

const oldest = 140_000

function openServer(address: Address, pool: number, direct: Address | undefined): Engine {
  const widths = widthsOf(pool)
  const writer = openWriter(address, widths.write)
  const reader = openReader(address, widths.cheap + widths.dear)
  const line = lineTo(address)
  // Past a pooler, if one is known of.
  const directWriter = direct ? openWriter(direct, 1) : writer
  const directLine = direct ? lineTo(direct) : line
  const teller = versionTeller(directLine, line)
  const before = foundBefore()

  /** Whether there are tables, and whether they are this program's. */
  async function ownership(): Promise<'own' | 'empty' | 'foreign'> {
    const { row } = await line.ask<{ tables: string; is_own: boolean }>(
      `select count(*) as tables, coalesce(bool_or(tablename = 'knex_migrations'), false) as is_own
       from pg_tables where schemaname = current_schema()`,
    )
    if (row?.is_own) return 'own'
    return Number(row?.tables) === 0 ? 'empty' : 'foreign'
  }

  async function hindrance(): Promise<string | undefined> {
    return orUnreachable('cannot be reached', async () => {
      const { row } = await line.ask<{ version: number; encoding: string }>(
        `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
      )
      if (!row || row.version < oldest) return 'is of a PostgreSQL older than 14'
      if (row.encoding !== 'UTF8') return `is in ${row.encoding}; it has to be in UTF8`
      const known = direct && (await orUnreachable('cannot be reached by DATABASE_DIRECT_URL', teller.hindrance))
      return known ?? { own: undefined, empty: unmigrated, foreign }[await ownership()]
    })
  }

  const engine: Engine = {
    name: address.name,
    hindrance,
    unreadable: 'cannot be read',
    async makePlace() {
      const found = await hindrance()
      if (found !== undefined && found !== unmigrated) throw new Refusal(`it ${found}`)
    },
    demandInPlace() {},
    async ailment() {
      try {
        await line.ask('select 1')
      } catch (error) {
        if (isUnavailable(error)) return 'does not answer'
        throw error
      }
      return undefined
    },

    reader,
    snapshot: { isolationLevel: 'repeatable read', readOnly: true },
    writer,
    widths,
    connectionOf: (sql) => ({
      sql,
      select: select(sql),
      search: searchIndex(sql, before),
      newIds: newIds(sql),
      insertion: insertion(sql),
      lastId: lastId(sql),
      giveIdsBehind: giveIdsBehind(sql),
      filling: filling(sql),
      jsonRows,
      rowsOf,
      jsonOf,
      lock: lock(sql),
      attempt: attempt(sql),
    }),
    migration: (work) =>
      directWriter.transaction(async (sql) => {
        await sql.raw('set local lock_timeout = 0')
        await sql.raw('select pg_advisory_xact_lock(?)', [migrating])
        return work(sql)
      }),
    schema,

    isUnavailable,
    isConflict,
    reasonOf,

    horizon: () => horizonOf(reader),
    version: teller.version,
    async copyTo() {
      throw new Refusal(
        'PostgreSQL has its own: pg_dump --format=custom --no-owner --no-privileges --file=FILE, and into an empty database ' +
          'pg_restore --no-owner --no-privileges --exit-on-error --single-transaction --dbname=ADDRESS FILE',
      )
    },
    async rehearse(work) {
      const only = openReader(direct ?? address, 1)
      const close = () => only.destroy()
      try {
        await copyTables(only)
        const widths = { cheap: 1, dear: 1, write: 1 }
        // The planner need know nothing of what is thrown away, and nothing has changed in the tables themselves.
        const settle = async () => {}
        return await work({ ...engine, reader: only, writer: only, widths, settle, close })
      } finally {
        await close()
      }
    },
    still: (work) =>
      writer.transaction(async (sql) => {
        // Whose sessions a pooler's are is not known.
        await demandDirect(sql)
        const { row: own } = await line.ask<{ pid: number }>('select pg_backend_pid() as pid')
        const { rows: others } = await sql.raw(
          `select pid from pg_stat_activity
           where datname = current_database() and application_name = ? and pid not in (pg_backend_pid(), ?)`,
          [applicationName, own?.pid ?? 0],
        )
        if (others.length > 0) throw new Refusal(`${address.name} is in use; stop the servers that have it open`)
        const { rows: tables } = await sql.raw(
          'select tablename as name from pg_tables where schemaname = current_schema()',
        )
        await sql.raw(`lock table ${tables.map(({ name }: { name: string }) => name).join(', ')} in share mode`)
        return work(sql)
      }),
    // It goes on by itself, and no commit waits for it.
    async checkpoint() {},
    async settle() {
      // The planner would know nothing of it before autovacuum comes.
      await directWriter.raw('analyze')
    },
    // Autovacuum does it.
    async upkeep() {},
    async close() {
      const pools = new Set([reader, writer, directWriter])
      const lines = new Set([line, directLine])
      await Promise.all([...[...pools].map((pool) => pool.destroy()), ...[...lines].map((each) => each.close())])
    },
  }
  return engine
}

/** What the work says, or that the database is not there. */
async function orUnreachable(message: string, work: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await work()
  } catch (error) {
    const reason = isUnavailable(error) ? reasonOf(error) : undefined
    if (reason === undefined) throw error
    return `${message}: ${reason}`
  }
}

const foreign = 'is a database of another program; DATABASE_URL has to name another one'
