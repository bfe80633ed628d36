import { openReader } from './connections.ts'

/**
 * Tells the data's version by a connection that does nothing else: `data_version` changes with the commits of all others, the
 * server's own writer and other processes (https://sqlite.org/pragma.html#pragma_data_version). Each connection counts for
 * itself, so which one it was is part of the answer.
 */
export function versionTeller(filename: string) {
  const sql = openReader(filename, 1)
  const numbers = new WeakMap<object, number>()
  let last = 0

  return {
    async version(): Promise<string> {
      const connection: object = await sql.client.acquireConnection()
      try {
        const number = numbers.get(connection) ?? ++last
        numbers.set(connection, number)
        const [row] = await sql.raw('pragma data_version').connection(connection)
        return `${number}.${row.data_version}`
      } finally {
        await sql.client.releaseConnection(connection)
      }
    },
    close: () => sql.destroy(),
  }
}
