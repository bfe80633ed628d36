import { openReader, selectRows } from './client.ts'
import type { DatabaseFile } from './database-file.ts'

/**
 * Reads the data's version on a connection that does nothing else: `data_version` changes with the commits of all other
 * connections, also those of other processes (https://sqlite.org/pragma.html#pragma_data_version). Each connection counts for
 * itself, so the version includes which connection it was; and how often the file was found damaged, since restoring a
 * damaged file is no commit.
 */
export function dataVersionReader(filename: string, file: DatabaseFile) {
  const sql = openReader(filename, file, 1)
  let current: unknown
  let count = 0

  return {
    sql,
    async version(): Promise<string> {
      const connection = await sql.client.acquireConnection()
      try {
        if (current !== connection) count++
        current = connection
        const [row] = await selectRows<{ data_version: number }>(connection, 'pragma data_version')
        return `${count}.${row?.data_version}.${file.damageCount()}`
      } finally {
        sql.client.releaseConnection(connection)
      }
    },
  }
}
