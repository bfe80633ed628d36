import { Writable } from 'node:stream'
import { expect, inject, test } from 'vitest'
import { issueKey, renameDeveloper } from '../../src/accounts/account-store.ts'
import { addCategory, renameCategory } from '../../src/catalogue/category-store.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { exportCatalogue } from '../../src/import-export/export-catalogue.ts'
import { decideApp, restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { listQueue } from '../../src/moderation/queue.ts'
import { chunk, required } from '../../src/util/helpers.ts'
import {
  counts,
  exampleLine,
  exampleReview,
  exportLines,
  importLines,
} from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue, openWorld } from '../support/database.ts'
import { startEmptyService, startService } from '../support/service.ts'

const { apps } = inject('world')
const actor = { operator: 'test' }

test('an export is a snapshot of a catalogue that changes meanwhile', async () => {
  const database = await openWorld()
  const line = { ...exampleLine, description: 'Long. '.repeat(200) }
  // More than a page, so that the last app is read when the first line has been written.
  const lines = Array.from({ length: 400 }, (_, index) => ({ ...line, slug: `a${index}` }))
  await importLines(database, lines)
  const before = await exportLines(database)
  const written: string[] = []
  const output = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      written.push(chunk.toString().trimEnd())
      if (written.length > 1) done()
      else
        importLines(database, [{ ...line, slug: 'a399', description: 'Changed.' }]).then(
          () => done(),
          done,
        )
    },
  })
  await exportCatalogue(database, output)
  expect(written).toEqual(before)
  expect(await exportLines(database)).not.toEqual(before)
})

test('an export has reviews in the order of their ids', async () => {
  const database = await openWorld()
  const reviews = [3, 1, 2].map((day, index) => ({
    id: 50 + index,
    ...exampleReview,
    created_at: `2026-01-0${day}T00:00:00.000Z`,
  }))
  await importLines(database, [{ ...exampleLine, reviews }])
  expect(JSON.parse((await exportLines(database)).at(-1) ?? '').reviews).toEqual(reviews)
})

test('the next export starts a minute before this one, because clocks of writers differ', async () => {
  const database = await openWorld()
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const now = freezeClock()
  // A write after the snapshot's beginning may be missing in the export.
  const snapshot: Database['snapshot'] = (work) => {
    freezeClock(now + 1000)
    return database.snapshot(work)
  }
  expect(await exportCatalogue({ ...database, snapshot }, output)).toEqual({
    apps: 6,
    removed: 0,
    categories: 3,
    next: new Date(now - 60_000).toISOString(),
  })
})

type Change = {
  name: string
  make: (runner: QueryRunner) => Promise<unknown>
  /** The names of the lines of an export. */
  exported: string[]
  /** Those of a public export, if they are others. */
  exportedPublicly?: string[]
}

const changes: Change[] = [
  { name: 'nothing', make: async () => {}, exported: [] },
  {
    name: 'an approval',
    make: (runner) => decideApp(runner, 'approve', apps.pending, actor),
    exported: ['Cloud Atlas'],
  },
  {
    name: 'a rejection of an app that was never listed',
    make: (runner) => decideApp(runner, 'reject', apps.pending, actor, { reason: 'No.' }),
    exported: ['Cloud Atlas'],
    exportedPublicly: [],
  },
  {
    name: 'a rejection of a listed app',
    make: (runner) => decideApp(runner, 'reject', apps.bobs, actor, { reason: 'No.' }),
    exported: ['Bird Song'],
    exportedPublicly: [`removed ${apps.bobs}`],
  },
  {
    name: 'a rejection of an app whose package name another one gets afterwards',
    make: async (runner) => {
      await decideApp(runner, 'reject', apps.approved, actor, { reason: 'No.' })
      for (const [id, name] of [
        [apps.approved, null],
        [apps.bobs, 'org.example.tideclock'],
      ] as const)
        await runner
          .sql('apps')
          .where({ id })
          .update({ package_name: name, package_key: name, changed_at: new Date().toISOString() })
    },
    exported: ['Tide Clock', 'Bird Song'],
    exportedPublicly: [`removed ${apps.approved}`, 'Bird Song'],
  },
  {
    name: 'a restoration',
    make: (runner) => restoreApp(runner, apps.deleted, actor),
    exported: ['Gone'],
  },
  {
    name: 'a transfer',
    make: (runner) => transferApp(runner, apps.bobs, 'Ada', actor),
    exported: ['Bird Song'],
  },
  {
    name: 'a developer with another name',
    make: (runner) => renameDeveloper(runner, 'Bob', 'Rob', actor),
    exported: ['Bird Song', 'Night Train'],
    exportedPublicly: ['Bird Song'],
  },
  {
    name: 'a category with another name',
    make: (runner) => renameCategory(runner, 'games', { name: 'Play' }, actor),
    exported: ['category Play', 'Bird Song'],
  },
  {
    name: 'a category without apps, with another slug',
    make: (runner) => renameCategory(runner, 'empty', { name: 'Empty', slug: 'none' }, actor),
    exported: ['category Empty'],
  },
  {
    name: 'a new category',
    make: (runner) => addCategory(runner, 'maps', 'Maps', actor),
    exported: ['category Maps'],
  },
  {
    name: 'a removed review',
    make: (runner) => removeReview(runner, 1, 'Spam.', actor),
    exported: ['Tide Clock'],
  },
  {
    name: 'a key',
    make: (runner) => issueKey(runner, { id: 1, name: 'Ada' }, actor),
    exported: [],
  },
]

