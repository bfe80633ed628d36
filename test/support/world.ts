import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { findOrAddDeveloper, issueKey } from '../../src/accounts/account-store.ts'
import { findApp, insertApp, type NewAppRow, saveApp } from '../../src/catalogue/app-store.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import { migrate } from '../../src/db/migrations.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { closeTemplate, createOnNodes, workersOf } from './citus.ts'
import {
  addressAt,
  administer,
  configuredServer,
  emptyCatalogue,
  hasPostgres,
  newName,
  startPostgres,
  worldName,
} from './postgres.ts'
import { addReviews } from './reviews.ts'
import { wholeRow } from './whole-app.ts'

/** A small catalogue. Every test starts with its own copy. */
export type World = {
  /**
   * The source of the copies, which nobody has open: SQLite's file or the data directory of a
   * stopped PostgreSQL; with TEST_POSTGRES_URL, the address of the database.
   */
  source: string
  /** Those with less than all rights are Ada's, `oneApp` for her pending app. */
  keys: Record<'ada' | 'bob' | 'expired' | 'revoked' | 'oneApp' | 'readOnly', string>
  categories: Record<'tools' | 'games' | 'empty', number>
  /** Ada's apps, one in each state, and two of Bob's. */
  apps: Record<'approved' | 'pending' | 'rejected' | 'deleted' | 'bobs' | 'bobsPending', number>
}

declare module 'vitest' {
  interface ProvidedContext {
    engine: 'sqlite' | 'postgres'
    world: World
    /** The addresses of the workers if TEST_POSTGRES_URL is that of a Citus coordinator. */
    workers: string[]
  }
}

/**
 * The projects of vitest.config.ts are named after their engine. Without projects, it is SQLite.
 */
export default async function setup(project: TestProject) {
  const engine = project.name === 'postgres' ? 'postgres' : 'sqlite'
  const make =
    engine === 'sqlite'
      ? onSqlite
      : configuredServer === undefined
        ? onPostgres
        : onConfiguredServer(configuredServer)
  const { remove, workers, ...world } = await make()
  project.provide('engine', engine)
  project.provide('world', world)
  project.provide('workers', workers)
  return async () => {
    await remove()
    if (project.name === 'sqlite' && !hasPostgres) console.log(skippedPostgres)
  }
}

const skippedPostgres =
  'Skipped the tests on PostgreSQL: install Debian’s package postgresql, or set TEST_POSTGRES_URL.'

async function onSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'apps-world-'))
  const source = join(folder, 'world.sqlite')
  const world = await createWorld(`sqlite:${source}`)
  await createEmpty(`sqlite:${emptyCatalogue(source)}`)
  return { ...world, source, workers: [], remove: () => rmSync(folder, { recursive: true }) }
}

async function onPostgres() {
  const { address, data, stop, remove } = await startPostgres()
  for (const name of [worldName, emptyCatalogue(worldName)])
    await administer(address, `create database ${name}`)
  const world = await createWorld(addressAt(address, worldName))
  await createEmpty(addressAt(address, emptyCatalogue(worldName)))
  await stop('SIGINT')
  return { ...world, source: data, workers: [], remove }
}

const onConfiguredServer = (server: string) => async () => {
  const name = newName()
  const workers = await workersOf(server)
  const nodes = [server, ...workers]
  const onAllNodes = async (statement: string) => {
    for (const node of nodes) await administer(node, statement)
  }
  const world = await createOnNodes(nodes, name, createWorld)
  if (workers.length > 0) await closeTemplate(nodes, name)
  await onAllNodes(`create database ${emptyCatalogue(name)}`)
  await createEmpty(addressAt(server, emptyCatalogue(name)))
  const remove = async () => {
    for (const each of [name, emptyCatalogue(name)]) await onAllNodes(`drop database ${each}`)
  }
  return { ...world, source: addressAt(server, name), workers, remove }
}

async function createEmpty(address: string) {
  const database = openDatabase(address)
  await migrate(database)
  await database.close()
}

const actor = { operator: 'world' }

export async function createWorld(address: string): Promise<Omit<World, 'source'>> {
  const database = openDatabase(address)
  await migrate(database)
  const world = await database.write(async (runner) => {
    const { sql } = runner

    const { id: tools } = await addCategory(runner, 'tools', 'Tools', actor)
    const { id: games } = await addCategory(runner, 'games', 'Games', actor)
    const { id: empty } = await addCategory(runner, 'empty', 'Empty', actor)

    const ada = await findOrAddDeveloper(runner, 'Ada')
    const bob = await findOrAddDeveloper(runner, 'Bob')
    await sql('developers').where({ id: ada.id }).update({ contact: 'ada@example.org' })
    const adas = await issueKey(runner, ada, actor)
    const bobs = await issueKey(runner, bob, actor)
    const expired = await issueKey(runner, ada, actor)
    const revoked = await issueKey(runner, ada, actor)
    const past = '2020-01-01T00:00:00.000Z'
    await sql('api_keys').where({ id: expired.id }).update({ expires_at: past })
    await sql('api_keys').where({ id: revoked.id }).update({ revoked_at: past })

    const insert = async (developer_id: number, name: string, more: Partial<NewAppRow> = {}) => {
      const times = { created_at: past, updated_at: past, approved_at: null }
      const texts = {
        name,
        description: `${name} is here.`,
        short_description: null,
        package_name: null,
        version: '1.0.0',
      }
      const state = {
        status: 'pending' as const,
        rejection_reason: null,
        total_downloads: 0,
        category_id: tools,
      }
      return (
        await insertApp(runner, { developer_id, ...times, ...texts, ...state, ...more }, actor)
      ).id
    }
    const approved = await insert(ada.id, 'Tide Clock', { ...wholeRow, total_downloads: 100 })
    const pending = await insert(ada.id, 'Cloud Atlas')
    const rejected = await insert(ada.id, 'Broken Compass')
    const deleted = await insert(ada.id, 'Gone', { package_name: 'org.example.gone' })
    const bobsApp = await insert(bob.id, 'Bird Song', { category_id: games, total_downloads: 7 })
    const bobsPending = await insert(bob.id, 'Night Train')
    for (const id of [approved, deleted, bobsApp]) await decideApp(runner, 'approve', id, actor)
    await decideApp(runner, 'reject', rejected, actor, { reason: 'It points south.' })
    const gone = await findApp(runner, deleted)
    if (gone) await saveApp(runner, 'app delete', gone, { deleted_at: past }, actor)
    await addReviews(runner, [
      {
        app_id: approved,
        reviewer_name: 'Cy',
        rating: 4,
        comment: 'Fine.',
        created_at: '2026-01-01T00:00:00.000Z',
      },
      {
        app_id: approved,
        reviewer_name: 'Di',
        rating: 5,
        comment: '',
        created_at: '2026-02-01T00:00:00.000Z',
      },
      {
        app_id: approved,
        reviewer_name: 'Ed',
        rating: 5,
        comment: 'Right.',
        created_at: '2026-01-15T00:00:00.000Z',
      },
    ])

    const oneApp = await issueKey(runner, ada, actor, { app_id: pending })
    const readOnly = await issueKey(runner, ada, actor, { read_only: true })

    return {
      keys: {
        ada: adas.key,
        bob: bobs.key,
        expired: expired.key,
        revoked: revoked.key,
        oneApp: oneApp.key,
        readOnly: readOnly.key,
      },
      categories: { tools, games, empty },
      apps: { approved, pending, rejected, deleted, bobs: bobsApp, bobsPending },
    }
  })
  // Closing SQLite's last connection checkpoints the log into the file, which can then be copied.
  await database.close()
  return world
}
