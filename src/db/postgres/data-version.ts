import pg from 'pg'
import { clientConfig, statementName } from './client.ts'
import { breaksConnection } from './errors.ts'
import { snapshotsAreReliable } from './snapshots.ts'
import type { ServerUrl } from './url.ts'

/** Milliseconds. */
const timeout = 5000

/** A connection, its number, and a promise of its last query: the driver runs one query at a time. */
type NumberedClient = { client: pg.Client; number: number; answered: Promise<unknown> }

/** One connection outside the pools, replaced when it breaks. */
export type DedicatedConnection = ReturnType<typeof dedicatedConnection>

export function dedicatedConnection(url: ServerUrl) {
  let connecting: Promise<NumberedClient> | undefined
  let connections = 0
  let isClosed = false

  function connect(): Promise<NumberedClient> {
    if (connecting) return connecting
    const client = new pg.Client({ ...clientConfig(url), query_timeout: timeout })
    const number = ++connections
    const forget = () => {
      if (connecting === made) connecting = undefined
    }
    const made: Promise<NumberedClient> = client.connect().then(() => ({ client, number, answered: Promise.resolve() }))
    connecting = made
    client.on('error', forget)
    client.on('end', forget)
    made.catch(forget)
    return made
  }

  async function queryOnce<Row extends pg.QueryResultRow>(text: string) {
    const asked = connect()
    const connection = await asked
    const { client, number } = connection
    const answer = connection.answered.then(() => client.query<Row>({ name: statementName(text), text }))
    connection.answered = answer.catch(() => {})
    try {
      const { rows } = await answer
      return { row: rows[0], client, number }
    } catch (error) {
      if (connecting === asked) connecting = undefined
      client.end().catch(() => {})
      throw error
    }
  }

  return {
    /** Retries once on a new connection: an idle connection may have broken unnoticed. */
    async query<Row extends pg.QueryResultRow>(text: string) {
      const isOld = connecting !== undefined
      return queryOnce<Row>(text).catch((error: unknown) => {
        if (isClosed || !isOld || !breaksConnection(error)) throw error
        return queryOnce<Row>(text)
      })
    },
    async close() {
      isClosed = true
      const made = await connecting?.catch(() => undefined)
      await made?.client.end()
    },
  }
}

/** Identifies the server, its last start, the database and the schema, by what any role may read. */
const serverIdentity = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), current_database(), current_schema())`

type VersionRow = { snapshot: string; is_known: boolean; pid: number; place: string | null }

/**
 * Reads the data's version. Every commit changes the snapshot. After a backend crash, transaction ids can repeat, so equal
 * snapshots can have different data; a crash also closes all connections, so the connection's number is part of the version.
 * If snapshots are not reliable, or a pooler sends statements to different backends, every version is new.
 *
 * `direct` may bypass the pooler that `usual` goes through. Both must lead to the same tables. This is checked each time, because
 * a pooler can be pointed elsewhere without closing a connection.
 */
export function dataVersionReader(direct: DedicatedConnection, usual: DedicatedConnection) {
  let unknownVersions = 0
  // With one connection there is nothing to compare.
  const identityColumn = direct === usual ? 'null' : serverIdentity

  async function readVersions() {
    const [{ row, client, number }, read] = await Promise.all([
      direct.query<VersionRow>(
        `select pg_current_snapshot()::text as snapshot, ${snapshotsAreReliable} as is_known, pg_backend_pid() as pid, ${identityColumn} as place`,
      ),
      direct === usual ? undefined : usual.query<{ place: string }>(`select ${serverIdentity} as place`),
    ])
    // A pooler reports a process id of its own. The driver's types lack it.
    const { processID }: pg.Client & { processID?: number } = client
    return {
      number,
      row,
      isDirect: row?.pid === processID,
      isSameServer: direct === usual || read?.row?.place === row?.place,
    }
  }

  return {
    async version(): Promise<string> {
      const { number, row, isDirect, isSameServer } = await readVersions()
      if (!row?.is_known || !isDirect || !isSameServer) return `none.${++unknownVersions}`
      return `${number}.${row.snapshot}`
    },
    /** Why DATABASE_DIRECT_URL cannot be used; undefined if it can. */
    async findMismatch(): Promise<string | undefined> {
      const { isDirect, isSameServer } = await readVersions()
      if (!isDirect) return 'is not reached directly by DATABASE_DIRECT_URL: a pooler stands there, too'
      if (!isSameServer)
        return 'is not where DATABASE_DIRECT_URL leads, which has to be the same database of the same server'
      return undefined
    },
  }
}
