import { readFileSync } from 'node:fs'
import { addressAt, administer, ask } from './postgres.ts'

/** For a migrated database on the coordinator. */
const distribute = readFileSync(new URL('../../deploy/citus.sql', import.meta.url), 'utf8')

/** The addresses of the workers of a Citus coordinator; none of another PostgreSQL. */
export async function workersOf(coordinator: string): Promise<string[]> {
  const [found] = await ask<{ nodes: string | null }>(
    coordinator,
    "select to_regclass('pg_dist_node') as nodes",
  )
  if (found?.nodes == null) return []
  const workers = await ask<{ host: string }>(
    coordinator,
    "select nodename || ':' || nodeport as host from pg_dist_node where groupid > 0 and isactive order by groupid",
  )
  return workers.map(({ host }) => Object.assign(new URL(coordinator), { host }).href)
}

/**
 * Creates a database on a server, or on the nodes of a cluster, the coordinator first, and
 * distributes what `migrate` makes.
 */
export async function createOnNodes<T>(
  nodes: string[],
  name: string,
  migrate: (address: string) => Promise<T>,
): Promise<T> {
  const [coordinator = '', ...workers] = nodes
  const address = addressAt(coordinator, name)
  for (const node of nodes) await administer(node, `create database ${name}`)
  if (workers.length > 0) await formCluster(coordinator, workers, name)
  const filled = await migrate(address)
  if (workers.length > 0) await administer(address, distribute)
  return filled
}

async function formCluster(coordinator: string, workers: string[], name: string) {
  for (const node of [coordinator, ...workers])
    await administer(addressAt(node, name), 'create extension citus')
  const argumentsOf = (node: string) => `'${new URL(node).hostname}', ${new URL(node).port}`
  await administer(
    addressAt(coordinator, name),
    `select citus_set_coordinator_host(${argumentsOf(coordinator)})`,
    ...workers.map((worker) => `select citus_add_node(${argumentsOf(worker)})`),
  )
}

/**
 * Closes a database on all nodes, so that each can copy its files. Otherwise the background process
 * of Citus has it open.
 */
export async function closeTemplate(nodes: string[], name: string) {
  for (const node of nodes) {
    await administer(
      node,
      `alter database ${name} allow_connections false`,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    )
  }
}
