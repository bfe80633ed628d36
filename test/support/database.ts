import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, inject, onTestFinished } from 'vitest'
import { addressAt, configuredServer, copyStrategy, newName, startPostgres, worldName } from './postgres.ts'

/** A path of its own for a test's files; removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'apps-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The address, as DATABASE_URL has it, of a copy of the world on the engine that the test runs on, for this test alone. */
export const copyWorld = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${copyWorldFile()}` : newPostgres(({ world }) => world)

/** The same of a database that nothing was done with yet: `migrate` makes it. */
export const emptyDatabaseUrl = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${temporaryFolder()}/apps.sqlite` : newPostgres(() => 'template1')

/** The file of a copy of SQLite's world. */
export function copyWorldFile(): string {
  const file = join(temporaryFolder(), 'apps.sqlite')
  copyFileSync(inject('world').source, file)
  return file
}

/** The file that an address of SQLite's names. */
export const filePath = (address: string) => address.replace(/^sqlite:/, '')

async function newPostgres(templateIn: (factory: DatabaseFactory) => string): Promise<string> {
  factory ??= placeOnPostgres()
  const { server, strategy, administrator } = await factory
  const name = newName()
  await administrator.query(`create database ${name} template ${templateIn(await factory)} ${strategy}`)
  onTestFinished(async () => void (await administrator.query(`drop database ${name} with (force)`)))
  return addressAt(server, name)
}

/** Where the databases of a file's tests are made. */
type DatabaseFactory = {
  server: string
  /** The name of the world's database there. */
  world: string
  strategy: string
  /** One session for all that the tests of a file make and drop. */
  administrator: Client
  leave: () => Promise<void>
}

let factory: Promise<DatabaseFactory> | undefined

/**
 * Each file of tests has a server of its own, unless one is given: whatever is written anywhere in a server is another version
 * of all its databases, and no answer would be kept while other files are at work.
 */
async function placeOnPostgres(): Promise<DatabaseFactory> {
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
    async leave() {
      await administrator.end()
      await own?.remove()
    },
  }
}

afterAll(async () => (await factory)?.leave())
