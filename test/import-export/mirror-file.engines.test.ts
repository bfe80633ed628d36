import { expect, test } from 'vitest'
import {
  findOrAddDeveloper,
  issueKey,
  removeDeveloper,
  revokeKey,
} from '../../src/accounts/account-store.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { assertMirror } from '../../src/import-export/mirror.ts'
import {
  counts,
  exampleLine,
  exportLines,
  importLines,
  mirrorLines,
} from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue } from '../support/database.ts'
import { startEmptyService } from '../support/service.ts'

/** Whole exports that are imported into a mirror with --mirror. */

const category = { slug: 'tools', name: 'Tools' }
const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
const app = (id: number, more: object = {}) => ({
  ...exampleLine,
  ...{ category, id, slug: `app-${id}`, name: `App ${id}` },
  ...{ status: 'approved', deleted_at: null, package_name: `org.example.app${id}` },
  ...{ created_at: time(1), updated_at: time(2) },
  ...more,
})
/** Ten apps. */
const all = Array.from({ length: 10 }, (_, index) => app(index + 1))
const without = (...ids: number[]) => all.filter(({ id }) => !ids.includes(id))

/** The ids of listed apps, and the package names of all. */
async function stateOf({ read }: DatabaseWithTools) {
  const apps = await read(({ sql }) => sql('apps').orderBy('id'))
  return {
    listed: apps.flatMap((one) => (one.status === 'approved' && !one.deleted_at ? one.id : [])),
    names: Object.fromEntries(apps.map((one) => [one.id, one.package_name?.split('.').at(-1)])),
    times: new Set(apps.map(({ updated_at }) => updated_at)),
  }
}

test('what a whole export lacks is hidden, and comes back with a later one that has it', async () => {
  const { database, get } = await startEmptyService()
  await importLines(database, all)
  const before = await exportLines(database)
  expect((await get('/apps/7')).status).toBe(200)
  for (let round = 0; round < 2; round++) {
    expect(await mirrorLines(database, without(7, 8))).toMatchObject({
      ...counts({ unchanged: 8 }),
      hidden: 2,
    })
    expect((await get('/apps/7')).status).toBe(404)
    expect((await get('/apps?search=app&limit=100')).body.data.apps).toHaveLength(8)
    const { listed, names, times } = await stateOf(database)
    expect(listed).toEqual([1, 2, 3, 4, 5, 6, 9, 10])
    expect([names[7], names[6]]).toEqual([undefined, 'app6'])
    expect(times).toEqual(new Set([time(2)]))
    await expectConsistent(database)
    // Again: nothing.
    expect(await mirrorLines(database, without(7, 8))).toMatchObject({
      ...counts({ unchanged: 8 }),
      hidden: 0,
    })
    expect(await mirrorLines(database, all)).toMatchObject({
      ...counts({ updated: 2, unchanged: 8 }),
      hidden: 0,
    })
    expect(await exportLines(database)).toEqual(before)
    await expectConsistent(database)
  }
})

test('an app that was hidden comes back with any later file, such as of changes', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  await mirrorLines(database, without(7))
  expect(await importLines(database, [app(7)])).toMatchObject(counts({ updated: 1 }))
  expect((await stateOf(database)).listed).toContain(7)
})

test('what an operator of the mirror deleted stays deleted, before it was hidden or afterwards', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  await importLines(database, [app(7, { deleted_at: time(3) })])
  await mirrorLines(database, without(8))
  await importLines(database, [app(8, { deleted_at: time(3) })])
  expect(await mirrorLines(database, all)).toMatchObject({
    ...counts({ unchanged: 10 }),
    hidden: 0,
  })
  expect((await stateOf(database)).listed).toEqual([1, 2, 3, 4, 5, 6, 9, 10])
})

test('an app that an operator has restored is hidden again, if the file lacks it', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  await mirrorLines(database, without(7))
  await importLines(database, [app(7)])
  expect(await mirrorLines(database, without(7))).toMatchObject({ hidden: 1 })
})

test('only listed apps are hidden', async () => {
  const database = await openEmptyCatalogue()
  const others = [
    app(11, { status: 'pending' }),
    app(12, { status: 'rejected', rejection_reason: 'No.' }),
  ]
  await importLines(database, [...all, ...others])
  expect(await mirrorLines(database, all)).toMatchObject({ hidden: 0 })
})

