import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { findOrAddDeveloper, removeDeveloper } from '../../src/accounts/account-store.ts'
import { insertApp } from '../../src/catalogue/app-store.ts'
import { addCategory, removeCategory } from '../../src/catalogue/category-store.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { importLines } from '../support/catalogue-file.ts'
import { expectConsistentAt } from '../support/consistency.ts'
import {
  copyWorld,
  emptyCatalogueUrl,
  emptyDatabaseUrl,
  temporaryFolder,
} from '../support/database.ts'
import { commandLine, executable, expectRefusal, serve } from '../support/process.ts'
import { sortOrders } from '../support/sort-orders.ts'

const tables = [
  ...[
    'developers',
    'api_keys',
    'categories',
    'apps',
    'slug_numbers',
    'reviews',
    'audit',
    'idempotency_keys',
  ],
] as const

/** All rows of all tables. */
const contentOf = (database: Database) =>
  database.snapshot(async ({ sql }) => {
    const content: Record<string, unknown> = {}
    for (const table of tables) {
      const rows: object[] = await sql(table as string)
      content[table] = new Set(rows.map((row) => JSON.stringify(Object.entries(row).toSorted())))
    }
    return content
  })

async function using<T>(address: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(address)
  return work(database).finally(() => database.close())
}

const actor = { operator: 'test' }

/**
 * A copy of the world with names that several apps share, in which a developer and two categories
 * were removed.
 */
async function livelyWorld(): Promise<string> {
  const address = await copyWorld()
  await using(address, async (database) => {
    const app = {
      description: '日本語 and naïve – 🎈',
      category: 'tools',
      developer_name: 'Zoë',
      status: 'approved',
    }
    const review = {
      reviewer_name: 'Cy',
      rating: 4,
      comment: '',
      created_at: '2026-01-01T00:00:00.000Z',
    }
    const lines = Array.from({ length: 1200 }, (_, index) => ({
      ...app,
      name: `Star ${index % 400}`,
      package_name: `org.example.star${index}`,
      reviews: [review],
      ...(index % 3 === 0 && {
        average_rating: 4.4,
        rating_count: 69_000_000,
        total_downloads: 2 ** 40,
      }),
    }))
    expect(await importLines(database, lines)).toMatchObject({ created: 1200 })
    const key = {
      developer_id: 1,
      key: 'k',
      body_hash: '1:',
      app_id: 1,
      created_at: '2026-01-01T00:00:00.000Z',
    }
    await database.write(async (runner) => {
      await runner.sql('idempotency_keys').insert(key)
      await findOrAddDeveloper(runner, 'Removed')
      await removeDeveloper(runner, 'Removed', actor)
      // Two, so that their ids go further than those of developers.
      for (const slug of ['removed', 'removed-too']) await addCategory(runner, slug, slug, actor)
      for (const slug of ['removed', 'removed-too']) await removeCategory(runner, slug, actor)
    })
  })
  return address
}

test('a copy and a copy of it have all rows, ids, slugs and search results', async () => {
  const first = await livelyWorld()
  const second = `sqlite:${temporaryFolder()}/second.sqlite`
  await using(second, (database) => database.migrate())
  const third = await emptyCatalogueUrl()
  const { code, stdout, stderr } = await commandLine(first).run('copy', '--to', second)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(
    /^Copied everything to .*: 1,206 apps, 1,203 reviews and [\d,]+ audit entries, in [\d.]+ s\./,
  )
  expect(await commandLine(second).json('copy', '--to', third)).toMatchObject({
    rows: {
      apps: 1206,
      reviews: 1203,
      categories: 3,
      developers: 3,
      api_keys: 4,
      idempotency_keys: 1,
    },
  })
  const expected = await using(first, contentOf)
  for (const address of [second, third]) {
    expect(await using(address, contentOf)).toEqual(expected)
    await expectConsistentAt(address)
  }
  const created = await Promise.all(
    [first, second, third].map((address) =>
      using(address, (database) =>
        database.write(async (runner) => {
          const [app] = await runner.sql('apps').where({ name: 'Star 7' })
          if (!app) throw new Error('there is no such app')
          const { id: _, slug: __, package_name: ___, package_key: ____, ...rest } = app
          const { id, slug } = await insertApp(runner, { ...rest, package_name: null }, actor)
          const developer = await findOrAddDeveloper(runner, 'New')
          const category = await addCategory(runner, 'new', 'New', actor)
          return [id, slug, developer.id, category.id]
        }),
      ),
    ),
  )
  expect(created).toEqual(created.map(() => [1207, 'star-7-4', 5, 6]))
})

