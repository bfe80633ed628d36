import { expect, inject, test } from 'vitest'
import { addModerator, revokeModerator } from '../../src/accounts/moderator-store.ts'
import { recordEntry } from '../../src/audit/audit-store.ts'
import type { AuditEntry } from '../../src/audit/read-entries.ts'
import type { Database } from '../../src/db/database.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { type EntryFilter, findEntries, moderatorNames } from '../../src/moderation/entries.ts'
import { required } from '../../src/util/helpers.ts'
import { copyWorld } from '../support/database.ts'
import { share, whenFinished } from '../support/lifetime.ts'

const { apps } = inject('world')
const actor = { operator: 'test' }
const minute = (number: number) => new Date(Date.UTC(2030, 0, 1, 0, number)).toISOString()

let database: Database
/** All entries. */
let log: AuditEntry[]
/** The keys of each moderator. */
const keys = new Map<string, string[]>()

share(async () => {
  database = openDatabase(await copyWorld())
  whenFinished(() => database.close())
  await database.write(async (runner) => {
    // Ann has two keys, of which the revoked one has most entries, and Eve does nothing.
    for (const name of ['Ann', 'Ben', 'Ann', 'Eve']) {
      const { id } = await addModerator(runner, name, actor)
      keys.set(name, [...(keys.get(name) ?? []), id])
    }
    const [ann1, ann2] = keys.get('Ann') ?? []
    const [ben] = keys.get('Ben') ?? []
    await revokeModerator(runner, required(ann1, 'a key of Ann'), actor)
    const actors = [ann1, ben, ann1, ann2, undefined, ann1, ben].map((operatorId) =>
      operatorId === undefined ? actor : { ...actor, operatorName: 'Somebody', operatorId },
    )
    for (let number = 0; number < 120; number++) {
      await recordEntry(runner, actors[number % actors.length] ?? actor, {
        action: 'app update',
        // Several at the same time.
        at: minute(Math.floor(number / 3)),
        after: {},
        ...(number % 4 === 0
          ? { app_id: apps.bobs, developer_id: 2 }
          : { app_id: apps.approved, developer_id: number % 5 === 0 ? 2 : 1 }),
      })
    }
  })
  const all = await findEntries(database.read, {}, 1000, (entry) => entry)
  log = all.entries
})

/** In their order. */
const ids = (entries: AuditEntry[]) => entries.map(({ id }) => id).toSorted((a, b) => a - b)

/** The ids of all matching entries, read in pages, in the order of the ids. */
async function readPages(filter: EntryFilter, size: number): Promise<number[]> {
  const found: number[] = []
  let { before } = filter
  for (;;) {
    const page = await findEntries(database.read, { ...filter, before }, size, ({ id }) => id)
    found.unshift(...page.entries)
    if (!page.hasOlder) return found.toSorted((a, b) => a - b)
    expect(page.entries).toHaveLength(size)
    before = page.entries[0]
  }
}

/** `before` is instead of `until`. */
const matches =
  ({ before, until, ...filter }: EntryFilter) =>
  (entry: AuditEntry) =>
    (filter.app === undefined || entry.app_id === filter.app) &&
    (filter.developer === undefined || entry.developer_name === filter.developer) &&
    (filter.moderator === undefined ||
      (entry.operator_id !== null && keys.get(filter.moderator)?.includes(entry.operator_id))) &&
    (filter.since === undefined || entry.at >= filter.since) &&
    (before === undefined ? until === undefined || entry.at < until : entry.id < before)

const lists: EntryFilter[] = [
  {},
  { app: apps.approved },
  ...['Ada', 'Bob'].map((developer) => ({ developer })),
  ...['Ann', 'Ben', 'Eve'].map((moderator) => ({ moderator })),
]

