import { onTestFinished } from 'vitest'
import { createOnNodes, workersOf } from '../support/citus.ts'
import {
  addressAt,
  administer,
  configuredServer,
  newName,
  startPostgres,
} from '../support/postgres.ts'

/**
 * A new PostgreSQL database that `migrate` has filled: on the server in TEST_POSTGRES_URL, or on a
 * new one. Returns its address on each node of a Citus cluster, the coordinator first, or else the
 * only one.
 */
export async function startDatabase<T>(
  migrate: (address: string) => Promise<T>,
): Promise<[addresses: [string, ...string[]], T]> {
  const name = newName()
  if (configuredServer !== undefined) {
    const workers = await workersOf(configuredServer)
    const nodes = [configuredServer, ...workers]
    onTestFinished(async () => {
      for (const node of nodes) await administer(node, `drop database ${name} with (force)`)
    })
    const filled = await createOnNodes(nodes, name, migrate)
    return [
      [addressAt(configuredServer, name), ...workers.map((worker) => addressAt(worker, name))],
      filled,
    ]
  }
  const { address: server, remove } = await startPostgres()
  onTestFinished(remove)
  const address = addressAt(server, name)
  return [[address], await createOnNodes([server], name, migrate)]
}
