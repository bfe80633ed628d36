import { openReader } from './connections.ts'

/** What of the driver's prepared statements is used here. A `get` would answer once and then nothing, for it is not reset. */
type Statement = {
  all: (done: (error: Error | null, rows: { data_version: number }[]) => void) => void
  finalize: (done: () => void) => void
}
type Connection = { prepare: (sql: string) => Statement }

/**
 * Tells the data's version by a connection that does nothing else: `data_version` changes with the commits of all others, the
 * server's own writer and other processes (https://sqlite.org/pragma.html#pragma_data_version). Each connection counts for
 * itself, so which one it was is part of the answer. Asked before each kept answer, so past knex: a prepared statement takes
 * a third of the time.
 */
export function versionTeller(filename: string) {
  const sql = openReader(filename, 1)
  let current: { connection: Connection; statement: Statement; number: number } | undefined

  /** A connection with a statement that is not finalized would not close. */
  const finalize = () => new Promise<void>((resolve) => (current ? current.statement.finalize(resolve) : resolve()))

  async function statementOf(connection: Connection) {
    if (current?.connection !== connection) {
      await finalize()
      const number = (current?.number ?? 0) + 1
      current = { connection, statement: connection.prepare('pragma data_version'), number }
    }
    return current
  }

  return {
    async version(): Promise<string> {
      const connection: Connection = await sql.client.acquireConnection()
      try {
        const { number, statement } = await statementOf(connection)
        return await new Promise((resolve, reject) =>
          statement.all((error, [row] = []) => (error ? reject(error) : resolve(`${number}.${row?.data_version}`))),
        )
      } finally {
        await sql.client.releaseConnection(connection)
      }
    },
    async close() {
      await finalize()
      await sql.destroy()
    },
  }
}
