import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, inject, onTestFinished } from 'vitest'
import { addressAt, configuredServer, copyStrategy, newName, startPostgres, worldName } from './postgres.ts'

/** A new directory for a test's files, removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'apps-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The DATABASE_URL of a new copy of the world, on the engine of the test run. */
export const copyWorld = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${copyWorldFile()}` : newPostgres(({ world }) => world)

/** The DATABASE_URL of a new database that is not migrated yet. */
export const emptyDatabaseUrl = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${temporaryFolder()}/apps.sqlite` : newPostgres(() => 'template1')

/** The file of a new copy of the world on SQLite. */
export function copyWorldFile(): string {
  const file = join(temporaryFolder(), 'apps.sqlite')
  copyFileSync(inject('world').source, file)
  return file
}

/** The file of a SQLite DATABASE_URL. */
export const filePath = (address: string) => address.replace(/^sqlite:/, '')

async function newPostgres(templateIn: (factory: DatabaseFactory) => string): Promise<string> {
  factory ??= createFactory()
  const { server, strategy, administrator } = await factory
  const name = newName()
  await administrator.query(`create database ${name} template ${templateIn(await factory)} ${strategy}`)
  onTestFinished(async () => void (await administrator.query(`drop database ${name} with (force)`)))
  return addressAt(server, name)
}

/** The server for the databases of a test file. */
type DatabaseFactory = {
  server: string
  /** The name of the world's database on it. */
  world: string
  strategy: string
  /** One session that creates and drops the databases of a test file. */
  administrator: Client
  close: () => Promise<void>
}

let factory: Promise<DatabaseFactory> | undefined

/** Each test file has its own server, unless TEST_POSTGRES_URL is set. */
async function createFactory(): Promise<DatabaseFactory> {
  const { source } = inject('world')
  const own = configuredServer === undefined ? await startPostgres(source) : undefined
  const server = own?.address ?? configuredServer ?? ''
  const administrator = new Client(server)
  await administrator.connect()
  return {
    server,
    world: own ? worldName : new URL(source).pathname.slice(1),
    strategy: own ? copyStrategy : '',
    administrator,
    async close() {
      await administrator.end()
      await own?.remove()
    },
  }
}

afterAll(async () => (await factory)?.close())
