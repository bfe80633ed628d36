import { describe, expect, inject, test } from 'vitest'
import {
  findOrAddDeveloper,
  issueKey,
  removeDeveloper,
  renameDeveloper,
  revokeKey,
} from '../../src/accounts/account-store.ts'
import { addModerator, revokeModerator } from '../../src/accounts/moderator-store.ts'
import { beginSession, endSessions } from '../../src/accounts/session-store.ts'
import { addCategory, removeCategory, renameCategory } from '../../src/catalogue/category-store.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { createHandlers } from '../../src/http/handlers.ts'
import { decideApp, restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { required } from '../../src/util/helpers.ts'
import { newApp } from '../contract/valid-requests.ts'
import { importLines, setCounters } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { addReviews } from '../support/reviews.ts'
import { startService } from '../support/service.ts'

/**
 * An engine can retry a transaction. Here it runs every transaction twice; `between` is what others
 * do meanwhile.
 */
const again = (
  database: DatabaseWithTools,
  between: () => Promise<unknown> = async () => {},
): DatabaseWithTools => ({
  ...database,
  async write(work) {
    const undo = new Error('conflict')
    const first = database.write(async (runner) => {
      await work(runner)
      throw undo
    })
    await first.catch((error: unknown) => {
      if (error !== undo) throw error
    })
    await between()
    return database.write(work)
  },
})

const actor = { operator: 'test' }

test("an app's life cycle, with every transaction run twice", async () => {
  const service = await startService({ database: again })
  const key = service.world.keys.ada
  const created = await service.request('POST', '/apps', { key, json: newApp })
  expect(created.body.data).toMatchObject({ slug: 'star-map', status: 'pending' })
  const path = `/apps/${created.body.data.app_id}`
  const updated = await service.request('PUT', path, { key, json: { name: 'Sky Map' } })
  expect([updated.status, updated.body.data.app.name]).toEqual([200, 'Sky Map'])
  expect((await service.request('POST', '/apps', { key, json: newApp })).body.data.slug).toBe(
    'star-map-2',
  )
  expect((await service.request('DELETE', path, { key })).status).toBe(200)
  expect((await service.get(path, { key })).status).toBe(404)
  await expectConsistent(service.database)
})

test("operators' commands have one effect, with every transaction run twice", async () => {
  const { database } = await startService()
  const twice = again(database)
  const { key, category } = await twice.write(async (runner) => {
    return {
      key: await issueKey(runner, await findOrAddDeveloper(runner, 'Eve'), actor),
      category: await addCategory(runner, 'travel', 'Travel', actor),
    }
  })
  const renamed = await twice.write((runner) => renameDeveloper(runner, 'Ada', 'Lovelace', actor))
  expect([key.developer_name, category.slug, renamed.listed_apps]).toEqual(['Eve', 'travel', 1])
  const entries = await database.read(({ sql }) =>
    sql('audit').orderBy('id', 'desc').limit(3).pluck('action'),
  )
  expect(entries).toEqual(['developer rename', 'category add', 'key issue'])
  await expectConsistent(database)
})

test('an import loses and repeats no line, with every transaction run twice', async () => {
  const { database } = await startService()
  const lines = Array.from({ length: 700 }, (_, index) => ({
    name: `Imported ${index}`,
    description: 'Of a file.',
    category: 'tools',
    developer_name: 'Ada',
    status: 'approved',
    reviews: [
      {
        reviewer_name: 'Cy',
        rating: 1 + (index % 5),
        comment: '',
        created_at: '2026-01-01T00:00:00Z',
      },
    ],
  }))
  expect(await importLines(again(database), lines)).toMatchObject({
    lines: 700,
    created: 700,
    rejected: 0,
  })
  expect(await importLines(again(database), lines)).toMatchObject({ unchanged: 700, rejected: 0 })
  await expectConsistent(database)
})

test('an import counts what the run that was committed did, not an earlier one', async () => {
  const { database } = await startService()
  const lines = [{ name: 'Raced', description: 'D', category: 'tools', developer_name: 'Ada' }]
  // Meanwhile somebody else imports the same line.
  const raced = again(database, () => importLines(database, lines))
  expect(await importLines(raced, lines)).toMatchObject({ created: 0, updated: 0, unchanged: 1 })
  await expectConsistent(database)
})

const tables = {
  developers: 'id',
  api_keys: 'id',
  categories: 'id',
  apps: 'id',
  slug_numbers: 'slug',
  reviews: 'id',
  audit: 'id',
  idempotency_keys: 'id',
  operators: 'id',
  operator_sessions: 'operator_id',
}

type Row = Record<string, unknown>

/** The rows of all tables, by table and key. */
async function rowsOf(database: DatabaseWithTools): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>()
  for (const [table, key] of Object.entries(tables)) {
    const found: Row[] = await database.read(({ sql }) => sql(table))
    for (const row of found) rows.set(`${table} ${row[key]}`, row)
  }
  return rows
}

