import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { addressAt, administer, newName } from './postgres.ts'

/** A path of its own for a test's files; removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'apps-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** The address, as DATABASE_URL has it, of a copy of the world on the engine that the test runs on, for this test alone. */
export async function copyWorld(): Promise<string> {
  const { address } = inject('world')
  return inject('engine') === 'sqlite'
    ? `sqlite:${copyWorldFile()}`
    : newPostgres(address, `template ${nameIn(address)}`)
}

/** The same of a database that nothing was done with yet: `migrate` makes it. */
export const noDatabase = async (): Promise<string> =>
  inject('engine') === 'sqlite' ? `sqlite:${temporaryFolder()}/apps.sqlite` : newPostgres(inject('world').address)

/** The file of a copy of SQLite's world. */
export function copyWorldFile(): string {
  const file = join(temporaryFolder(), 'apps.sqlite')
  copyFileSync(fileOf(inject('world').address), file)
  return file
}

/** The file that an address of SQLite's names. */
export const fileOf = (address: string) => address.replace(/^sqlite:/, '')

async function newPostgres(beside: string, how = ''): Promise<string> {
  const name = newName()
  const server = addressAt(beside, 'postgres')
  await administer(server, `create database ${name} ${how}`)
  onTestFinished(() => administer(server, `drop database ${name} with (force)`))
  return addressAt(beside, name)
}

const nameIn = (address: string) => new URL(address).pathname.slice(1)
