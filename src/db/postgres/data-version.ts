import pg from 'pg'
import { clientConfig, statementName } from './client.ts'
import { breaksConnection } from './errors.ts'
import { snapshotsAreReliable } from './snapshots.ts'
import type { ServerUrl } from './url.ts'

/** A server that does not answer for so long is not there. Milliseconds. */
const timeout = 5000

/** A connection, which one of its line it is, and when what was asked of it is answered: the driver takes one question at a time. */
type NumberedClient = { client: pg.Client; number: number; answered: Promise<unknown> }

/** One connection that does nothing else, made anew where it has broken. */
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
    /** A connection that nothing was asked of for long may be broken, and that is told when it is used. */
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

/** Which tables of which server a connection leads to, as any role may ask it: the server since its start. */
const serverIdentity = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), current_database(), current_schema())`

type VersionRow = { snapshot: string; is_known: boolean; pid: number; place: string | null }

/**
 * Tells the data's version by a line. Any commit changes the snapshot; but after a crash of a backend ids of transactions are used
 * again, and then equal snapshots show unequal data: so which connection it was is part of the answer, since a crash breaks all.
 * Where snapshots say nothing, or a pooler has statements reach one backend and another, each answer is another.
 *
 * The line may go past a pooler, which another one goes through, as does what is read. That has to lead to the same tables, and
 * is asked each time: a pooler may be told to lead elsewhere, and breaks no connection by it.
 */
export function dataVersionReader(direct: DedicatedConnection, usual: DedicatedConnection) {
  let unknownVersions = 0
  // Nobody compares it where there is one line.
  const identityColumn = direct === usual ? 'null' : serverIdentity

  async function readVersions() {
    const [{ row, client, number }, read] = await Promise.all([
      direct.query<VersionRow>(
        `select pg_current_snapshot()::text as snapshot, ${snapshotsAreReliable} as is_known, pg_backend_pid() as pid, ${identityColumn} as place`,
      ),
      direct === usual ? undefined : usual.query<{ place: string }>(`select ${serverIdentity} as place`),
    ])
    // A pooler tells a process of its own. The driver's types lack it.
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
    /** Why a line that was given for this cannot be it; undefined where it can. */
    async findMismatch(): Promise<string | undefined> {
      const { isDirect, isSameServer } = await readVersions()
      if (!isDirect) return 'is not reached directly by DATABASE_DIRECT_URL: a pooler stands there, too'
      if (!isSameServer)
        return 'is not where DATABASE_DIRECT_URL leads, which has to be the same database of the same server'
      return undefined
    },
  }
}