/**
 * Which rows a write adds (`+`, of the audit log with the action), removes (`-`) and changes (`~`,
 * with the columns), and its error.
 */
async function effectOf(
  database: DatabaseWithTools,
  write: () => Promise<unknown>,
): Promise<string[]> {
  const before = await rowsOf(database)
  const error = await write().then(
    () => [],
    ({ message }: Error) => [message],
  )
  const after = await rowsOf(database)
  const added = [...after].filter(([key]) => !before.has(key))
  const changed = [...after].flatMap(([key, row]) => {
    const columns = Object.keys(row).filter((column) => row[column] !== before.get(key)?.[column])
    return before.has(key) && columns.length > 0 ? `~${key}: ${columns.toSorted().join(' ')}` : []
  })
  return [
    ...error,
    ...added.map(([key, { action }]) => `+${key.split(' ', 1)}${action ? `: ${action}` : ''}`),
    ...[...before.keys()].filter((key) => !after.has(key)).map((key) => `-${key}`),
    ...changed,
  ].toSorted()
}

const { apps, categories, keys } = inject('world')
const idOf = (key: string) => key.slice(5, 17)
const { signal } = new AbortController()
const line = { description: 'Shows stars.', category: 'games', developer_name: 'Ada' }

type Write = (of: {
  database: DatabaseWithTools
  bo: { id: string; session: string }
  api: ReturnType<typeof createHandlers>
}) => Promise<unknown>
/** A parameter that an operation does not have is typed as never. */
const noInput = {} as never
const byAda = {
  caller: { developerId: 1, keyId: idOf(keys.ada) },
  query: noInput,
  header: {},
  signal,
}
const store =
  (work: (runner: QueryRunner) => Promise<unknown>): Write =>
  ({ database }) =>
    database.write(work)
const moderators =
  (work: (runner: QueryRunner, bo: { id: string; session: string }) => Promise<unknown>): Write =>
  ({ database, bo }) =>
    database.write((runner) => work(runner, bo))

