import { expect, test } from 'vitest'
import { findOrAddDeveloper, issueKey, renameDeveloper } from '../../src/accounts/account-store.ts'
import { findCategories, renameCategory } from '../../src/catalogue/category-store.ts'
import type { Decision } from '../../src/catalogue/policy.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import type { AppChanges } from '../../src/contract/contract.ts'
import { OperatorError } from '../../src/contract/errors.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { decideApp, restoreApp, transferApp } from '../../src/moderation/decisions.ts'
import { required } from '../../src/util/helpers.ts'
import { exportLines, importLines, mirrorLines, setCounters } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { randomFrom, seed } from '../support/random.ts'
import { addReviews } from '../support/reviews.ts'
import { type Service, startEmptyService, startService } from '../support/service.ts'
import { sortOrders } from '../support/sort-orders.ts'
import { emptyFields, mapOptional, otherFields } from '../support/whole-app.ts'

/** MIRROR_CHANGES=500 makes more changes. */
const changes = Number(process.env.MIRROR_CHANGES ?? 100)
const changesATime = 50

test(`a mirror that imports all changes equals its source, byte for byte (FUZZ_SEED=${seed})`, async () => {
  const source = await startService()
  const mirror = await startEmptyService()
  const publicMirror = await startEmptyService()
  const wholeMirror = await startEmptyService()
  // Many developers, so that a change of one affects few apps.
  const apps = Array.from({ length: 60 }, (_, index) => ({
    name: `Map ${index}`,
    description: `Here ${markerOf(100_000 + index)}.`,
    category: index % 2 ? 'games' : 'empty',
    developer_name: index % 4 ? `Developer ${index % 12}` : 'Ada',
    status: index % 5 ? 'approved' : 'pending',
    average_rating: 1 + (index % 400) / 100,
    rating_count: index * index,
  }))
  await importLines(source.database, apps.slice(1))
  const change = changer(source)
  let hidden = 0
  let since: string | undefined
  for (let made = 0; made <= changes; made += changesATime) {
    // Without the minute for clock skew, which would hide a change that was not recorded.
    const next = (await source.database.committedBefore()).toISOString()
    const paths = await publicPaths(source.database)
    const answers = await answersOf(source, paths)
    for (const isPublic of [false, true]) {
      const target = isPublic ? publicMirror : mirror
      const lines = await exportLines(source.database, { since, isPublic })
      if (isPublic) await expectNothingHidden(lines, answers, source)
      else hidden += hiddenMarkers(lines, answers).length
      await importAsAdvised(target.database, lines)
      if (!isPublic)
        expect(await exportLines(target.database)).toEqual(await exportLines(source.database))
      expect(await answersOf(target, paths)).toEqual(answers)
      await expectConsistent(target.database)
      expect(await importLines(target.database, lines)).toMatchObject({
        created: 0,
        updated: 0,
        rejected: 0,
      })
    }
    const whole = await exportLines(source.database, { isPublic: true })
    await importCategoriesAsAdvised(wholeMirror.database, whole)
    expect(await mirrorLines(wholeMirror.database, whole, 1000)).toMatchObject({
      rejects: [],
      left: [],
    })
    expect(await answersOf(wholeMirror, paths)).toEqual(answers)
    await expectConsistent(wholeMirror.database)
    expect(await mirrorLines(wholeMirror.database, whole)).toMatchObject({
      ...{ created: 0, updated: 0, hidden: 0, rejects: [] },
    })
    since = next
    for (let index = 0; index < changesATime; index++) await change()
  }
  expect(hidden, 'texts of full exports that are not public').toBeGreaterThan(changes / 10)
}, 300_000)