test('an export has no idempotency keys', async () => {
  const address = await copyWorld()
  const key = {
    developer_id: 1,
    key: 'secret-k',
    body_hash: '1:',
    app_id: 1,
    created_at: '2026-01-01T00:00:00.000Z',
  }
  await using(address, (database) =>
    database.write(({ sql }) => sql('idempotency_keys').insert(key)),
  )
  const { code, stdout } = await commandLine(address).run('export')
  expect([code, stdout.includes('Tide Clock'), stdout.includes(key.key)]).toEqual([0, true, false])
})

test('a copy is served byte for byte', async () => {
  const source = await livelyWorld()
  const target = await emptyCatalogueUrl()
  await commandLine(source).json('copy', '--to', target)
  const [one, other] = await Promise.all([serve(source), serve(target)])
  const orders = sortOrders.flatMap((sort) => [1, 7, 13].map((page) => `sort=${sort}&page=${page}`))
  const searches = ['star', 'zoe', '日本', 'ada', 'sons', '🎈', 'star 12'].map(
    (text) => `search=${encodeURIComponent(text)}`,
  )
  const paths = [...orders, ...searches].map((query) => `/apps?limit=100&${query}`)
  for (const path of [...paths, ...Array.from({ length: 20 }, (_, id) => `/apps/${id + 1}`)]) {
    const [expected, given] = await Promise.all([
      one.request('GET', path),
      other.request('GET', path),
    ])
    expect([given.status, given.text, given.headers.etag, given.headers.link]).toEqual([
      expected.status,
      expected.text,
      expected.headers.etag,
      expected.headers.link,
    ])
  }
})

test('copying is refused to a database that is not empty, not migrated, the same or missing', async () => {
  const address = await copyWorld()
  const { run } = commandLine(address)
  expectRefusal(
    await run('copy', '--to', await copyWorld()),
    /is not empty: it has rows in developers, api_keys, categories, apps/,
  )
  expectRefusal(
    await run('copy', '--to', await emptyDatabaseUrl()),
    /; (run )?\.\/apps-service migrate/,
  )
  expectRefusal(await run('copy', '--to', address), /is the source; use another database for --to/)
  expect(await run('copy', '--to', 'mysql://x')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--to must be sqlite:PATH/),
  })
})

test('copying is refused while a server has the database open', async () => {
  const address = await copyWorld()
  const server = await serve(address)
  const { run } = commandLine(address)
  const target = await emptyCatalogueUrl()
  expectRefusal(await run('copy', '--to', target), /is in use; stop the server/)
  server.process.kill('SIGTERM')
  await server.exited
  expect((await run('copy', '--to', target)).code).toBe(0)
})

test('kill -9 during a copy leaves everything or nothing, and the copy can be started again', async () => {
  const source = await livelyWorld()
  const expected = await using(source, contentOf)
  const apps = (address: string) =>
    using(address, (database) =>
      database.read(async ({ sql }) => (await sql('apps').pluck('id')).length),
    )
  let killed = 0
  for (let round = 0; round < 4; round++) {
    const target = await emptyCatalogueUrl()
    const child = spawn(executable, ['copy', '--to', target], {
      env: { PATH: process.env.PATH, DATABASE_URL: source },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const exited = once(child, 'exit')
    await Promise.race([exited, delay(150 + 100 * round)])
    child.kill('SIGKILL')
    if ((await exited)[0] === null) killed++
    // PostgreSQL may notice late that the client is gone, and still run its last statement.
    for (const address of [source, target]) await expect.poll(() => isInUse(address)).toBe(false)
    const arrived = await apps(target)
    expect([0, 1206]).toContain(arrived)
    if (arrived === 0)
      expect((await commandLine(source).run('copy', '--to', target)).stderr).toBe('')
    expect(await using(target, contentOf)).toEqual(expected)
  }
  expect(killed).toBeGreaterThan(0)
})

async function isInUse(address: string): Promise<boolean> {
  const database = openDatabase(address)
  const isAlone = await database.withExclusiveLock(async () => true).catch(() => false)
  await database.close()
  return !isAlone
}

test('a database cannot be written while it is copied', async () => {
  const address = await copyWorld()
  const source = openDatabase(address)
  const write = (database: Database) =>
    database.write(({ sql }) => sql('apps').update({ version: '2' }))
  await source.withExclusiveLock(async () => {
    await expect(using(address, write)).rejects.toMatchObject({ code: 'unavailable' })
  })
  await source.close()
  expect(await using(address, write)).toBe(6)
})
