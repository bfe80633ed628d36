import { openReader } from './connections.ts'
import type { DatabaseFile } from './file.ts'

/** What of the driver's prepared statements is used here. A `get` would answer once and then nothing, for it is not reset. */
type Statement = {
  all: (done: (error: Error | null, rows: { data_version: number }[]) => void) => void
  finalize: (done: () => void) => void
}
type Connection = { prepare: (sql: string) => Statement }

/**
 * Tells the data's version by a connection that does nothing else: `data_version` changes with the commits of all others, the
 * server's own writer and other processes (https://sqlite.org/pragma.html#pragma_data_version). Each connection counts for
 * itself, so which one it was is part of the answer; so is how often the file was found damaged, since what is put in its
 * place is no commit. Asked before each kept answer, so past knex: a prepared statement takes a third of the time.
 */
export function versionTeller(filename: string, file: DatabaseFile) {
  const sql = openReader(filename, file, 1)
  let current: { connection: Connection; statement: Statement } | undefined
  let number = 0

  /** A connection with a statement that is not finalized would not close. */
  async function finalize() {
    const { statement } = current ?? {}
    current = undefined
    if (statement) await new Promise<void>((resolve) => statement.finalize(resolve))
  }

  async function statementOf(connection: Connection) {
    if (current?.connection !== connection) {
      await finalize()
      number++
      current = { connection, statement: connection.prepare('pragma data_version') }
    }
    return current.statement
  }

  return {
    sql,
    async version(): Promise<string> {
      const connection: Connection = await sql.client.acquireConnection()
      try {
        const statement = await statementOf(connection)
        return await new Promise((resolve, reject) =>
          statement.all((error, [row] = []) => {
            if (!error) return resolve(`${number}.${row?.data_version}.${file.damages()}`)
            file.notice(error)
            reject(error)
          }),
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