test.for(lists)(
  'the list of %j begins before a time and stops at one, on pages of any size',
  async (list) => {
    for (const until of [undefined, minute(30), minute(0)])
      for (const since of [undefined, minute(7), minute(99)]) {
        const filter = { ...list, until, since }
        const expected = ids(log.filter(matches(filter)))
        for (const size of [3, 1000])
          expect(await readPages(filter, size), JSON.stringify(filter)).toEqual(expected)
      }
  },
)

test.for<EntryFilter>([
  { app: apps.approved, developer: 'Ada' },
  { app: apps.approved, moderator: 'Ann' },
  { developer: 'Ada', moderator: 'Ann' },
  { app: apps.approved, developer: 'Ada', moderator: 'Ann', since: minute(3) },
])('several lists at once, %j, are refused with the choice', async (filter) => {
  await expect(findEntries(database.read, filter, 10, (entry) => entry)).rejects.toThrow(
    'choose one of app, developer and moderator; an app has the fewest entries',
  )
})

test.for<[what: string, filter: EntryFilter]>([
  ['of all', {}],
  ['of a developer', { developer: 'Ada' }],
  ['of a moderator', { moderator: 'Ann' }],
  ['of an app', { app: apps.approved }],
  ['since a time', { since: minute(3) }],
  ['from there instead of from a time', { until: minute(30) }],
])('entries %s before a given one, which need not be among them', async ([, filter]) => {
  // The times of entries before these are not in the order of their ids.
  const recent = log.filter(({ at }) => at >= minute(0))
  for (const { id } of recent.filter((_, index) => index % 9 === 0)) {
    const given = { ...filter, before: id }
    expect(await readPages(given, 1000)).toEqual(ids(log.filter(matches(given))))
  }
  const afterAll = { ...filter, before: 1_000_000 }
  expect(await readPages(afterAll, 1000)).toEqual(ids(log.filter(matches(afterAll))))
  expect(await readPages({ ...filter, before: 0 }, 1000)).toEqual([])
})

test('entries whose times are not in the order of their ids are each on one page, by time', async () => {
  const copy = openDatabase(await copyWorld())
  whenFinished(() => copy.close())
  await copy.write(async (runner) => {
    for (let number = 0; number < 30; number++) {
      const at = minute((number * 7) % 10)
      await recordEntry(runner, actor, {
        action: 'app update',
        at,
        app_id: apps.approved,
        developer_id: 1,
        after: {},
      })
    }
  })
  const seen: number[] = []
  const times: string[] = []
  let before: number | undefined
  for (;;) {
    const filter = { developer: 'Ada', since: minute(0), before }
    const page = await findEntries(copy.read, filter, 4, ({ id, at }) => ({ id, at }))
    const newestFirst = page.entries.toReversed()
    seen.push(...newestFirst.map(({ id }) => id))
    times.push(...newestFirst.map(({ at }) => at))
    before = seen.at(-1)
    if (!page.hasOlder) break
  }
  expect(new Set(seen).size).toBe(30)
  expect(seen).toHaveLength(30)
  expect(times).toEqual(times.toSorted().reverse())
})

test('names of moderators are listed once, in their order', async () => {
  expect(await database.read(moderatorNames)).toEqual(['Ann', 'Ben', 'Eve'])
})

test('a name that no moderator has is refused with the names that there are', async () => {
  const find = (moderator: string) =>
    findEntries(database.read, { moderator }, 10, (entry) => entry)
  await expect(find('ann')).rejects.toThrow('there is no moderator "ann"; there are: Ann, Ben, Eve')
  expect((await find(' Ann ')).entries).toHaveLength(10)
  await database.write(async (runner) => {
    for (let number = 0; number < 8; number++) await addModerator(runner, `M${number}`, actor)
  })
  await expect(find('ann')).rejects.toThrow(/^there is no moderator "ann"$/)
  const empty = openDatabase(await copyWorld())
  whenFinished(() => empty.close())
  const findIn = findEntries(empty.read, { moderator: 'Ann' }, 10, (entry) => entry)
  await expect(findIn).rejects.toThrow(/^there is no moderator "Ann"$/)
})
