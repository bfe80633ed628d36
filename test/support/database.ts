import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { whenFinished } from './lifetime.ts'
import {
  addressAt,
  administer,
  configuredServer,
  copyStrategy,
  emptyCatalogue,
  newName,
  startPostgres,
  worldName,
} from './postgres.ts'

/** A new directory for a test's files, removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'apps-test-'))
  whenFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The DATABASE_URL of a new copy of the world, on the engine of the test run. */
export const copyWorld = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${copyWorldFile()}` : newPostgres(({ world }) => world)

/** The DATABASE_URL of a new database that is not migrated yet. */
export const emptyDatabaseUrl = async (): Promise<string> =>
  inject('engine') === 'sqlite'
    ? `sqlite:${temporaryFolder()}/apps.sqlite`
    : newPostgres(() => 'template1')

/** The DATABASE_URL of a new migrated database without rows. */
export const emptyCatalogueUrl = async (): Promise<string> =>
  inject('engine') === 'sqlite'
    ? `sqlite:${copySqlite(emptyCatalogue(inject('world').source))}`
    : newPostgres(({ world }) => emptyCatalogue(world))

/** A new copy of the world, closed when the test ends. */
export const openWorld = async (): Promise<DatabaseWithTools> =>
  openUntilFinished(await copyWorld())

/** A new migrated database without rows, closed when the test ends. */
export const openEmptyCatalogue = async (): Promise<DatabaseWithTools> =>
  openUntilFinished(await emptyCatalogueUrl())

function openUntilFinished(address: string): DatabaseWithTools {
  const database = openDatabase(address)
  whenFinished(() => database.close())
  return database
}

/** The file of a new copy of the world on SQLite. */
export const copyWorldFile = (): string => copySqlite(inject('world').source)

function copySqlite(source: string): string {
  const file = join(temporaryFolder(), 'apps.sqlite')
  copyFileSync(source, file)
  return file
}

/** The file of a SQLite DATABASE_URL. */
export const filePath = (address: string) => address.replace(/^sqlite:/, '')

async function newPostgres(templateIn: (factory: DatabaseFactory) => string): Promise<string> {
  factory ??= createFactory()
  const { server, strategy, administrators } = await factory
  const name = newName()
  // One after the other, since the nodes of a cluster wait for each other while they drop a
  // database.
  const onAllNodes = async (statement: string) => {
    for (const node of administrators) await node.query(statement)
  }
  await onAllNodes(`create database ${name} template ${templateIn(await factory)} ${strategy}`)
  whenFinished(async () => {
    // Otherwise a node's background process would wait for a new session in the database, and the
    // drop for that process.
    if (administrators.length > 1)
      await onAllNodes(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
      )
    await onAllNodes(`drop database ${name} with (force)`)
  })
  return addressAt(server, name)
}

/** The server for the databases of a worker. */
type DatabaseFactory = {
  server: string
  /** The name of the world's database on it. */
  world: string
  strategy: string
  /** Sessions that create and drop databases, one on each node. */
  administrators: Client[]
}

let factory: Promise<DatabaseFactory> | undefined

/** Each worker has its own server, which stops with it, unless TEST_POSTGRES_URL is set. */
async function createFactory(): Promise<DatabaseFactory> {
  const { source } = inject('world')
  const own = configuredServer === undefined ? await startPostgres(source) : undefined
  const server = own?.address ?? configuredServer ?? ''
  // A server forgets at its start what sessions load first (pg_internal.init). The first session
  // writes it again, and each copy of the database has it.
  if (own)
    for (const name of [worldName, emptyCatalogue(worldName)])
      await administer(addressAt(own.address, name), 'select 1')
  const administrators = [server, ...inject('workers')].map((node) => new Client(node))
  for (const administrator of administrators) await administrator.connect()
  return {
    server,
    world: own ? worldName : new URL(source).pathname.slice(1),
    strategy: own ? copyStrategy : '',
    administrators,
  }
}
