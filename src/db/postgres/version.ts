import pg from 'pg'
import type { Address } from './address.ts'
import { clientConfig, type DriverConnection } from './connections.ts'
import { endsConnection } from './errors.ts'
import { nameOf } from './rows.ts'
import { areTrue } from './snapshots.ts'

/** A server that does not answer for so long is not there. Milliseconds. */
const patience = 5000

type Answer<Row> = { row: Row | undefined; client: pg.Client }

/**
 * Tells the data's version by a connection that does nothing else. Any commit changes the snapshot; but after a crash of a
 * backend ids of transactions are used again, and then equal snapshots show unequal data: so which connection it was is part of
 * the answer, since a crash breaks all. Where snapshots say nothing, or a pooler has statements reach one backend and another,
 * each answer is another.
 */
export function versionTeller(address: Address) {
  let connecting: Promise<pg.Client> | undefined
  let connections = 0
  let answers = 0

  function connected(): Promise<pg.Client> {
    if (connecting) return connecting
    const client = new pg.Client({ ...clientConfig(address), query_timeout: patience })
    const forget = () => {
      if (connecting === made) connecting = undefined
    }
    const made: Promise<pg.Client> = client.connect().then(() => client)
    connecting = made
    connections++
    client.on('error', forget)
    client.on('end', forget)
    made.catch(forget)
    return made
  }

  async function askOnce<Row extends pg.QueryResultRow>(text: string): Promise<Answer<Row>> {
    const asked = connected()
    const client = await asked
    try {
      const { rows } = await client.query<Row>({ name: nameOf(text), text })
      return { row: rows[0], client }
    } catch (error) {
      if (connecting === asked) connecting = undefined
      client.end().catch(() => {})
      throw error
    }
  }

  /** A connection that nothing was asked of for long may be broken, and that is told when it is used. */
  async function ask<Row extends pg.QueryResultRow>(text: string): Promise<Answer<Row>> {
    const isOld = connecting !== undefined
    return askOnce<Row>(text).catch((error: unknown) => {
      if (!isOld || !endsConnection(error)) throw error
      return askOnce<Row>(text)
    })
  }

  return {
    ask,
    async version(): Promise<string> {
      const { row, client } = await ask<{ snapshot: string; is_known: boolean; pid: number }>(
        `select pg_current_snapshot()::text as snapshot, pg_backend_pid() as pid,
           ${areTrue} as is_known`,
      )
      // A pooler tells a process of its own.
      const { processID }: DriverConnection = client
      if (!row?.is_known || row.pid !== processID) return `none.${++answers}`
      return `${connections}.${row.snapshot}`
    },
    async close() {
      const client = await connecting?.catch(() => undefined)
      await client?.end()
    },
  }
}
