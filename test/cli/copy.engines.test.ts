import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findOrAddDeveloper, removeDeveloper } from '../../src/accounts/account-store.ts'
import { insertApp } from '../../src/catalogue/app-store.ts'
import { addCategory, removeCategory } from '../../src/catalogue/category-store.ts'
import { migrate } from '../../src/db/migrations.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { exampleReview, importLines } from '../support/catalogue-file.ts'
import { expectConsistentAt } from '../support/consistency.ts'
import {
  copyWorld,
  emptyCatalogueUrl,
  emptyDatabaseUrl,
  temporaryFolder,
} from '../support/database.ts'
import { share } from '../support/lifetime.ts'
import { commandLine, executable, expectRefusal, serve } from '../support/process.ts'

const tables = [
  'developers',
  'api_keys',
  'categories',
  'apps',
  'slug_numbers',
  'reviews',
  'audit',
  'idempotency_keys',
]

/** All rows of all tables. */
const contentOf = (database: DatabaseWithTools) =>
  database.snapshot(async ({ sql }) => {
    const content: Record<string, unknown> = {}
    for (const table of tables) {
      const rows: object[] = await sql(table)
      content[table] = new Set(rows.map((row) => JSON.stringify(Object.entries(row).toSorted())))
    }
    return content
  })

async function using<T>(
  address: string,
  work: (database: DatabaseWithTools) => Promise<T>,
): Promise<T> {
  const database = openDatabase(address)
  return work(database).finally(() => database.close())
}

const actor = { operator: 'test' }

/**
 * A copy of the world with names that several apps share, in which a developer and two categories
 * were removed. The tests copy it, and change only the copies.
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
    const lines = Array.from({ length: 1200 }, (_, index) => ({
      ...app,
      name: `Star ${index % 400}`,
      package_name: `org.example.star${index}`,
      reviews: [exampleReview],
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

let source = ''
share(async () => {
  source = await livelyWorld()
})

test('a copy and a copy of it have all rows, ids, slugs and search results', async () => {
  const second = `sqlite:${temporaryFolder()}/second.sqlite`
  await using(second, (database) => migrate(database))
  const third = await emptyCatalogueUrl()
  const { code, stdout, stderr } = await commandLine(source).run('copy', '--to', second)
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
      api_keys: 6,
      idempotency_keys: 1,
    },
  })
  const expected = await using(source, contentOf)
  for (const address of [second, third]) {
    expect(await using(address, contentOf)).toEqual(expected)
    await expectConsistentAt(address)
  }
  const created = await Promise.all(
    [second, third].map((address) =>
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

/**
 * Makes a process print its progress after each batch of rows, instead of every ten seconds, and
 * kill itself when it prints such a line.
 */
function killingItself(line: RegExp) {
  const preload = join(temporaryFolder(), 'preload.mjs')
  writeFileSync(
    preload,
    `let calls = 0
    performance.now = () => 10_000 * ++calls
    process.stderr.write = (text) => {
      if (${line}.test(text)) process.kill(process.pid, 'SIGKILL')
    }`,
  )
  return { NODE_OPTIONS: `--import=${preload}` }
}

test.for([
  { batch: 'the first', line: /^[\d,]+ of [\d,]+ rows/ },
  { batch: 'the last', line: /^([\d,]+) of \1 rows/ },
])(
  'kill -9 after $batch batch of a copy leaves nothing, and it can be started again',
  async ({ line }) => {
    const expected = await using(source, contentOf)
    const target = await emptyCatalogueUrl()
    const child = spawn(executable, ['copy', '--to', target], {
      env: { PATH: process.env.PATH, DATABASE_URL: source, ...killingItself(line) },
      stdio: 'ignore',
    })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    // PostgreSQL may notice late that the client is gone, and still run its last statement.
    for (const address of [source, target]) await expect.poll(() => isInUse(address)).toBe(false)
    const arrived = await using(target, (database) =>
      database.read(({ sql }) => sql('apps').pluck('id')),
    )
    expect(arrived).toEqual([])
    expect((await commandLine(source).run('copy', '--to', target)).stderr).toBe('')
    expect(await using(target, contentOf)).toEqual(expected)
  },
)

async function isInUse(address: string): Promise<boolean> {
  const database = openDatabase(address)
  const isAlone = await database.withExclusiveLock(async () => true).catch(() => false)
  await database.close()
  return !isAlone
}