describe('changes exactly the rows that it is about, and again:', () => {
  test.for<[what: string, write: Write, once: string[], again: string[]]>([
    [
      'a create',
      ({ api }) => api.createApp({ ...byAda, path: noInput, body: { ...newApp, version: '1' } }),
      ['+apps', '+audit: app create'],
      ['+apps', '+audit: app create', '+slug_numbers'],
    ],
    [
      'a create with a key',
      ({ api }) =>
        api.createApp({
          ...byAda,
          path: noInput,
          header: { 'Idempotency-Key': 'k' },
          body: { ...newApp, version: '1' },
        }),
      ['+apps', '+audit: app create', '+idempotency_keys'],
      [],
    ],
    [
      'an update',
      ({ api }) =>
        api.updateApp({ ...byAda, path: { id: apps.approved }, body: { name: 'Ebb Table' } }),
      [
        '+audit: app update',
        `~apps ${apps.approved}: changed_at name revision unreviewed_changes unreviewed_since updated_at`,
      ],
      [],
    ],
    [
      'an update to another category',
      ({ api }) =>
        api.updateApp({
          ...byAda,
          path: { id: apps.approved },
          body: { category_id: categories.games },
        }),
      [
        '+audit: app update',
        `~apps ${apps.approved}: category_id changed_at revision unreviewed_changes unreviewed_since updated_at`,
        `~categories ${categories.tools}: listed_apps`,
        `~categories ${categories.games}: listed_apps`,
      ],
      [],
    ],
    [
      'an update of a pending app to another category',
      ({ api }) =>
        api.updateApp({
          ...byAda,
          path: { id: apps.pending },
          body: { category_id: categories.games },
        }),
      ['+audit: app update', `~apps ${apps.pending}: category_id changed_at revision updated_at`],
      [],
    ],
    [
      'a deletion',
      ({ api }) => api.deleteApp({ ...byAda, path: { id: apps.approved }, body: noInput }),
      [
        '+audit: app delete',
        `~apps ${apps.approved}: changed_at deleted_at revision updated_at`,
        `~categories ${categories.tools}: listed_apps`,
      ],
      [expect.stringMatching(/^Not found/)],
    ],
    [
      'an approval',
      store((runner) => decideApp(runner, 'approve', apps.pending, actor)),
      [
        '+audit: app approve',
        `~apps ${apps.pending}: approved_at changed_at decided_at revision status updated_at`,
        `~categories ${categories.tools}: listed_apps`,
      ],
      [expect.stringMatching(/^app \d+ .* approved/)],
    ],
    [
      'a rejection',
      store((runner) => decideApp(runner, 'reject', apps.bobs, actor, { reason: 'No.' })),
      [
        '+audit: app reject',
        `~apps ${apps.bobs}: changed_at decided_at rejection_reason revision status updated_at`,
        `~categories ${categories.games}: listed_apps`,
      ],
      [expect.stringMatching(/^app \d+ .* rejected/)],
    ],
    [
      'a restoration',
      store((runner) => restoreApp(runner, apps.deleted, actor)),
      [
        '+audit: app restore',
        `~apps ${apps.deleted}: changed_at deleted_at revision updated_at`,
        `~categories ${categories.tools}: listed_apps`,
      ],
      [expect.stringMatching(/^app \d+ .* approved/)],
    ],
    [
      'a transfer',
      store((runner) => transferApp(runner, apps.approved, 'Bob', actor)),
      [
        '+audit: app transfer',
        `~apps ${apps.approved}: changed_at developer_id revision updated_at`,
      ],
      [expect.stringMatching(/^app \d+ .*"Bob"/)],
    ],
    [
      'a removed review',
      store((runner) => removeReview(runner, 1, 'Spam.', actor)),
      [
        '+audit: review remove',
        '-reviews 1',
        `~apps ${apps.approved}: average_rating changed_at rating_count rating_sum review_count weighted_rating`,
      ],
      [expect.stringMatching(/ review 1/)],
    ],
    [
      'an issued key',
      store((runner) => issueKey(runner, { id: 1, name: 'Ada' }, actor)),
      ['+api_keys', '+audit: key issue'],
      ['+api_keys', '+audit: key issue'],
    ],
    [
      'a revoked key',
      store((runner) => revokeKey(runner, idOf(keys.ada), actor)),
      ['+audit: key revoke', `~api_keys ${idOf(keys.ada)}: revoked_at`],
      [expect.stringMatching(/ key apps_\w{12} .*revoked/)],
    ],
    [
      'a renamed developer',
      store((runner) => renameDeveloper(runner, 'Bob', 'Rob', actor)),
      ['+audit: developer rename', '~developers 2: changed_at name'],
      [expect.stringMatching(/"Bob"/)],
    ],
    [
      'a removed developer',
      store((runner) => removeDeveloper(runner, 'Eve', actor)),
      ['+audit: developer remove', '-api_keys eve', '-developers 3', '-idempotency_keys 2'],
      [expect.stringMatching(/"Eve"/)],
    ],
    [
      'an added category',
      store((runner) => addCategory(runner, 'maps', 'Maps', actor)),
      ['+audit: category add', '+categories'],
      [expect.stringMatching(/ category .* maps/)],
    ],
    [
      'a renamed category',
      store((runner) => renameCategory(runner, 'tools', { name: 'Aids' }, actor)),
      ['+audit: category rename', `~categories ${categories.tools}: changed_at name`],
      [expect.stringMatching(/ category tools .*"Aids"/)],
    ],
    [
      'a removed category',
      store((runner) => removeCategory(runner, 'empty', actor)),
      ['+audit: category remove', `-categories ${categories.empty}`],
      [expect.stringMatching(/ category .* empty/)],
    ],
    [
      'an added moderator',
      moderators((runner) => addModerator(runner, 'Bo', actor)),
      ['+audit: moderator add', '+operators'],
      ['+audit: moderator add', '+operators'],
    ],
    [
      'a revoked moderator',
      moderators((runner, { id }) => revokeModerator(runner, id, actor)),
      ['+audit: moderator revoke', '-operator_sessions bo', '~operators bo: revoked_at'],
      [expect.stringMatching(/ key .*revoked/)],
    ],
    [
      'the end of a session',
      moderators((runner, { session }) => endSessions(runner, [session])),
      ['-operator_sessions bo'],
      [],
    ],
    [
      'an imported app',
      ({ database }) => importLines(database, [{ ...line, name: 'Star Map', status: 'approved' }]),
      ['+apps', '+audit: app import', `~categories ${categories.games}: listed_apps`],
      [],
    ],
    [
      'an imported change',
      ({ database }) => importLines(database, [{ ...line, name: 'Cloud Atlas' }]),
      [
        '+audit: app import',
        `~apps ${apps.pending}: category_id changed_at description revision updated_at`,
      ],
      [],
    ],
    [
      'an imported removal',
      ({ database }) =>
        importLines(database, [
          { removed: { id: apps.bobs, created_at: '2020-01-01T00:00:00.000Z' } },
        ]),
      [
        '+audit: app import',
        `~apps ${apps.bobs}: changed_at deleted_at revision`,
        `~categories ${categories.games}: listed_apps`,
      ],
      [],
    ],
    [
      'counters',
      ({ database }) => setCounters(database, [{ slug: 'bird-song', total_downloads: 9 }]),
      ['+audit: app counters', `~apps ${apps.bobs}: changed_at total_downloads`],
      [],
    ],
  ])('%s', async ([, write, once, again]) => {
    const { database } = await startService()
    const bo = await database.write(async (runner) => {
      const { sql } = runner
      const eve = await findOrAddDeveloper(runner, 'Eve')
      const at = '2026-01-01T00:00:00.000Z'
      const times = { created_at: at, expires_at: '2999-01-01T00:00:00.000Z' }
      await sql('api_keys').insert({
        id: 'eve',
        developer_id: eve.id,
        sha256: 'eve',
        revoked_at: at,
        ...times,
      })
      const created_at = new Date().toISOString()
      for (const developer_id of [2, eve.id])
        await sql('idempotency_keys').insert({
          developer_id,
          key: 'k',
          body_hash: '1:x',
          app_id: apps.bobs,
          created_at,
        })
      // Another review by the same person, and changes of the deleted app that wait.
      const [review] = await sql('reviews').where({ id: 1 })
      const { id: _, ...other } = required(review, 'a review')
      await addReviews(runner, [other])
      await sql('apps')
        .where({ id: apps.deleted })
        .update({ unreviewed_since: at, unreviewed_changes: '{"version":"0"}' })
      for (const id of ['bo', 'cy'])
        await sql('operators').insert({ id, name: id, sha256: id, ...times })
      await beginSession(runner, 'cy')
      return { id: 'bo', session: await beginSession(runner, 'bo') }
    })
    const of = { database, bo, api: createHandlers(database, '') }
    expect(await effectOf(database, () => write(of))).toEqual(once.toSorted())
    expect(await effectOf(database, () => write(of))).toEqual(again)
    await expectConsistent(database)
  })
})
