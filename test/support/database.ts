import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, inject, onTestFinished } from 'vitest'
import {
  addressAt,
  administer,
  givenServer,
  newName,
  type PostgresServer,
  startPostgres,
  worldName,
} from './postgres.ts'

/** A path of its own for a test's files; removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'apps-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The address, as DATABASE_URL has it, of a copy of the world on the engine that the test runs on, for this test alone. */
export const copyWorld = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${copyWorldFile()}` : newPostgres(({ world }) => `template ${world}`)

/** The same of a database that nothing was done with yet: `migrate` makes it. */
export const noDatabase = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${temporaryFolder()}/apps.sqlite` : newPostgres(() => '')

/** The file of a copy of SQLite's world. */
export function copyWorldFile(): string {
  const file = join(temporaryFolder(), 'apps.sqlite')
  copyFileSync(inject('world').source, file)
  return file
}

/** The file that an address of SQLite's names. */
export const fileOf = (address: string) => address.replace(/^sqlite:/, '')

async function newPostgres(how: (place: Place) => string): Promise<string> {
  const place = await placeOnPostgres()
  const name = newName()
  await administer(place.server, `create database ${name} ${how(place)}`)
  onTestFinished(() => administer(place.server, `drop database ${name} with (force)`))
  return addressAt(place.server, name)
}

/** A server, and the name of the world's database there. */
type Place = { server: string; world: string }

let own: Promise<PostgresServer> | undefined

/**
 * Each file of tests has a server of its own, unless one is given: whatever is written anywhere in a server is another version
 * of all its databases, and no answer would be kept while other files are at work.
 */
async function placeOnPostgres(): Promise<Place> {
  const { source } = inject('world')
  if (givenServer !== undefined) return { server: givenServer, world: new URL(source).pathname.slice(1) }
  own ??= startPostgres(source)
  return { server: (await own).address, world: worldName }
}

afterAll(async () => (await own)?.remove())