type Refused = { name: string; line: object | string; hidden: number[] }
const refused: Refused[] = [
  { name: 'its id', line: { ...app(7, { name: '' }), slug: undefined }, hidden: [8] },
  { name: 'its slug', line: { ...app(7, { name: '' }), id: 'x' }, hidden: [8] },
  { name: 'an unknown field', line: app(7, { colour: 'red' }), hidden: [8] },
  { name: 'a category that does not exist', line: app(7, { category: 'none' }), hidden: [8] },
  {
    name: 'the package name of another line',
    line: app(7, { package_name: 'org.example.app1' }),
    hidden: [8],
  },
  {
    name: 'the slug of another developer',
    line: { ...app(7, { developer_name: 'Eve' }), id: undefined, package_name: null },
    hidden: [8],
  },
  { name: 'nothing but its id', line: { id: 7 }, hidden: [8] },
  {
    name: 'no id and no slug',
    line: { ...app(7, { name: '' }), id: undefined, slug: undefined },
    hidden: [],
  },
  { name: 'no app', line: '{}', hidden: [] },
  { name: 'no JSON', line: '{"id":7', hidden: [] },
  { name: 'a slug that no app can have', line: { slug: 'x'.repeat(1000) }, hidden: [] },
  { name: 'a removal that is invalid', line: { removed: { id: 7 } }, hidden: [] },
]
test.for(refused)('a line is refused that has $name: hides $hidden', async ({ line, hidden }) => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  const { listed } = await stateOf(database)
  const result = await mirrorLines(database, [...without(7, 8), line])
  expect(result).toMatchObject({ rejected: 1, hidden: hidden.length })
  expect((await stateOf(database)).listed).toEqual(listed.filter((id) => !hidden.includes(id)))
  if (hidden.length === 0) expect(result.mirrorProblem).toMatch(/^line 9 is refused, and has no id/)
  else expect(result).not.toHaveProperty('mirrorProblem')
})

type Doubtful = { name: string; source: () => AsyncGenerator<Buffer>; problem: string }
const lineOf = (line: object) => Buffer.from(`${JSON.stringify(line)}\n`)
const doubtful: Doubtful[] = [
  {
    name: 'an input that does not end',
    async *source() {
      for (const line of without(7)) yield lineOf(line)
      throw new Error('unexpected end of file')
    },
    problem: 'the input ends too early',
  },
  { name: 'an empty input', async *source() {}, problem: 'the input is empty' },
  {
    name: 'an input with a removal',
    async *source() {
      yield lineOf({ removed: { id: 70, created_at: time(1) } })
      for (const line of without(7)) yield lineOf(line)
    },
    problem: 'line 1 is a removal, so the file is no whole export',
  },
]
test.for(doubtful)('$name hides nothing', async ({ source, problem }) => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  const before = await exportLines(database)
  expect(await mirrorLines(database, source())).toMatchObject({ hidden: 0, mirrorProblem: problem })
  expect(await exportLines(database)).toEqual(before)
})

test('a category whose line is refused hides apps all the same', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, [...all, { category: { slug: 'games', name: 'Games' } }])
  const clash = { category: { slug: 'other', name: 'Games' } }
  expect(await mirrorLines(database, [clash, ...without(7)])).toMatchObject({
    rejected: 1,
    hidden: 1,
  })
})

type Share = { kept: number; limit?: number; hidden: number; problem?: string }
const lacks = (count: number) =>
  `the file lacks ${count} of 10 listed apps; if they are to go, add --hide ${count}`
const shares: Share[] = [
  { kept: 5, hidden: 5 },
  { kept: 4, hidden: 0, problem: lacks(6) },
  { kept: 4, limit: 6, hidden: 6 },
  { kept: 4, limit: 5, hidden: 0, problem: lacks(6) },
  { kept: 8, limit: 1, hidden: 0, problem: lacks(2) },
  { kept: 1, limit: 9, hidden: 9 },
]
test.for(shares)(
  'of ten apps, $kept are in the file, and --hide is $limit: hides $hidden',
  async ({ kept, limit, hidden, problem }) => {
    const database = await openEmptyCatalogue()
    await importLines(database, all)
    const result = await mirrorLines(database, all.slice(0, kept), limit)
    expect({ hidden: result.hidden, problem: result.mirrorProblem }).toEqual({ hidden, problem })
    expect((await stateOf(database)).listed).toHaveLength(10 - hidden)
    // Those that are hidden are no longer lacking.
    if (problem === undefined)
      expect(await mirrorLines(database, all.slice(0, kept))).toEqual(
        expect.not.objectContaining({ mirrorProblem: expect.anything() }),
      )
    await expectConsistent(database)
  },
)

