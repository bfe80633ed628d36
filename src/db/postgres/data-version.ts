import pg from 'pg'
import { clientConfig, type DriverConnection } from './connections.ts'
import { endsConnection } from './errors.ts'
import { nameOf } from './rows.ts'
import { areTrue } from './snapshots.ts'
import type { Address } from './url.ts'

/** A server that does not answer for so long is not there. Milliseconds. */
const patience = 5000

/** A connection, which one of its line it is, and when what was asked of it is answered: the driver takes one question at a time. */
type Numbered = { client: pg.Client; number: number; answered: Promise<unknown> }

/** One connection that does nothing else, made anew where it has broken. */
export type Line = ReturnType<typeof lineTo>

export function lineTo(address: Address) {
  let connecting: Promise<Numbered> | undefined
  let connections = 0
  let isClosed = false

  function connected(): Promise<Numbered> {
    if (connecting) return connecting
    const client = new pg.Client({ ...clientConfig(address), query_timeout: patience })
    const number = ++connections
    const forget = () => {
      if (connecting === made) connecting = undefined
    }
    const made: Promise<Numbered> = client.connect().then(() => ({ client, number, answered: Promise.resolve() }))
    connecting = made
    client.on('error', forget)
    client.on('end', forget)
    made.catch(forget)
    return made
  }

  async function askOnce<Row extends pg.QueryResultRow>(text: string) {
    const asked = connected()
    const connection = await asked
    const { client, number } = connection
    const answer = connection.answered.then(() => client.query<Row>({ name: nameOf(text), text }))
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
    async ask<Row extends pg.QueryResultRow>(text: string) {
      const isOld = connecting !== undefined
      return askOnce<Row>(text).catch((error: unknown) => {
        if (isClosed || !isOld || !endsConnection(error)) throw error
        return askOnce<Row>(text)
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
const place = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), current_database(), current_schema())`

type Told = { snapshot: string; is_known: boolean; pid: number; place: string | null }

/**
 * Tells the data's version by a line. Any commit changes the snapshot; but after a crash of a backend ids of transactions are used
 * again, and then equal snapshots show unequal data: so which connection it was is part of the answer, since a crash breaks all.
 * Where snapshots say nothing, or a pooler has statements reach one backend and another, each answer is another.
 *
 * The line may go past a pooler, which another one goes through, as does what is read. That has to lead to the same tables, and
 * is asked each time: a pooler may be told to lead elsewhere, and breaks no connection by it.
 */
export function versionTeller(line: Line, usual: Line) {
  let answers = 0
  // Nobody compares it where there is one line.
  const itsPlace = line === usual ? 'null' : place

  async function ask() {
    const [{ row, client, number }, read] = await Promise.all([
      line.ask<Told>(
        `select pg_current_snapshot()::text as snapshot, ${areTrue} as is_known, pg_backend_pid() as pid, ${itsPlace} as place`,
      ),
      line === usual ? undefined : usual.ask<{ place: string }>(`select ${place} as place`),
    ])
    // A pooler tells a process of its own.
    const { processID }: DriverConnection = client
    return {
      number,
      row,
      isDirect: row?.pid === processID,
      isSame: line === usual || read?.row?.place === row?.place,
    }
  }

  return {
    async version(): Promise<string> {
      const { number, row, isDirect, isSame } = await ask()
      if (!row?.is_known || !isDirect || !isSame) return `none.${++answers}`
      return `${number}.${row.snapshot}`
    },
    /** Why a line that was given for this cannot be it; undefined where it can. */
    async hindrance(): Promise<string | undefined> {
      const { isDirect, isSame } = await ask()
      if (!isDirect) return 'is not reached directly by DATABASE_DIRECT_URL: a pooler stands there, too'
      if (!isSame) return 'is not where DATABASE_DIRECT_URL leads, which has to be the same database of the same server'
      return undefined
    },
  }
}