type Life = {
  name: string
  /** What becomes of Ada's app at the source, and its names in the mirror after each export. */
  steps: { change: 'approve' | 'reject' | 'delete' | 'restore' | 'rename'; listed: string[] }[]
}
const lives: Life[] = [
  {
    name: 'is taken down and approved again, twice',
    steps: [
      { change: 'reject', listed: [] },
      { change: 'approve', listed: ['Tide Clock'] },
      { change: 'reject', listed: [] },
      { change: 'approve', listed: ['Tide Clock'] },
    ],
  },
  {
    name: 'is updated, deleted and restored, twice',
    steps: [
      { change: 'rename', listed: ['Tide Clock 2'] },
      { change: 'delete', listed: [] },
      { change: 'restore', listed: ['Tide Clock 2'] },
      { change: 'delete', listed: [] },
      { change: 'restore', listed: ['Tide Clock 2'] },
    ],
  },
  {
    name: 'is taken down, updated, and approved',
    steps: [
      { change: 'reject', listed: [] },
      { change: 'rename', listed: [] },
      { change: 'approve', listed: ['Tide Clock 2'] },
    ],
  },
]

test.for(lives)('a public mirror follows an app that $name', async ({ steps }) => {
  const source = await startService()
  const mirror = await startEmptyService()
  const { keys, apps } = source.world
  const path = `/apps/${apps.approved}`
  const make = {
    approve: () => source.decide('approve', apps.approved),
    reject: () => source.decide('reject', apps.approved),
    delete: () => source.request('DELETE', path, { key: keys.ada }),
    restore: () =>
      source.database.write((runner) => restoreApp(runner, apps.approved, { operator: 'test' })),
    rename: () => source.request('PUT', path, { key: keys.ada, json: { name: 'Tide Clock 2' } }),
  }
  const copyChanges = async (since: string | undefined) => {
    const lines = await exportLines(source.database, { since, isPublic: true })
    expect(await importLines(mirror.database, lines)).toMatchObject({ rejects: [] })
    // Another import of the same file changes nothing.
    expect(await importLines(mirror.database, lines)).toMatchObject({ created: 0, updated: 0 })
  }
  const namesOf = async ({ get }: Service, query: string) =>
    (await get(`/apps?${query}`)).body.data.apps.map(({ name }: { name: string }) => name)
  await copyChanges(undefined)
  for (const { change, listed } of steps) {
    const since = (await source.database.committedBefore()).toISOString()
    await make[change]()
    await copyChanges(since)
    for (const query of ['category=tools', 'search=tide', 'package_name=org.example.tideclock'])
      expect(await namesOf(mirror, query), `${query} after ${change}`).toEqual(listed)
    expect(await namesOf(mirror, 'category=games')).toEqual(['Bird Song'])
    await expectConsistent(mirror.database)
  }
})

/**
 * Imports a file. If categories have exchanged names, or package names have gone to apps before
 * those that had them, does what the refusals advise.
 */
async function importAsAdvised(database: DatabaseWithTools, lines: string[]) {
  await importCategoriesAsAdvised(database, lines)
  const apps = await refusedLines(database, lines)
  const unnamed = apps.map((line) => ({ ...line, package_name: null }))
  for (const file of [unnamed, apps])
    expect(await importLines(database, file)).toMatchObject({ rejects: [] })
}

async function importCategoriesAsAdvised(database: DatabaseWithTools, lines: string[]) {
  const ofCategories = lines.filter((line) => line.startsWith('{"category"'))
  const categories = (await refusedLines(database, ofCategories)).map(({ category }) => ({
    category: { ...category, slug: `spare-${category.id}`, name: `Spare ${category.id}` },
  }))
  expect(await importLines(database, categories)).toMatchObject({ rejects: [] })
}

const refusedLines = async (database: DatabaseWithTools, lines: string[]) =>
  (await importLines(database, lines)).rejects.map(({ line }) =>
    JSON.parse(required(lines[line - 1], 'a line')),
  )

/** A word that is in no other text. */
const markerOf = (number: number) => `m${number}m`

/** The markers in lines that are in no answer. */
function hiddenMarkers(lines: string[], answers: string[]): string[] {
  const markersIn = (texts: string[]) =>
    texts.flatMap((text) => text.match(/(?<![a-z0-9])m\d+m(?![a-z0-9])/g) ?? [])
  const shown = new Set(markersIn(answers))
  return markersIn(lines).filter((marker) => !shown.has(marker))
}