type Move = {
  name: string
  names: Record<number, string | null>
  from?: Record<number, string | null>
  missing?: number
}
const moves: Move[] = [
  { name: 'to an app with a greater id', names: { 1: null, 2: 'app1' } },
  { name: 'to an app with a lower id', names: { 1: 'app2', 2: null } },
  { name: 'in exchange', names: { 1: 'app2', 2: 'app1' } },
  { name: 'in a circle of three', names: { 1: 'app2', 2: 'app3', 3: 'app1' } },
  { name: 'from an app that is gone to one with a lower id', names: { 1: 'app9' }, missing: 9 },
  { name: 'to a new app', names: { 2: null, 11: 'app2' } },
]
test.for(moves)('a package name goes $name, in one file', async ({ names, missing }) => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  const ids = [...all.map(({ id }) => id), 11].filter(
    (id) => id !== missing && (id !== 11 || 11 in names),
  )
  const lines = ids.map((id) => {
    const name = names[id]
    return app(
      id,
      name === undefined
        ? {}
        : { package_name: name && `org.example.${name}`, updated_at: time(3) },
    )
  })
  expect(await mirrorLines(database, lines)).toMatchObject({ rejects: [], hidden: missing ? 1 : 0 })
  expect((await stateOf(database)).names).toMatchObject(
    Object.fromEntries(Object.entries(names).map(([id, name]) => [id, name ?? undefined])),
  )
  const exported = await exportLines(database)
  expect(await mirrorLines(database, lines)).toMatchObject({ created: 0, updated: 0, rejects: [] })
  expect(await exportLines(database)).toEqual(exported)
  await expectConsistent(database)
})

test('an app that gives up its package name has none until a line gives it one', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  const { package_name: _, ...unnamed } = app(2, { version: '2' })
  const lines = [app(1, { package_name: 'org.example.app2' }), unnamed, ...without(1, 2)]
  expect(await mirrorLines(database, lines)).toMatchObject(counts({ updated: 2, unchanged: 8 }))
  expect((await stateOf(database)).names).toMatchObject({ 1: 'app2', 2: undefined })
  await expectConsistent(database)
})

test('a package name that two lines of the file have stays with the first', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  const lines = all.map(({ id }) => app(id, id === 2 ? { package_name: 'org.example.app1' } : {}))
  expect(await mirrorLines(database, lines)).toMatchObject({
    rejects: [{ line: 2, fields: ['/package_name'] }],
  })
  expect((await stateOf(database)).names).toMatchObject({ 1: 'app1', 2: 'app2' })
})

test('a catalogue for which a key was ever issued is no mirror', async () => {
  const database = await openEmptyCatalogue()
  await importLines(database, all)
  await database.read(assertMirror)
  const actor = { operator: 'test' }
  const { id } = await database.write(async (runner) =>
    issueKey(runner, await findOrAddDeveloper(runner, 'Fay'), actor),
  )
  await expect(database.read(assertMirror)).rejects.toThrow(/^keys were issued for this catalogue/)
  await database.write(async (runner) => {
    await revokeKey(runner, id, actor)
    await removeDeveloper(runner, 'Fay', actor)
  })
  await expect(database.read(assertMirror)).rejects.toThrow(/^keys were issued for this catalogue/)
})

test('more apps than a transaction has are hidden, and after a failure the next run hides the rest', async () => {
  const database = await openEmptyCatalogue()
  const many = Array.from({ length: 500 }, (_, index) => app(index + 1, { package_name: null }))
  await importLines(database, many)
  let writes = 0
  const failing: DatabaseWithTools = {
    ...database,
    async write(work) {
      if (++writes === 2) throw new Error('stopped')
      return database.write(work)
    },
  }
  const kept = many.slice(0, 50)
  await expect(mirrorLines(failing, kept, 450)).rejects.toThrow('stopped')
  expect((await stateOf(database)).listed).toHaveLength(500)
  writes = -1
  await expect(mirrorLines(failing, kept, 450)).rejects.toThrow('stopped')
  expect((await stateOf(database)).listed).toHaveLength(300)
  expect(await mirrorLines(database, kept, 450)).toMatchObject({ hidden: 250 })
  expect((await stateOf(database)).listed).toEqual(kept.map(({ id }) => id))
  await expectConsistent(database)
})
