import { expect, inject, onTestFinished, test } from 'vitest'
import {
  findOrAddDeveloper,
  removeDeveloper,
  renameDeveloper,
  revokeKey,
} from '../../src/accounts/account-store.ts'
import { findApp } from '../../src/catalogue/app-store.ts'
import { removeCategory, renameCategory } from '../../src/catalogue/category-store.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import type { AppChanges } from '../../src/contract/contract.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { createHandlers } from '../../src/http/handlers.ts'
import { decideApp, restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { newApp } from '../contract/valid-requests.ts'
import { importLines, setCounters } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { ask } from '../support/postgres.ts'
import { addReviews } from '../support/reviews.ts'

/** What the row locks are for. On SQLite there is one writer at a time, so it needs none. */

type Operation = (database: DatabaseWithTools) => Promise<unknown>

const { apps, keys, categories } = inject('world')
const isCluster = inject('workers').length > 0
const actor = { operator: 'test' }
const past = '2020-01-01T00:00:00.000Z'

const write =
  (work: (runner: QueryRunner) => Promise<unknown>): Operation =>
  (database) =>
    database.write(work)
const rename = (from: string, to: string) =>
  write((runner) => renameDeveloper(runner, from, to, actor))
const renameTools = (names: { name: string; slug?: string }) =>
  write((runner) => renameCategory(runner, 'tools', names, actor))

/** A parameter that an operation does not have is typed as never. */
const noInput = {} as never
const { signal } = new AbortController()
const request = {
  caller: { developerId: 1, keyId: keys.ada.slice(5, 17) },
  query: noInput,
  header: {},
  signal,
}
const operations = (database: DatabaseWithTools) => createHandlers(database, 'http://apps.test')
const update =
  (id: number, body: AppChanges): Operation =>
  (database) =>
    operations(database).updateApp({ ...request, path: { id }, body })
const create =
  (key: string, category_id: number = categories.tools): Operation =>
  (database) =>
    operations(database).createApp({
      ...request,
      path: noInput,
      header: { 'Idempotency-Key': key },
      body: { ...newApp, name: `Named ${key}`, version: '1', category_id },
    })
const removeEve = write((runner) => removeDeveloper(runner, 'Eve', actor))
const renameEmpty = write((runner) =>
  renameCategory(runner, 'empty', { name: 'Full', slug: 'full' }, actor),
)
const removeEmpty = write((runner) => removeCategory(runner, 'empty', actor))
const takeName = (id: number) => update(id, { package_name: 'org.example.gone' })
const restoreGone = write((runner) => restoreApp(runner, apps.deleted, actor))
const deleteApproved: Operation = (database) =>
  operations(database).deleteApp({ ...request, path: { id: apps.approved }, body: noInput })

const addReview = write((runner) =>
  addReviews(runner, [
    { app_id: apps.approved, reviewer_name: 'Fay', rating: 1, comment: '', created_at: past },
  ]),
)
const removeFirstReview = write((runner) => removeReview(runner, 1, 'Spam.', actor))
const setCountersOf =
  (line: object): Operation =>
  (database) =>
    setCounters(database, [line], {
      onProblems: async (_number, problems) => expect.fail(JSON.stringify(problems)),
    })
const importLinesOf =
  (...lines: object[]): Operation =>
  (database) =>
    importLines(database, lines)
/** The lines of an export: all categories, of which some have other names, and then these lines. */
const importExport =
  (names: Record<string, object>, ...lines: object[]): Operation =>
  async (database) => {
    const all = await database.read(({ sql }) =>
      sql('categories').orderBy('id').select('id', 'slug', 'name', 'created_at'),
    )
    const exported = all.map((category) => ({ category: { ...category, ...names[category.slug] } }))
    return importLines(database, [...exported, ...lines])
  }
const line = { description: 'Tide Clock is here.', category: 'tools', developer_name: 'Ada' }

type HoldPoint = 'search' | 'audit' | 'commit'

/**
/**
 * A database as two servers have it open: the writes of `held` wait until released, before they
 * change the search index, which is after they have changed an app and before they change its
 * categories, before their audit entry, or before their commit.
 */
function holding([database, other]: [DatabaseWithTools, DatabaseWithTools], before: HoldPoint) {
  const worked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const hold = () => {
    worked.resolve()
    return released.promise
  }
  let retries = 0
  const counted = (server: DatabaseWithTools): DatabaseWithTools => ({
    ...server,
    write(work, options) {
      retries--
      return server.write((runner) => {
        retries++
        return work(runner)
      }, options)
    },
  })
  const free = counted(other)
  const held: DatabaseWithTools = {
    ...database,
    write: (work, options) =>
      counted(database).write(async (runner) => {
        const insertRows: QueryRunner['insertRows'] = async (table, rows) => {
          if (table === before) await hold()
          return runner.insertRows(table, rows)
        }
        const remove: QueryRunner['search']['remove'] = async (ids) => {
          if (before === 'search') await hold()
          return runner.search.remove(ids)
        }
        const search = { ...runner.search, remove }
        const result = await work({ ...runner, insertRows, search })
        await hold()
        return result
      }, options),
  }
  return { held, free, worked: worked.promise, release: released.resolve, retries: () => retries }
}

/** On a Citus cluster, a write of a copied table waits on the first worker. */
async function isAnyWaiting(address: string) {
  for (const node of [address, ...inject('workers')])
    if ((await ask(node, 'select from pg_locks where not granted')).length > 0) return true
  return false
}

/**
 * Runs the second operation while the first is held. Returns its result or error message, and how
 * often writes were run again.
 */
async function interleave(first: Operation, second: Operation, before: HoldPoint = 'commit') {
  const address = await copyWorld()
  const [database, other] = [openDatabase(address), openDatabase(address)]
  onTestFinished(async () => void (await Promise.all([database.close(), other.close()])))
  await database.write(async (runner) => {
    await findOrAddDeveloper(runner, 'Eve')
    const expired = {
      developer_id: 1,
      key: 'expired',
      body_hash: '',
      app_id: null,
      created_at: past,
    }
    await runner.sql('idempotency_keys').insert(expired)
  })
  const { held, free, worked, release, retries } = holding([database, other], before)
  // The database cannot close while a failed test holds a transaction.
  onTestFinished(() => release())
  const done = first(held)
  await Promise.race([worked, done])
  let isDone = false
  const result = second(free)
    .catch((error: Error) => error.message)
    .finally(() => {
      isDone = true
    })
  await expect.poll(async () => isDone || isAnyWaiting(address)).toBe(true)
  const waited = !isDone
  release()
  await done
  const ended = { waited, result: await result, retries: retries() }
  await expectConsistent(database)
  return ended
}

test.for<
  [
    second: string,
    first: string,
    operations: [first: Operation, second: Operation],
    result: unknown,
  ]
>([
  [
    'a decision on a revision',
    "the owner's update of it",
    [
      update(apps.pending, { name: 'Cloud Map' }),
      async (database) => {
        const app = await database.read((runner) => findApp(runner, apps.pending))
        return database.write((runner) =>
          decideApp(runner, 'approve', apps.pending, actor, {
            revision: app?.revision,
          }),
        )
      },
    ],
    expect.stringMatching(/^app \d+ /),
  ],
  [
    'an update',
    "the app's deletion",
    [deleteApproved, update(apps.approved, { version: '2' })],
    expect.stringMatching(/^Not found/),
  ],
  [
    'a restore',
    'another one',
    [
      write((runner) => restoreApp(runner, apps.deleted, actor)),
      write((runner) => restoreApp(runner, apps.deleted, actor)),
    ],
    expect.stringMatching(/^app \d+ .* approved/),
  ],
  [
    'a restore',
    'an update that takes the package name',
    [takeName(apps.pending), restoreGone],
    expect.objectContaining({
      lost_package_name: { name: 'org.example.gone', app_id: apps.pending },
    }),
  ],
  [
    'an update that takes the package name of a deleted app',
    'its restore',
    [restoreGone, takeName(apps.pending)],
    expect.stringMatching(/ taken by your app 4;/),
  ],
  [
    'an update that takes the package name of a deleted app',
    'another one',
    [takeName(apps.approved), takeName(apps.pending)],
    expect.stringMatching(/ taken by your app 1;/),
  ],
  [
    'a transfer',
    "the rename of the app's new developer",
    [rename('Bob', 'Robert'), write((runner) => transferApp(runner, apps.approved, 'Bob', actor))],
    // Citus locks all rows of a table, so the transfer waits before it looks for the developer.
    isCluster ? expect.stringMatching(/"Bob"/) : expect.objectContaining({ id: apps.approved }),
  ],
  [
    "a developer's rename",
    'another one',
    [rename('Eve', 'Eva'), rename('Eve', 'Evita')],
    expect.stringMatching(/"Eve"/),
  ],
  [
    "a developer's removal",
    'their rename',
    [rename('Eve', 'Eva'), removeEve],
    expect.stringMatching(/"Eve"/),
  ],
  ["a developer's removal", 'another one', [removeEve, removeEve], expect.stringMatching(/"Eve"/)],
  [
    'counters of other ratings',
    'a review',
    [addReview, setCountersOf({ slug: 'tide-clock', average_rating: 3, rating_count: 7 })],
    expect.objectContaining({ updated: 1 }),
  ],
  ['a review', 'another one', [addReview, addReview], undefined],
  [
    "a review's removal",
    'another review',
    [addReview, removeFirstReview],
    expect.objectContaining({ id: 1 }),
  ],
  [
    "a review's removal",
    'another one',
    [removeFirstReview, removeFirstReview],
    expect.stringMatching(/ review 1/),
  ],
  [
    "a category's rename",
    'another one',
    [renameTools({ name: 'Gear', slug: 'gear' }), renameTools({ name: 'Kit' })],
    expect.stringMatching(/ category .* tools/),
  ],
  [
    "a category's removal",
    'its rename',
    [renameEmpty, removeEmpty],
    expect.stringMatching(/ category .* empty/),
  ],
  [
    "a category's removal",
    'another one',
    [removeEmpty, removeEmpty],
    expect.stringMatching(/ category .* empty/),
  ],
  [
    "a category's import",
    'its rename',
    [renameTools({ name: 'Gear' }), importExport({ tools: { name: 'Kit' } })],
    expect.objectContaining({ updated: 1 }),
  ],
  [
    "an app's import",
    "its owner's update",
    [
      update(apps.approved, { version: '2' }),
      importLinesOf({
        ...line,
        name: 'Tide Clock',
        version: '1.0.0',
        package_name: 'org.example.tideclock',
      }),
    ],
    expect.objectContaining({ updated: 1 }),
  ],
  [
    'a line that hides an app',
    "its owner's update",
    [
      update(apps.approved, { category_id: categories.empty }),
      importLinesOf({ removed: { id: apps.approved, created_at: past } }),
    ],
    expect.objectContaining({ updated: 1 }),
  ],
  [
    'the import of a new app',
    "the developer's rename",
    [rename('Ada', 'Lovelace'), importLinesOf({ ...line, name: 'Sextant', status: 'approved' })],
    expect.objectContaining({ created: 1 }),
  ],
  [
    'a create',
    "its category's removal",
    [removeEmpty, create('one', categories.empty)],
    expect.stringContaining(`Category ${categories.empty} does not exist`),
  ],
  [
    "a category's removal",
    'a create in it',
    [create('one', categories.empty), removeEmpty],
    expect.stringContaining('violates foreign key constraint'),
  ],
  [
    "a key's revocation",
    'another one',
    [
      write((runner) => revokeKey(runner, keys.bob.slice(5, 17), actor)),
      write((runner) => revokeKey(runner, keys.bob.slice(5, 17), actor)),
    ],
    expect.stringMatching(/ revoked /),
  ],
])('%s waits for %s, and sees it', async ([, , [first, second], result]) => {
  expect(await interleave(first, second)).toMatchObject({ waited: true, result })
})

const rowOf = (name: string, id?: number) => ({
  ...(id && { id }),
  name,
  created_at: '',
  changed_at: '',
})
const insertGreaterId = write(({ insertRows }) => insertRows('developers', [rowOf('Fay', 400_000)]))
const lockAndInsertGreaterId = write(async ({ sql, insertRows }) => {
  await sql.raw('lock table developers in share row exclusive mode')
  // Waits here until the other write waits for the lock.
  await insertRows('audit', [])
  await insertRows('developers', [rowOf('Fay', 400_000)])
})
const insertSmallerId = write(async ({ insertRows }) => {
  await insertRows('developers', [rowOf('Gus', 300_000)])
  return insertRows('developers', [rowOf('Hal')])
})

test.for<[state: string, first: Operation, before: 'audit' | 'commit']>([
  ['inserted', insertGreaterId, 'commit'],
  ['about to be inserted', lockAndInsertGreaterId, 'audit'],
])(
  'an id far beyond the sequence waits for a greater one that is %s, and the sequence stays beyond both',
  async ([, first, before]) => {
    expect(await interleave(first, insertSmallerId, before)).toMatchObject({
      waited: true,
      result: [{ name: 'Hal', id: 400_001 }],
    })
  },
)

test('creates that delete the same expired keys do not wait for each other', async () => {
  expect(await interleave(create('one'), create('two'))).toMatchObject({
    waited: false,
    result: { status: 201 },
  })
})

const tideClock = { ...line, name: 'Tide Clock', package_name: 'org.example.tideclock' }
const toGames = update(apps.approved, { category_id: categories.games })

// The order of locks of decision 15. On Citus, a lock of a row is one of its whole table.
test
  .skipIf(isCluster)
  .for<
    [
      first: string,
      second: string,
      operations: [first: Operation, second: Operation],
      before: HoldPoint,
      result: unknown,
    ]
  >([
    [
      'a deletion',
      "the developer's rename",
      [deleteApproved, rename('Ada', 'Lovelace')],
      'audit',
      { listed_apps: 0 },
    ],
    [
      'an update to another category',
      'the import of an export',
      [toGames, importExport({}, { ...tideClock, version: '9' })],
      'search',
      { updated: 1, unchanged: 3 },
    ],
    [
      'an update to another category',
      'an import that hides apps',
      [
        toGames,
        importLinesOf(
          { removed: { id: apps.bobs, created_at: past } },
          { removed: { id: apps.approved, created_at: past } },
        ),
      ],
      'search',
      { updated: 2 },
    ],
    [
      'an import of changes in several categories',
      'an update from one to another',
      [
        importLinesOf(
          {
            ...line,
            developer_name: 'Bob',
            name: 'Bird Song',
            slug: 'bird-song',
            category: 'empty',
          },
          { ...line, name: 'Cloud Atlas', status: 'approved' },
        ),
        toGames,
      ],
      'audit',
      { status: 200 },
    ],
    [
      'a transfer',
      "the new developer's rename",
      [
        write((runner) => transferApp(runner, apps.approved, 'Bob', actor)),
        rename('Bob', 'Robert'),
      ],
      'search',
      { listed_apps: 2 },
    ],
    [
      'an update to another category',
      'the rename of that category',
      [
        toGames,
        write((runner) => renameCategory(runner, 'games', { name: 'Play', slug: 'play' }, actor)),
      ],
      'search',
      { slug: 'play' },
    ],
    [
      'an update to another category',
      'an import with another slug of that category',
      [toGames, importExport({ games: { slug: 'play' } })],
      'search',
      { updated: 1, unchanged: 2 },
    ],
    [
      'an update to another category',
      'an import with other slugs of both categories',
      [toGames, importExport({ tools: { slug: 'gear' }, games: { slug: 'play' } })],
      'search',
      { updated: 2, unchanged: 1 },
    ],
    [
      'an update to another category',
      'the removal of that category',
      [update(apps.approved, { category_id: categories.empty }), removeEmpty],
      'search',
      expect.stringContaining('violates foreign key constraint'),
    ],
  ])('%s and %s do not deadlock', async ([, , [first, second], before, result]) => {
  const ended = await interleave(first, second, before)
  expect(ended).toMatchObject({ waited: true, retries: 0, result })
})

// The two tables have no foreign key between them: Citus locks all rows of a table, and those of
// tables with foreign keys to it.
test('of two writes that wait for each other, one is run again', async () => {
  const database = await openWorld()
  const locked: string[] = []
  const lockBoth = (one: string, other: string) =>
    database.write(async ({ sql }) => {
      const lock = (table: string) => sql(table).forUpdate().first()
      await lock(one)
      locked.push(one)
      await expect.poll(() => locked).toEqual(expect.arrayContaining([one, other]))
      await lock(other)
      return 'done'
    })
  const both = [lockBoth('apps', 'catalogue_version'), lockBoth('catalogue_version', 'apps')]
  expect(await Promise.all(both)).toEqual(['done', 'done'])
  expect(locked.length).toBeGreaterThan(2)
})

// On Citus, a lock of a row of these tables is one of the whole table.
test.skipIf(isCluster)(
  'apps are created while another write has locked their owner and category',
  async () => {
    const database = await openWorld()
    await database.write(async ({ sql }) => {
      await sql('developers').where({ id: 1 }).forUpdate().select('id')
      await sql('categories').where({ id: categories.tools }).forUpdate().select('id')
      await create('while locked')(database)
    })
  },
)