/** Lists, searches, each app, and an app that does not exist. */
async function publicPaths({ read }: DatabaseWithTools): Promise<string[]> {
  const categories = await read(findCategories)
  const ids = await read(({ sql }) => sql('apps').orderBy('id').pluck('id'))
  const lists = sortOrders.flatMap((sort) =>
    [1, 2, 3, 4].map((page) => `sort=${sort}&limit=20&page=${page}`),
  )
  const ofCategories = categories.map(({ slug }) => `sort=rating&category=${slug}`)
  const searches = [
    'search=map',
    'search=ada',
    'search=m1',
    'search=mapp',
    'search=star&sort=rating',
    'search=地図',
  ]
  return [
    ...[...lists, ...ofCategories, ...searches].map((query) => `/apps?${query}`),
    ...[...ids, ids.length + 1].map((id) => `/apps/${id}`),
  ]
}

/** The answers to anonymous requests. */
async function answersOf({ get }: Service, paths: string[]): Promise<string[]> {
  const answers = []
  for (const path of paths) {
    const { status, headers, text } = await get(path)
    answers.push(`${path} ${status} ${headers.etag} ${headers.link} ${text}`)
  }
  return answers
}

/**
 * A public export has no text that is not in a public answer, and no app that was never approved.
 */
async function expectNothingHidden(lines: string[], answers: string[], { database }: Service) {
  expect(hiddenMarkers(lines, answers)).toEqual([])
  const objects = lines.map((line) => JSON.parse(line))
  const removals = objects.flatMap(({ removed }) => removed ?? [])
  const approved = await database.read(({ sql }) =>
    sql('audit').where('after', 'like', '%"approved_at":"%').pluck('app_id'),
  )
  expect(approved).toEqual(expect.arrayContaining(removals.map(({ id }) => id)))
  const hidden = ['rejection_reason', 'unreviewed_since', 'unreviewed_changes', 'changed_at']
  for (const line of objects) for (const field of hidden) expect(line).not.toHaveProperty(field)
}

/**
 * Returns a function that makes one random valid change. Each text that it writes has a marker,
 * wherever it is stored.
 */
