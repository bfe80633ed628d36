import { expect, test } from 'vitest'
import { counts, exampleLine, exportLines, importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { startService } from '../support/service.ts'

/** Lines that hide an app that is no longer public at the source. */

const created_at = '2026-01-01T00:00:00.000Z'
const old = {
  ...exampleLine,
  id: 50,
  slug: 'stars',
  package_name: 'org.example.stars',
  status: 'approved',
  created_at,
  updated_at: '2026-01-02T00:00:00.000Z',
  deleted_at: null,
}
const newer = { ...old, updated_at: '2026-01-03T00:00:00.000Z' }
const removed = { removed: { id: 50, created_at } }
const takesPackageName = {
  ...exampleLine,
  name: 'Another',
  package_name: 'org.example.stars',
  status: 'approved',
}

type Scenario = {
  name: string
  /** Lines of an earlier file. */
  earlier?: object[]
  lines: object[]
  onlyNew?: boolean
  reported: Parameters<typeof counts>[0]
  /** Of a request for the app. */
  status: 200 | 404
}

const scenarios: Scenario[] = [
  { name: 'hides the app', lines: [removed], reported: { updated: 1 }, status: 404 },
  {
    name: 'changes nothing the second time',
    earlier: [removed],
    lines: [removed],
    reported: { unchanged: 1 },
    status: 404,
  },
  {
    name: 'changes nothing with --only-new',
    lines: [removed],
    onlyNew: true,
    reported: { unchanged: 1 },
    status: 200,
  },
  {
    name: 'of an unknown app changes nothing',
    lines: [{ removed: { id: 60, created_at } }],
    reported: { unchanged: 1 },
    status: 200,
  },
  {
    name: 'of an app with another creation time is refused',
    lines: [{ removed: { id: 50, created_at: '2026-01-01T00:00:00.001Z' } }],
    reported: { rejected: 1 },
    status: 200,
  },
  {
    name: 'is undone by a newer line',
    earlier: [removed],
    lines: [newer],
    reported: { updated: 1 },
    status: 200,
  },
  {
    name: 'is not undone by the line before it',
    earlier: [removed],
    lines: [old],
    reported: { rejected: 1 },
    status: 404,
  },
  {
    name: 'counts after a newer line',
    earlier: [newer],
    lines: [removed],
    reported: { updated: 1 },
    status: 404,
  },
  {
    name: 'and a second one in one file: the second is refused',
    lines: [removed, removed],
    reported: { updated: 1, rejected: 1 },
    status: 404,
  },
  {
    name: 'and a newer line in one file: the second is refused',
    lines: [removed, newer],
    reported: { updated: 1, rejected: 1 },
    status: 404,
  },
  {
    name: 'in the file of a newer line is refused',
    lines: [newer, removed],
    reported: { updated: 1, rejected: 1 },
    status: 200,
  },
  {
    name: 'gives up the package name, without which the app can come back',
    earlier: [removed],
    lines: [takesPackageName, { ...newer, package_name: null }],
    reported: { created: 1, updated: 1 },
    status: 200,
  },
]

test.for(scenarios)(
  'a removal $name',
  async ({ earlier = [], lines, onlyNew, reported, status }) => {
    const { database, get } = await startService()
    await importLines(database, [old])
    expect((await get('/apps/50')).status).toBe(200)
    await importLines(database, earlier)
    expect(await importLines(database, lines, onlyNew)).toMatchObject(counts(reported))
    expect((await get('/apps/50')).status).toBe(status)
    await expectConsistent(database)
  },
)

test('a removal changes nothing at the source, which has rejected the app', async () => {
  const { database, world, decide } = await startService()
  await decide('reject', world.apps.approved)
  const before = await exportLines(database)
  const since = '2020-01-01T00:00:00.000Z'
  const lines = await exportLines(database, { since, isPublic: true })
  expect(lines.filter((line) => line.includes('removed'))).toHaveLength(2)
  expect(await importLines(database, lines)).toMatchObject(counts({ unchanged: lines.length }))
  expect(await exportLines(database)).toEqual(before)
})
