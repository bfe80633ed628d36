import { openReader } from './connections.ts'
import { type DriverConnection, rowsFrom } from './statements.ts'

/**
 * Tells the data's version by a connection that does nothing else: `data_version` changes with the commits of all others, the
 * server's own writer and other processes (https://sqlite.org/pragma.html#pragma_data_version). Each connection counts for
 * itself, so which one it was is part of the answer.
 */
export function versionTeller(filename: string) {
  const sql = openReader(filename, 1)
  let current: { connection: DriverConnection; number: number } | undefined

  function numberOf(connection: DriverConnection): number {
    if (current?.connection !== connection) current = { connection, number: (current?.number ?? 0) + 1 }
    return current.number
  }

  return {
    async version(): Promise<string> {
      const connection: DriverConnection = await sql.client.acquireConnection()
      try {
        const [row] = await rowsFrom<{ data_version: number }>(connection, 'pragma data_version')
        return `${numberOf(connection)}.${row?.data_version}`
      } finally {
        sql.client.releaseConnection(connection)
      }
    },
    close: () => sql.destroy(),
  }
}