function changer({ database, request, world }: Service): () => Promise<void> {
  const { next, pick } = randomFrom(seed)
  const below = (limit: number) => Math.floor(next() * limit)
  const isRare = () => next() < 0.2
  const maybe = <T>(value: T) => (next() < 0.3 ? value : undefined)

  let markers = 0
  const marker = () => markerOf(++markers)
  const marked = (text: string) => `${text} ${marker()}`
  const operator = () => ({ operator: marker() })

  // Few, so that names and package names go from one to another.
  const names = ['Star Map', 'Moon', 'Sun Dial', 'Map of Maps', '地図', 'Ada’s Atlas']
  const packages = Array.from({ length: 8 }, (_, index) => `org.example.p${index}`)
  const words = ['tools', 'games', 'maps', 'sky', 'sea', 'music']
  const key = () => pick([world.keys.ada, world.keys.bob])
  const ids = () => database.read(({ sql }) => sql('apps').orderBy('id').pluck('id'))
  const anId = async () => pick(await ids())
  const isAccepted = (done: Promise<unknown>) =>
    done.then(
      () => true,
      (error: unknown) => {
        if (error instanceof OperatorError) return false
        throw error
      },
    )
  const write = <T>(work: (runner: QueryRunner) => Promise<T>) => isAccepted(database.write(work))
  const isDone = ({ status }: { status: number }) => status < 300
  const fields = async (): Promise<Record<keyof AppChanges, unknown>> => ({
    name: maybe(pick([...names, marked('Map')])),
    description: maybe(marked(`Of ${pick(words)}.`)),
    ...mapOptional((field) => maybe(pick([emptyFields[field], otherFields[field]]))),
    short_description: maybe(pick(['', marked('In short.')])),
    version: maybe(pick(['1.0', marked('2.0')])),
    package_name: maybe(pick([...packages, `org.example.${marker()}`])),
    category_id: maybe(pick((await database.read(findCategories)).map(({ id }) => id))),
  })

  /** Changes or deletes an app by the key of its owner. */
  async function requestOwn(method: 'PUT' | 'DELETE') {
    const owner = key()
    const keyId = String(owner.split('_')[1])
    const ids: number[] = await database.read(({ sql }) =>
      sql('apps')
        .whereIn('developer_id', sql('api_keys').where({ id: keyId }).select('developer_id'))
        .orderBy('id')
        .pluck('id'),
    )
    const json = method === 'PUT' ? { json: await fields() } : {}
    return isDone(await request(method, `/apps/${pick(ids)}`, { key: owner, ...json }))
  }

  async function decide(decision: Decision) {
    const id = await anId()
    const reason = decision === 'reject' ? marked('Because') : undefined
    return write((runner) => decideApp(runner, decision, id, operator(), { reason }))
  }

  const kinds: (() => Promise<boolean>)[] = [
    async () => {
      const json = {
        category_id: 1,
        description: marked('New.'),
        ...JSON.parse(JSON.stringify(await fields())),
        name: pick(names),
      }
      return isDone(await request('POST', '/apps', { key: key(), json }))
    },
    () => requestOwn('PUT'),
    () => requestOwn('PUT'),
    () => decide('approve'),
    () => decide('approve'),
    () => decide('reject'),
    () => requestOwn('DELETE'),
    async () => {
      const id = await anId()
      return write((runner) => restoreApp(runner, id, operator()))
    },
    async () => {
      const id = await anId()
      const to = pick(
        await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name')),
      )
      return write((runner) => transferApp(runner, id, to, operator()))
    },
    async () => {
      // A package name goes from one app to another, often to one that an export has before it.
      const apps = await database.read(({ sql }) =>
        sql('apps').whereNull('deleted_at').whereNotNull('package_name'),
      )
      if (apps.length < 2) return false
      const [giver, taker] = [pick(apps), pick(apps)]
      const rename = (id: number, package_name: string | null) =>
        Promise.all(
          Object.values(world.keys).map((key) =>
            request('PUT', `/apps/${id}`, { key, json: { package_name } }),
          ),
        )
      await rename(giver.id, `org.example.spare${below(1e9)}`)
      await rename(taker.id, giver.package_name)
      if (maybe(true)) await rename(giver.id, taker.package_name)
      return true
    },
    async () => {
      const review = {
        app_id: await anId(),
        reviewer_name: marked('Cy'),
        rating: 1 + below(5),
        comment: marked('Seen'),
      }
      const created_at = new Date(Date.UTC(2026, 0, 1, 0, 0, below(1e6))).toISOString()
      return write((runner) => addReviews(runner, [{ ...review, created_at }]))
    },
    async () => {
      const ids: number[] = await database.read(({ sql }) =>
        sql('reviews').orderBy('id').pluck('id'),
      )
      if (ids.length === 0) return false
      return write((runner) => removeReview(runner, pick(ids), marker(), operator()))
    },
    async () => {
      const slug = pick(await database.read(({ sql }) => sql('apps').orderBy('id').pluck('slug')))
      const line = {
        slug,
        total_downloads: below(1e6),
        average_rating: 1 + below(5),
        rating_count: below(100),
      }
      const { updated } = await setCounters(database, [line], {}, operator())
      return updated === 1
    },
    () =>
      write(async (runner) => {
        const developer = await findOrAddDeveloper(runner, pick(['Ada', marked('Newcomer')]))
        await issueKey(runner, developer, operator(), { name: marker() })
      }),
    async () => {
      const from = pick(
        await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name')),
      )
      const to = pick(['Ada', 'Bob', 'Cy', 'Di', marked('Ada')])
      return (
        isRare() && isAccepted(write((runner) => renameDeveloper(runner, from, to, operator())))
      )
    },
    async () => {
      const from = pick(
        await database.read(({ sql }) => sql('categories').orderBy('id').pluck('slug')),
      )
      const to = { slug: maybe(pick(words)), name: pick(['Tools', 'Games', 'Maps', 'Sky']) }
      return isRare() && write((runner) => renameCategory(runner, from, to, operator()))
    },
  ]
  return async () => {
    while (!(await pick(kinds)())) {
      // Another is tried.
    }
  }
}
