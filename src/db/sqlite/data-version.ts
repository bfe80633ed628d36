import { openReader } from './connections.ts'
import type { DatabaseFile } from './database-file.ts'
import { type DriverConnection, selectRows } from './statements.ts'

/**
 * Tells the data's version by a connection that does nothing else: `data_version` changes with the commits of all others, the
 * server's own writer and other processes (https://sqlite.org/pragma.html#pragma_data_version). Each connection counts for
 * itself, so which one it was is part of the answer; so is how often the file was found damaged, since what is put in its
 * place is no commit.
 */
export function dataVersionReader(filename: string, file: DatabaseFile) {
  const sql = openReader(filename, file, 1)
  let current: { connection: DriverConnection; number: number } | undefined

  function numberOf(connection: DriverConnection): number {
    if (current?.connection !== connection) current = { connection, number: (current?.number ?? 0) + 1 }
    return current.number
  }

  return {
    sql,
    async version(): Promise<string> {
      const connection: DriverConnection = await sql.client.acquireConnection()
      try {
        const [row] = await selectRows<{ data_version: number }>(connection, 'pragma data_version')
        return `${numberOf(connection)}.${row?.data_version}.${file.damageCount()}`
      } finally {
        sql.client.releaseConnection(connection)
      }
    },
  }
}