test.for(changes)(
  'an export since a time has $name',
  async ({ make, exported, exportedPublicly = exported }) => {
    const database = await openWorld()
    const since = (await database.committedBefore()).toISOString()
    await database.write(make)
    const namesOf = async (isPublic: boolean) =>
      (await exportLines(database, { since, isPublic })).map((text) => {
        const { removed, name, category } = JSON.parse(text)
        return removed ? `removed ${removed.id}` : (name ?? `category ${category.name}`)
      })
    expect([await namesOf(false), await namesOf(true)]).toEqual([exported, exportedPublicly])
    // The next export continues after it.
    const next = (await database.committedBefore()).toISOString()
    expect(await exportLines(database, { since: next })).toEqual([])
  },
)

test('an export since a time has what was imported since, whatever times its lines give', async () => {
  const database = await openWorld()
  const star = { ...exampleLine, category: { slug: 'tools', name: 'Tools' }, slug: 'stars' }
  const lines = [
    { category: { slug: 'travel', name: 'Travel', created_at: '2026-01-01T00:00:00.000Z' } },
    { ...star, version: '1', updated_at: '2026-01-01T00:00:00.000Z' },
    { ...star, version: '2', updated_at: '2026-01-02T00:00:00.000Z' },
  ]
  for (const line of lines) {
    const since = (await database.committedBefore()).toISOString()
    expect(await importLines(database, [line])).toMatchObject({ unchanged: 0, rejects: [] })
    expect((await exportLines(database, { since })).map((text) => JSON.parse(text))).toMatchObject([
      line,
    ])
  }
})

test('an export has the apps of each batch of ids', async () => {
  const database = await openWorld()
  const added = 20_001
  const before = (await exportLines(database)).length
  await database.write(async ({ sql, insertRows }) => {
    const { id, ...row } = required(
      await sql('apps').where({ package_name: null }).first(),
      'an app',
    )
    for (const indexes of chunk([...Array(added).keys()], 500))
      await insertRows(
        'apps',
        indexes.map((index) => ({ ...row, slug: `star-${index}`, package_key: null })),
      )
  })
  for (const since of ['', '2000-01-01T00:00:00.000Z']) {
    const lines = await exportLines(database, { since })
    expect([lines.length, new Set(lines).size], since).toEqual([before + added, before + added])
  }
})

test('an export to a closed stream fails with the reason', async () => {
  const database = await openWorld()
  const closed = new Writable()
  const broken = new Writable()
  broken.on('error', () => {})
  const reason = new Error('no room')
  closed.destroy()
  broken.destroy(reason)
  await expect(exportCatalogue(database, closed)).rejects.toThrow()
  await expect(exportCatalogue(database, broken)).rejects.toBe(reason)
})

test('importing an export keeps changes that wait for review, which the export does not have', async () => {
  const { database, request, world } = await startService()
  const update = { key: world.keys.ada, json: { description: 'Changed.' } }
  await request('PUT', `/apps/${apps.approved}`, update)
  const changed = ({ snapshot }: Database) =>
    snapshot(async (runner) => (await listQueue(runner, 'changed', {}, 9, 0)).total)
  const lines = await exportLines(database)
  expect(await importLines(database, lines)).toMatchObject(counts({ unchanged: lines.length }))
  expect(await changed(database)).toBe(1)

  const empty = await openEmptyCatalogue()
  // As in a file that version 1 exported.
  const mark = {
    unreviewed_since: '2026-01-01T00:00:00.000Z',
    unreviewed_changes: { description: 'Before.' },
  }
  const marked = lines.map((line) => ({
    ...JSON.parse(line),
    ...(line.includes('Changed.') && mark),
  }))
  expect(await importLines(empty, marked)).toMatchObject(counts({ created: lines.length }))
  expect(await exportLines(empty)).toEqual(lines)
  expect(await changed(empty)).toBe(0)
})

test('an export into an empty database gives the same public answers, byte for byte', async () => {
  const source = await startService()
  await source.addReviews(apps.bobs, 120)
  const update = { key: source.world.keys.ada, json: { description: 'Changed.\n\tOnce.' } }
  await source.request('PUT', `/apps/${apps.approved}`, update)
  const rated = { average_rating: 4.4, rating_count: 69_000_000, reviews: [exampleReview] }
  await importLines(source.database, [{ ...exampleLine, status: 'approved', ...rated }])
  const lines = await exportLines(source.database)

  const target = await startEmptyService()
  const { database } = target
  expect(await importLines(database, lines)).toMatchObject(counts({ created: lines.length }))
  await expectConsistent(database)
  expect(await exportLines(database)).toEqual(lines)

  const queries = [
    '',
    '?sort=popular',
    '?sort=rating',
    '?limit=1&page=2',
    '?category=tools',
    '?search=tide',
    '?search=here',
    '?search=ada&sort=latest',
  ]
  const paths = [
    ...queries.map((query) => `/apps${query}`),
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((id) => `/apps/${id}`),
  ]
  for (const path of paths) {
    const [one, other] = [await source.get(path), await target.get(path)]
    expect([other.status, other.text, other.headers.etag, other.headers.link]).toEqual([
      one.status,
      one.text,
      one.headers.etag,
      one.headers.link,
    ])
  }
})
